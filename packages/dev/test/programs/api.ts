/** Stands for a program of the stack that listens on API_PORT. */
import { serve } from "./serve.ts";

serve(process.env.API_PORT);
