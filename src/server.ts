/** The API process: `npm run api`. Any number of them may run; they keep no state. */
import { startApi } from "./main/api.ts";
import { run } from "./main/run.ts";

await run("api", startApi);
