/**
 * The entry point of `npm start`: the whole service on real parts, without any setting. It runs
 * until Ctrl-C, SIGTERM or the end of a part.
 *
 * Settings: API_PORT, ADMIN_PORT, POSTGRES_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, DEMO_LEDGER_PORT,
 * WORKER_PORT, DATA_FOLDER, and LOCAL_LEDGER_PORT with `--ledger tryton`. A later start takes the
 * port of the connection.
 * DATABASE_URL and TEMPORAL_ADDRESS replace parts.
 */

import { flushCompileCache } from "node:module";
import { createWorkflowPages } from "../../../src/main/api/workflow-pages.ts";
import { assertNodeVersion } from "../../../src/main/node-version.ts";
import { secretNames, withSecrets } from "../../../src/main/settings/secret-files.ts";
import { registerDemoApp } from "./demo/demo-app.ts";
import { registerDemoWebhook } from "./demo/demo-webhook.ts";
import type { OpenTenant } from "./demo/first-data.ts";
import { isFirstStartDone } from "./postgres/earlier-data.ts";
import { ensureConsole } from "./processes/console-build.ts";
import { countingOn } from "./progress-line.ts";
import { type Stack, startStack } from "./stack.ts";
import { collectParts } from "./stack-settings.ts";
import type { TrytonServer } from "./tryton/server.ts";

const lines = countingOn(process.stdout);
const { log } = lines;
// The terminal may be gone before everything has stopped.
process.stdout.on("error", () => undefined);

assertNodeVersion(process.version);
const parts = collectParts(log);

let stopping = false;

/** Runs once: an error caused by the stop itself is not a failure. */
async function stopAndExit(code: number, why: unknown): Promise<void> {
  if (stopping) return;
  stopping = true;
  if (code === 0) log(String(why));
  else console.error(why);
  await parts.stopAll();
  process.exit(code);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => void stopAndExit(0, "stopping"));
}

/**
 * Shows only the message of an error that is meant for the user. Any other error is shown whole.
 */
async function failAndExit(problem: unknown): Promise<void> {
  const isPublished = problem instanceof Error && problem.constructor === Error;
  await stopAndExit(1, isPublished ? `\n${problem.message}` : problem);
}

/**
 * Prints the addresses, the console's first. The first data belong to the demo ledger, so none are
 * created in an external database or Temporal.
 */
async function reportStack(stack: Stack): Promise<void> {
  const {
    baseUrl,
    adminUrl,
    databaseUrl,
    demoLedgerUrl,
    demoApp,
    demoWebhook,
    secretKey,
    temporalUiUrl,
  } = stack;
  if (demoLedgerUrl !== undefined) {
    if (demoApp !== undefined) await registerDemoApp(demoLedgerUrl, demoApp);
    if (demoWebhook !== undefined) await registerDemoWebhook(demoLedgerUrl, demoWebhook);
  }
  const isFirst = demoLedgerUrl !== undefined && !(await isFirstStartDone(databaseUrl));
  const { consoleLines } = await import("./demo/console-link.ts");
  if (isFirst) {
    const { createFirstStart } = await import("./demo/first-start.ts");
    const addresses = { baseUrl, adminUrl, temporalUiUrl: temporalUiUrl ?? "" };
    const openTenant = stack.tryton && (await trytonTenants(stack.tryton));
    const target = { databaseUrl, demoLedgerUrl, secretKey, ...(openTenant && { openTenant }) };
    const text = await createFirstStart({ ...target, ...addresses }, log);
    if (text !== null) {
      log(await consoleLines(databaseUrl, adminUrl));
      log(text);
      log(await whereIssued(stack.tryton, demoLedgerUrl));
      reportWorkflows(temporalUiUrl);
      return;
    }
  }
  log(await consoleLines(databaseUrl, adminUrl));
  log(`\nBase URL      ${baseUrl}`);
  log(`Admin URL     ${adminUrl}`);
  if (temporalUiUrl !== undefined) log(`Temporal UI   ${temporalUiUrl}`);
  log(`OpenAPI       ${baseUrl}/v1/openapi.json`);
  log(`Documentation ${baseUrl}/docs, for operators ${adminUrl}/docs`);
  if (demoLedgerUrl !== undefined) log(`Demo ledger   ${demoLedgerUrl} (its page, in a browser)`);
  if (stack.tryton !== undefined) log(`Tryton        ${await booksOf(stack.tryton)}`);
  log(`Logs          ${stack.logFolder}`);
  reportWorkflows(temporalUiUrl);
  if (demoLedgerUrl !== undefined) {
    log(
      "The first data and its API keys were created and shown by an earlier start; " +
        "`npm run credentials` replaces the keys and shows them.",
    );
  }
}

/** Prints the addresses of ready queries in the Temporal UI, if it is the embedded one. */
function reportWorkflows(uiUrl: string | undefined): void {
  const pages = createWorkflowPages(uiUrl ?? null, process.env.TEMPORAL_NAMESPACE || "default");
  if (pages === null) return;
  log("\nWhat its workflows do, in the Temporal UI:");
  log(`  all but each minute's   ${pages.work()}`);
  log(`  what failed             ${pages.failed(null)}`);
  log(`  what runs or waits      ${pages.waiting(null)}`);
}

async function whereIssued(tryton: TrytonServer | undefined, demoUrl: string): Promise<string> {
  if (tryton === undefined) return `What it issued, in the demo ledger's page: ${demoUrl}`;
  return `What it issued, in Tryton's client: ${await booksOf(tryton)}`;
}

/** How a person opens the sandbox's books, if it has any. */
async function booksOf(tryton: TrytonServer): Promise<string> {
  const { sandboxName } = await import("./tryton/tenants.ts");
  const access = await tryton.openDatabase(sandboxName);
  if (access === null) return tryton.url;
  return `${tryton.url}, database ${sandboxName}, user admin, password ${access.password}`;
}

async function trytonTenants(tryton: TrytonServer): Promise<OpenTenant> {
  const { openTrytonTenants } = await import("./tryton/tenants.ts");
  return openTrytonTenants(tryton);
}

/** Reads `--ledger tryton`: which ledger the first data belong to. */
function firstLedger(): string | undefined {
  const [option, ledger, ...rest] = process.argv.slice(2);
  if (option === undefined) return undefined;
  if (option === "--ledger" && ledger === "tryton" && rest.length === 0) return ledger;
  throw new Error("Usage: npm start [-- --ledger tryton]");
}

/** Returns the environment with the secrets of files. The ledgers are loaded if it names a file. */
async function settings(): Promise<NodeJS.ProcessEnv> {
  if (!Object.keys(process.env).some((name) => name.endsWith("_FILE"))) return process.env;
  const { ledgers } = await import("../../../src/ledger/index.ts");
  return withSecrets(process.env, secretNames(ledgers));
}

void parts.broken.then(failAndExit);
try {
  if (process.env.CONSOLE !== "off") await ensureConsole(log);
  const env = { ...(await settings()), FIRST_LEDGER: firstLedger() };
  const stack = await startStack({ env, log, lines, parts });
  await reportStack(stack);
  // The next start is faster, also if this process is killed.
  flushCompileCache();
  log("\nCtrl-C stops everything.");
} catch (error) {
  await failAndExit(error);
}
