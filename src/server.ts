/** The API process: `npm run api`. It keeps no state, so any number of processes may run. */
import { ledgers } from "./ledger/index.ts";
import { tuneHeap } from "./main/heap.ts";
import { run } from "./main/run.ts";

tuneHeap();

// Loaded after the settings are read, so that a wrong one is shown at once.
await run("api", async (config, log, tracing) => {
  const { startApi } = await import("./main/api.ts");
  return startApi(config, log, ledgers, tracing);
});
