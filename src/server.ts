/** The API process: `npm run api`. Any number of them may run; they keep no state. */
import { startApi } from "./app.ts";
import { run } from "./run.ts";

await run("api", startApi);
