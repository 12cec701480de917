/**
 * What `npm start` runs: everything on real parts with no setting at all, until Ctrl-C or SIGTERM, or until a part ends by itself.
 * Settings: API_PORT, POSTGRES_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, DEMO_LEDGER_PORT, DATA_FOLDER; DATABASE_URL and TEMPORAL_ADDRESS replace parts.
 */
import { assertNodeVersion } from "./embedded/node-version.ts";
import { collectParts } from "./embedded/parts.ts";
import { type Stack, startStack } from "./embedded/stack.ts";

const log = (line: string): void => console.log(line);
// The terminal may be gone before everything has stopped.
process.stdout.on("error", () => undefined);

assertNodeVersion(process.version);
const parts = collectParts(log);

async function stopAndExit(code: number): Promise<void> {
  await parts.stopAll();
  process.exit(code);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    log("stopping");
    void stopAndExit(0);
  });
}

async function failAndExit(problem: unknown): Promise<void> {
  console.error(problem instanceof Error ? problem.message : String(problem));
  await stopAndExit(1);
}

/** First data belongs to the demo ledger: where a database and a Temporal of one's own are set, none is made in them. */
async function tellWhatThereIs(stack: Stack): Promise<void> {
  const { baseUrl, databaseUrl, demoLedgerUrl, temporalUiUrl } = stack;
  if (demoLedgerUrl !== undefined) {
    const { makeFirstData, describeFirstData } = await import("./embedded/first-data.ts");
    const firstData = await makeFirstData({ databaseUrl, demoLedgerUrl, log });
    if (firstData !== null) {
      log(describeFirstData(firstData, { baseUrl, temporalUiUrl: temporalUiUrl ?? "" }));
      return;
    }
  }
  log(`\nBase URL      ${baseUrl}`);
  if (temporalUiUrl !== undefined) log(`Temporal UI   ${temporalUiUrl}`);
  log(`OpenAPI       ${baseUrl}/v1/openapi.json`);
  log(`Logs          ${stack.logFolder}`);
  if (demoLedgerUrl !== undefined) {
    log(
      "The first data and its API keys were made and shown by an earlier start; an empty data folder makes new ones.",
    );
  }
}

try {
  const stack = await startStack({ env: process.env, log, parts });
  await tellWhatThereIs(stack);
  log("\nCtrl-C stops everything.");
  void parts.broken.then(failAndExit);
} catch (error) {
  await failAndExit(error);
}
