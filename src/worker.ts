/** The worker process: `npm run worker`. It keeps no state, so any number of processes may run. */
import { ledgers } from "./ledger/index.ts";
import { tuneHeap } from "./main/heap.ts";
import { run } from "./main/run.ts";

tuneHeap();

// Loaded after the settings are read, so that a wrong one is shown at once.
await run("worker", async (config, log, tracing) => {
  const { startWorker } = await import("./main/worker.ts");
  return startWorker(config, log, ledgers, tracing);
});
