/** The worker process: `npm run worker`. Any number of them may run; they keep no state. */
import { startWorker } from "./app.ts";
import { run } from "./run.ts";

await run("worker", startWorker);
