/** The worker process: `npm run worker`. It keeps no state, so any number of processes may run. */
import { ledgers } from "./ledger/index.ts";
import { run } from "./main/run.ts";
import { startWorker } from "./main/worker.ts";

await run("worker", (config, log, tracing) => startWorker(config, log, ledgers, tracing));
