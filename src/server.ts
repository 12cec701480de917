/** The API process: `npm run api`. It keeps no state, so any number of processes may run. */
import { startApi } from "./main/api.ts";
import { run } from "./main/run.ts";

await run("api", startApi);
