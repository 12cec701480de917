/** The API process: `npm run api`. It keeps no state, so any number of processes may run. */
import { ledgers } from "./ledger/index.ts";
import { startApi } from "./main/api.ts";
import { run } from "./main/run.ts";

await run("api", (config, log, tracing) => startApi(config, log, ledgers, tracing));
