/** The worker process: `npm run worker`. Any number of them may run; they keep no state. */
import { run } from "./run.ts";
import { startWorker } from "./worker-app.ts";

await run("worker", startWorker);
