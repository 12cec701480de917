/**
 * A Tryton on this machine, for trials and tests. Its databases are SQLite files in a folder. Each
 * is a copy of a kept template with a company: to copy it is the reset.
 */
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Child, startChild } from "../processes/children.ts";
import { localHost } from "../processes/ports.ts";
import { waitUntil } from "../processes/process.ts";
import { runQuietly } from "../processes/run-quietly.ts";
import { type Company, type CompanySettings, rpcAt, setUpCompany } from "./company.ts";
import { installTryton, trytonFolder } from "./install.ts";

/** A running Tryton. Its databases are in `folder`. */
export interface TrytonServer {
  readonly url: string;
  readonly child: Child;
  /** Creates a database with the template's company, and returns how billing connects to it. */
  addDatabase(name: string): Promise<TrytonAccess>;
  /** Returns how billing connects to a database that was created before. */
  openDatabase(name: string): Promise<TrytonAccess>;
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
  readonly folder: string;
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

/** Starts Tryton over a folder of databases. The first start prepares the template. */
export async function startTryton(settings: ServerSettings): Promise<TrytonServer> {
  const { env, folder, port, log } = settings;
  const venv = await installTryton(env, log);
  const template = await prepareTemplate(venv, settings);
  await mkdir(folder, { recursive: true });
  const { child, url } = await startServer(venv, settings, folder, port);
  const openDatabase = async (name: string): Promise<TrytonAccess> => {
    await load(`${url}/${name}`);
    const { company, password } = template;
    const { companyId, key } = company;
    return {
      tenantId: `${name}/${companyId}`,
      baseUrl: url,
      clientSecret: key,
      databaseUrl: `${url}/${name}`,
      password,
      company,
    };
  };
  return {
    url,
    child,
    openDatabase,
    addDatabase: async (name) => {
      await rm(join(folder, `${name}.sqlite-shm`), { force: true });
      for (const end of [".sqlite", ".sqlite-wal"])
        await copyFile(join(template.folder, `template${end}`), join(folder, `${name}${end}`));
      return openDatabase(name);
    },
  };
}

/** Loads a database, which two requests at once or the administrator's calls cannot. */
async function load(databaseUrl: string): Promise<void> {
  const answer = await fetch(`${databaseUrl}/rest/model/res.user`);
  if (answer.status !== 401) throw new Error(`Tryton answered ${answer.status} at ${databaseUrl}`);
}

interface Template {
  readonly folder: string;
  readonly password: string;
  readonly company: Company;
}

/** Returns the template, which is prepared once in the cache and moved there whole. */
async function prepareTemplate(venv: string, settings: ServerSettings): Promise<Template> {
  const { env, log } = settings;
  const folder = join(trytonFolder(env), `template-${templateSettings.years.join("-")}`);
  const read = async () => {
    const text = await readFile(join(folder, "template.json"), "utf8");
    return { folder, ...(JSON.parse(text) as Omit<Template, "folder">) };
  };
  const known = await read().catch(() => null);
  if (known !== null) return known;
  log("preparing a company in Tryton, once: about a minute");
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(join(dirname(folder), "unfinished-"));
  try {
    const password = randomBytes(16).toString("base64url");
    await createDatabase(venv, env, draft, password);
    const { child, url } = await startServer(venv, settings, draft, settings.port);
    try {
      await load(`${url}/template`);
      const company = await setUpCompany(rpcAt(`${url}/template`, password), templateSettings);
      await writeFile(join(draft, "template.json"), JSON.stringify({ password, company }));
    } finally {
      await child.stop();
    }
    await rename(draft, folder).catch(() => undefined);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return read();
}

async function createDatabase(
  venv: string,
  env: NodeJS.ProcessEnv,
  folder: string,
  password: string,
): Promise<void> {
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  await writeFile(join(folder, "template.sqlite"), "");
  const config = await writeConfig(folder, 0);
  const run = { env: { ...env, TRYTONPASSFILE: passwordFile }, cwd: folder, limitMs: setUpLimitMs };
  const modules = ["account_invoice", "account_product"];
  const args = ["-c", config, "-d", "template", "--all", "--email", "admin@example.com"];
  await runQuietly(
    join(venv, "bin", "trytond-admin"),
    [...args, "-l", "en", "-u", ...modules, "--activate-dependencies"],
    { ...run, what: "trytond-admin" },
  );
}

async function writeConfig(folder: string, port: number): Promise<string> {
  const file = join(folder, "trytond.conf");
  const lines = [
    "[database]",
    "uri = sqlite://",
    `path = ${folder}`,
    "[web]",
    `listen = ${localHost}:${port}`,
    // For so many seconds a new database would not be found. Our calls have no session.
    "[session]",
    "timeout = 0",
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  return file;
}

async function startServer(
  venv: string,
  { env }: ServerSettings,
  folder: string,
  port: number,
): Promise<{ readonly child: Child; readonly url: string }> {
  const config = await writeConfig(folder, port);
  const child = await startChild({
    name: "Tryton",
    script: [join(venv, "bin", "python3"), join(venv, "bin", "trytond"), "-c", config],
    env,
    logFile: join(folder, "tryton.log"),
    drainMs,
  });
  const url = `http://${localHost}:${port}`;
  let ended: string | undefined;
  void child.exited.then((how) => {
    ended = how;
  });
  const isReady = async () => {
    if (ended !== undefined) return true;
    const answer = await fetch(`${url}/rpc/`, { method: "POST" }).catch(() => null);
    return answer !== null;
  };
  if ((await waitUntil(isReady, readyLimitMs)) && ended === undefined) return { child, url };
  await child.stop();
  throw new Error(`Tryton did not start. Its last words:\n${await child.lastWords()}`);
}
