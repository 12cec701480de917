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

/** A running Tryton. */
export interface TrytonServer {
  readonly url: string;
  readonly child: Child;
  /**
   * Creates a database with the template's company in place of one of this name, and returns how
   * billing connects to it.
   */
  addDatabase(name: string): Promise<TrytonAccess>;
  /** Returns how billing connects to a database that was created before. Null if there is none. */
  openDatabase(name: string): Promise<TrytonAccess | null>;
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

interface ServerSettings {
  readonly env: NodeJS.ProcessEnv;
  /** Any database of the PostgreSQL, in which databases can be created. */
  readonly postgresUrl: string;
  readonly logFile: string;
  readonly port: number;
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
  const { env, log, port } = settings;
  const venv = await installTryton(env, log);
  const template = await prepareTemplate(venv, settings);
  const child = await startServer(venv, settings);
  const url = addressOf(port);
  const accessOf = async (name: string): Promise<TrytonAccess> => {
    const databaseUrl = `${url}/${name}`;
    await load(databaseUrl);
    const { company, password } = template;
    const { companyId, key } = company;
    const tenantId = `${name}/${companyId}`;
    return { tenantId, baseUrl: url, clientSecret: key, databaseUrl, password, company };
  };
  return {
    url,
    child,
    openDatabase: async (name) => {
      const isThere = await query(settings, "SELECT FROM pg_database WHERE datname = $1", [name]);
      return isThere.length === 0 ? null : accessOf(name);
    },
    addDatabase: async (name) => {
      await replaceDatabase(settings, name, templateName);
      return accessOf(name);
    },
  };
}

const addressOf = (port: number): string => `http://${localHost}:${port}`;

/** Loads a database, which two requests at once or the administrator's calls cannot. */
async function load(databaseUrl: string): Promise<void> {
  const answer = await fetch(`${databaseUrl}/rest/model/res.user`);
  if (answer.status !== 401) throw new Error(`Tryton answered ${answer.status} at ${databaseUrl}`);
}

interface Template {
  readonly password: string;
  readonly company: Company;
}

/**
 * Returns the template, which is prepared once. The comment on the database has its keys, and is
 * written last: without it the database is unfinished.
 */
async function prepareTemplate(venv: string, settings: ServerSettings): Promise<Template> {
  const [known] = await query(
    settings,
    "SELECT shobj_description(oid, 'pg_database') AS text FROM pg_database WHERE datname = $1",
    [templateName],
  );
  if (typeof known?.text === "string") return JSON.parse(known.text) as Template;
  settings.log("preparing a company in Tryton, once: about a minute");
  await replaceDatabase(settings, templateName, "template0");
  const password = randomBytes(16).toString("base64url");
  await createTables(venv, settings, password);
  const child = await startServer(venv, settings);
  try {
    const databaseUrl = `${addressOf(settings.port)}/${templateName}`;
    await load(databaseUrl);
    const company = await setUpCompany(rpcAt(databaseUrl, password), templateSettings);
    const template = { password, company };
    // A comment takes no parameter. Its words are JSON of names and keys without quotes.
    await query(settings, `COMMENT ON DATABASE ${templateName} IS '${JSON.stringify(template)}'`);
    return template;
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

async function replaceDatabase(
  settings: ServerSettings,
  name: string,
  template: string,
): Promise<void> {
  await query(settings, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await query(settings, `CREATE DATABASE ${name} TEMPLATE ${template}`);
}

function query(
  { postgresUrl }: ServerSettings,
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
