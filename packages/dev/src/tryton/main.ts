/**
 * The entry point of `npm run ledger:tryton`: a Tryton on this machine with a company, and how
 * billing connects to it. Its books are kept, `--reset` replaces them.
 *
 * Settings: LOCAL_LEDGER_PORT, DATA_FOLDER, POSTGRES_PORT. DATABASE_URL names another PostgreSQL.
 */
import { once } from "node:events";
import { join } from "node:path";
import { assertNodeVersion } from "../../../../src/main/node-version.ts";
import { dataFolderOf, withDatabaseUrl } from "../postgres/database-url.ts";
import { privateFolder } from "../private-folder.ts";
import { assertPortsFree, defaultPorts, readPort } from "../processes/ports.ts";
import { startTryton } from "./server.ts";

assertNodeVersion(process.version);
const [option, ...rest] = process.argv.slice(2);
if ((option !== undefined && option !== "--reset") || rest.length > 0) {
  console.error("Usage: npm run ledger:tryton [-- --reset]");
  process.exit(2);
}
const { env } = process;
const log = (line: string) => console.log(line);
const stopped = Promise.race(
  ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => once(process, signal)),
);

/** Runs Tryton until a signal stops it. */
async function runTryton(postgresUrl: string): Promise<void> {
  const port = readPort(env, "LOCAL_LEDGER_PORT", defaultPorts.tryton);
  await assertPortsFree([{ part: "Tryton", port, setting: "LOCAL_LEDGER_PORT" }]);
  const logFolder = join(dataFolderOf(env), "logs");
  await privateFolder(dataFolderOf(env));
  await privateFolder(logFolder, { whole: true });
  const logFile = join(logFolder, "tryton.log");
  const server = await startTryton({ env, postgresUrl, logFile, port, log });
  try {
    const name = "tryton_books";
    const kept = option === undefined ? await server.openDatabase(name) : null;
    const access = kept ?? (await server.addDatabase(name));
    log(`
Tryton        ${access.baseUrl} (in Tryton's client: database ${name}, user admin)
Password      ${access.password}
Connect       billing ledger connect --kind tryton --tenant-id ${access.tenantId} \\
                --client-id billing --base-url ${access.baseUrl} --client-secret-file KEY
Key           ${access.clientSecret}

Ctrl-C stops it.`);
    await stopped;
  } finally {
    await server.child.stop();
  }
}

try {
  await withDatabaseUrl(env, log, runTryton);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
process.exit();
