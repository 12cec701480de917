/**
 * The entry point of `npm run ledger:tryton [DATABASE]`: a Tryton on this machine with a company,
 * and how billing connects to it. A database that exists is kept, `--reset` replaces it.
 *
 * Settings: LOCAL_LEDGER_PORT, DATA_FOLDER.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { assertNodeVersion } from "../../../../src/main/node-version.ts";
import { dataFolderOf } from "../postgres/database-url.ts";
import { defaultPorts, readPort } from "../processes/ports.ts";
import { startTryton } from "./server.ts";

assertNodeVersion(process.version);
const words = process.argv.slice(2);
const isReset = words.includes("--reset");
const [name = "books", ...rest] = words.filter((word) => word !== "--reset");
if (rest.length > 0 || !/^\w+$/.test(name)) {
  console.error("Usage: npm run ledger:tryton -- [DATABASE] [--reset]");
  process.exit(2);
}
const folder = join(dataFolderOf(process.env), "tryton");
const port = readPort(process.env, "LOCAL_LEDGER_PORT", defaultPorts.tryton);
const log = (line: string) => console.log(line);
const server = await startTryton({ env: process.env, folder, port, log });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => void server.child.stop().then(() => process.exit(0)));
const isKept = existsSync(join(folder, `${name}.sqlite`)) && !isReset;
const access = isKept ? await server.openDatabase(name) : await server.addDatabase(name);
console.log(`
Tryton        ${access.baseUrl} (in Tryton's client: database ${name}, user admin)
Password      ${access.password}
Connect       billing ledger connect --kind tryton --tenant-id ${access.tenantId} \\
                --client-id billing --base-url ${access.baseUrl} --client-secret-file KEY
Key           ${access.clientSecret}

Ctrl-C stops it.`);
