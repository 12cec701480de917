/** Stands for the worker: listens nowhere that anyone asks. */
import { serve } from "./serve.ts";

serve("0");
