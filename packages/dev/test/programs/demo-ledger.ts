/** Stands for a program of the stack that listens on DEMO_LEDGER_PORT. */
import { serve } from "./serve.ts";

serve(process.env.DEMO_LEDGER_PORT);
