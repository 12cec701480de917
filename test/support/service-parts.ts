/** What a test needs to run the API and the worker in its own process. */
export { readConfig } from "../../src/config.ts";
export { ledgers } from "../../src/ledger/index.ts";
export { startApi } from "../../src/main/api.ts";
export { createLog } from "../../src/main/telemetry/log.ts";
export { startWorker } from "../../src/main/worker.ts";
