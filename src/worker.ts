/** The worker process: `npm run worker`. Any number of them may run; they keep no state. */
import { run } from "./main/run.ts";
import { startWorker } from "./main/worker.ts";

await run("worker", startWorker);
