/**
 * A Tryton on this machine, for trials and tests. Its databases are in a PostgreSQL that the caller
 * names. Each is a copy of a kept template with a company: to copy it is the reset.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withClient, withDatabase } from "../../../../src/store/database/migrations/migrate.ts";
import { type Child, startChild } from "../processes/children.ts";
import { localHost } from "../processes/ports.ts";
import { waitUntil } from "../processes/process.ts";
import { runQuietly } from "../processes/run-quietly.ts";
import { type Company, type CompanySettings, rpcAt, setUpCompany } from "./company.ts";
import { installTryton } from "./install.ts";

/** The databases of a running Tryton. */
export interface TrytonDatabases {
  readonly url: string;
  /**
   * Creates a database with the template's company in place of one of this name, and returns how
   * billing connects to it.
   */
  addDatabase(name: string): Promise<TrytonAccess>;
  /** Returns how billing connects to a database that was created before. Null if there is none. */
  openDatabase(name: string): Promise<TrytonAccess | null>;
}

/** A running Tryton. */
export interface TrytonServer extends TrytonDatabases {
  readonly child: Child;
}

/** How billing connects to a company, and how its administrator does. */
export interface TrytonAccess {
  readonly tenantId: string;
  readonly baseUrl: string;
  readonly clientSecret: string;
  readonly databaseUrl: string;
  readonly password: string;
  readonly company: Company;
}

/** Where a Tryton of this machine and its databases are. */
interface TrytonPlace {
  /** Any database of the PostgreSQL, in which databases can be created. */
  readonly postgresUrl: string;
  readonly port: number;
}

interface ServerSettings extends TrytonPlace {
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly log: (line: string) => void;
}

/** Setting up a company takes half a minute of processor time. */
const setUpLimitMs = 10 * 60_000;

/** The start takes two seconds. The rest is for a machine under load. */
const readyLimitMs = 60_000;

/** An answer takes seconds at most. */
const drainMs = 5_000;

const templateSettings: CompanySettings = {
  name: "Northwind Software",
  currency: "GBP",
  timezone: "Pacific/Auckland",
  years: Array.from({ length: 8 }, (_, index) => new Date().getUTCFullYear() - 2 + index),
  cancelInvoiceOut: true,
};

/** The database that is copied. Another year has another one. */
const templateName = `tryton_template_${templateSettings.years[0]}`;

/** Starts Tryton. The first start over a PostgreSQL prepares the template there. */
export async function startTryton(settings: ServerSettings): Promise<TrytonServer> {
  const venv = await installTryton(settings.env, settings.log);
  if ((await readKeys(settings, templateName)) === null) await prepareTemplate(venv, settings);
  const child = await startServer(venv, settings);
  return { ...trytonAt(settings), child };
}

/** The databases of a Tryton that runs, and whose template is there. */
export function trytonAt(place: TrytonPlace): TrytonDatabases {
  const url = addressOf(place.port);
  const openDatabase = async (name: string): Promise<TrytonAccess | null> => {
    const keys = await readKeys(place, name);
    if (keys === null) return null;
    const databaseUrl = `${url}/${name}`;
    await load(databaseUrl);
    const { password, company } = keys;
    const tenantId = `${name}/${company.companyId}`;
    return { tenantId, baseUrl: url, clientSecret: company.key, databaseUrl, password, company };
  };
  return {
    url,
    openDatabase,
    addDatabase: async (name) => {
      const keys = await readKeys(place, templateName);
      if (keys === null) throw new Error(`there is no ${templateName}`);
      await replaceDatabase(place, name, templateName);
      await writeKeys(place, name, keys);
      return (await openDatabase(name)) as TrytonAccess;
    },
  };
}

const addressOf = (port: number): string => `http://${localHost}:${port}`;

/** Loads a database, which two requests at once or the administrator's calls cannot. */
async function load(databaseUrl: string): Promise<void> {
  const answer = await fetch(`${databaseUrl}/rest/model/res.user`);
  if (answer.status !== 401) throw new Error(`Tryton answered ${answer.status} at ${databaseUrl}`);
}

/** The administrator's password, and the company with billing's key. */
interface Keys {
  readonly password: string;
  readonly company: Company;
}

/** Reads the keys of a database. Null if it is not there, or unfinished. */
async function readKeys(place: TrytonPlace, name: string): Promise<Keys | null> {
  const [known] = await query(
    place,
    "SELECT shobj_description(oid, 'pg_database') AS text FROM pg_database WHERE datname = $1",
    [name],
  );
  return typeof known?.text === "string" ? (JSON.parse(known.text) as Keys) : null;
}

/** Writes the keys of a database as its comment, which a copy does not take over. */
async function writeKeys(place: TrytonPlace, name: string, keys: Keys): Promise<void> {
  // A comment takes no parameter. Its words are JSON of names and keys without quotes.
  await query(place, `COMMENT ON DATABASE ${name} IS '${JSON.stringify(keys)}'`);
}

/** Prepares the template. Its keys are written last. */
async function prepareTemplate(venv: string, settings: ServerSettings): Promise<void> {
  settings.log("preparing a company in Tryton, once: about a minute");
  await replaceDatabase(settings, templateName, "template0");
  const password = randomBytes(16).toString("base64url");
  await createTables(venv, settings, password);
  const child = await startServer(venv, settings);
  try {
    const databaseUrl = `${addressOf(settings.port)}/${templateName}`;
    await load(databaseUrl);
    const company = await setUpCompany(rpcAt(databaseUrl, password), templateSettings);
    await writeKeys(settings, templateName, { password, company });
  } finally {
    await child.stop();
  }
}

async function createTables(
  venv: string,
  { env, postgresUrl }: ServerSettings,
  password: string,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tryton-"));
  try {
    const passwordFile = join(folder, "password");
    await writeFile(passwordFile, password, { mode: 0o600 });
    const args = ["-d", templateName, "--all", "--email", "admin@example.com", "-l", "en"];
    await runQuietly(
      join(venv, "bin", "trytond-admin"),
      [...args, "-u", "account_invoice", "account_product", "--activate-dependencies"],
      {
        env: { ...env, ...databaseEnv(postgresUrl), TRYTONPASSFILE: passwordFile },
        cwd: folder,
        limitMs: setUpLimitMs,
        what: "trytond-admin",
      },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Tryton's settings in its environment, so that no file has the password. */
function databaseEnv(postgresUrl: string): NodeJS.ProcessEnv {
  return {
    TRYTOND_DATABASE__URI: withDatabase(postgresUrl, ""),
    // Where it looks for the names of the others: a connection to the usual `template1` would
    // prevent the creation of databases.
    TRYTOND_DATABASE__DEFAULT_NAME: "postgres",
    // For so many seconds a new database would not be found. Our calls have no session.
    TRYTOND_SESSION__TIMEOUT: "0",
  };
}

async function replaceDatabase(place: TrytonPlace, name: string, template: string): Promise<void> {
  await query(place, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await query(place, `CREATE DATABASE ${name} TEMPLATE ${template}`);
}

function query(
  { postgresUrl }: TrytonPlace,
  text: string,
  values: readonly string[] = [],
): Promise<readonly Record<string, unknown>[]> {
  return withClient(withDatabase(postgresUrl, "postgres"), async (client) => {
    const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
    return rows;
  });
}

async function startServer(
  venv: string,
  { env, port, postgresUrl, logFile }: ServerSettings,
): Promise<Child> {
  const listen = { TRYTOND_WEB__LISTEN: `${localHost}:${port}` };
  const child = await startChild({
    name: "Tryton",
    script: [join(venv, "bin", "python3"), join(venv, "bin", "trytond")],
    env: { ...env, ...databaseEnv(postgresUrl), ...listen },
    logFile,
    drainMs,
  });
  let ended: string | undefined;
  void child.exited.then((how) => {
    ended = how;
  });
  const isReady = async () => {
    if (ended !== undefined) return true;
    const answer = await fetch(`${addressOf(port)}/rpc/`, { method: "POST" }).catch(() => null);
    return answer !== null;
  };
  if ((await waitUntil(isReady, readyLimitMs)) && ended === undefined) return child;
  await child.stop();
  throw new Error(`Tryton did not start. Its last words:\n${await child.lastWords()}`);
}
