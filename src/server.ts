/** The API process: `npm run api`. It keeps no state, so any number of processes may run. */
import { exitOnStopSignals } from "./main/stop-signals.ts";

exitOnStopSignals();

// Everything else is loaded after this, so that a signal meanwhile ends the process well. The part
// is loaded after the settings are read, so that a wrong one is shown at once.
const { run } = await import("./main/run.ts");
await run("api", async (config, log, tracing) => {
  const { ledgers } = await import("./ledger/index.ts");
  const { startApi } = await import("./main/api.ts");
  return startApi(config, log, ledgers, tracing);
});
