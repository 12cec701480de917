/**
 * The package runs in an empty folder: migrations, API, worker and command line, with nothing but
 * its dependencies, on a PostgreSQL and a Temporal.
 */
import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { withDatabase } from "../../src/store/database/migrations/migrate.ts";
import { generateApiKey } from "../../src/transport/rpc/gate/api-key.ts";
import { ask } from "../support/answer.ts";
import { freePort } from "../support/ports.ts";
import { allow } from "../support/slowness.ts";
import { testTemporal } from "../support/temporal.ts";
import { until } from "../support/until.ts";
import { cleanEnv, type InstalledPackage, installPackage, megabytes } from "./installed-package.ts";
import { type RunningProgram, startProgram, untilOutput } from "./running-program.ts";

/** The most that an installation may take, in megabytes. */
const maxMegabytes = 250;

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "billing-package-"));
const running: RunningProgram[] = [];
let installed: InstalledPackage;
let settings: NodeJS.ProcessEnv;
let databaseUrl: string;

beforeAll(async () => {
  installed = await installPackage(folder);
  const { address, namespace } = await testTemporal();
  // Not migrated, not even created.
  databaseUrl = withDatabase(
    inject("postgresUrl"),
    `${inject("databasePrefix")}${randomUUID().replaceAll("-", "")}`,
  );
  settings = cleanEnv({
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    SECRET_KEY: randomBytes(32).toString("base64"),
    LEDGER_ADDRESSES: "development",
    API_PORT: "0",
    ADMIN_PORT: String(await freePort()),
  });
}, allow(60_000));

afterAll(async () => {
  await Promise.all(running.map((program) => program.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** The file of a program of the installed package. */
function program(name: string): string {
  return join(installed.folder, "node_modules/subscription-billing/dist", `${name}.js`);
}

/** Runs a program to its end and returns what it wrote to standard output. */
function run(name: string, ...args: readonly string[]): string {
  return execFileSync(process.execPath, [program(name), ...args], {
    cwd: installed.folder,
    env: settings,
    encoding: "utf8",
  });
}

async function start(name: string, own: NodeJS.ProcessEnv = {}): Promise<RunningProgram> {
  const started = await startProgram(program(name), {
    cwd: installed.folder,
    env: { ...settings, ...own },
  });
  running.push(started);
  return started;
}

test("the tarball has the build and the papers, and nothing else", () => {
  const others = installed.files.filter((path) => !path.startsWith("dist/"));
  expect(others).toEqual(["README.md", "package.json"]);
  expect(installed.files).toEqual(expect.arrayContaining(["dist/licences.txt", "dist/billing.js"]));
});

test("the installation has no package that is for development, and at most 250 MB", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const forDevelopment = (Object.entries(packages) as [string, { readonly dev?: boolean }][])
    .filter(([path, { dev }]) => dev === true && path.startsWith("node_modules/"))
    .map(([path]) => path);
  expect(forDevelopment.length).toBeGreaterThan(200);
  const there = (path: string) => existsSync(join(installed.folder, path));
  expect(there("node_modules/@temporalio/core-bridge")).toBe(true);
  expect(forDevelopment.filter(there)).toEqual([]);
  const size = megabytes(join(installed.folder, "node_modules"));
  const own = megabytes(join(installed.folder, "node_modules/subscription-billing"));
  console.log(`the installation has ${size.toFixed(0)} MB, ${own.toFixed(1)} of them are its own`);
  expect(size).toBeLessThan(maxMegabytes);
});

test("it serves the documentation, and the ledger has a new subscription's invoice", async () => {
  expect(run("migrate")).toContain("applied migration");
  expect(run("migrate")).toBe("the database is at the newest migration\n");
  const ledger = await start("demo-ledger", { DEMO_LEDGER_PORT: "0" });
  const ledgerUrl = await until(
    "the demo ledger listens",
    async () => /"url":"([^"]+)"/.exec(ledger.output())?.[1],
  );
  const keys = run("demo-data", ledgerUrl);
  const key = /live\s+(\S+)/.exec(keys)?.[1] ?? "";
  const operator = /operator\s+(op_\S+)/.exec(keys)?.[1] ?? "";
  const [api, worker] = await Promise.all([start("server"), start("worker")]);
  await untilOutput(api, '"started"');
  const [, port] = /"port":(\d+)[^\n]*"started"/.exec(api.output()) ?? [];
  await untilOutput(worker, '"started"');
  for (const path of ["/docs/guide", "/docs/reference/plans", "/llms.txt"])
    expect([path, (await fetch(`http://127.0.0.1:${port}${path}`)).status]).toEqual([path, 200]);

  const created = await ask(`http://127.0.0.1:${port}/v1/subscriptions`, "POST", {
    key,
    idempotencyKey: "packed",
    body: { customer_code: "ACME", plan_code: "team", units: 10 },
  });
  expect([created.status, created.text]).toEqual([201, expect.stringContaining('"active"')]);
  const invoices = await ask(`http://127.0.0.1:${port}/v1/invoices?limit=1`, "GET", { key });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query("SELECT number FROM demo_ledger.invoices");
  await client.end();
  expect(rows).toEqual([{ number: invoices.json.data[0].number }]);

  settings.BILLING_OPERATOR_TOKEN = operator;
  settings.BILLING_ADMIN_URL = `http://127.0.0.1:${settings.ADMIN_PORT}`;
  expect(run("billing", "organisations", "list")).toContain("Northwind Software");
  // Traces are off, and the workflows have spans nevertheless.
  expect(worker.output()).not.toContain("external sink");
  expect(await worker.stop()).toBe("0");
  expect(await api.stop()).toBe("0");
});

test("the command billing is installed, and completes itself", () => {
  const command = join(installed.folder, "node_modules/.bin/billing");
  const answer = execFileSync(command, ["completion", "bash"], {
    env: { ...settings, PATH: `${join(process.execPath, "..")}:${settings.PATH}` },
    encoding: "utf8",
  });
  expect(answer).toContain("billing complete --");
});

test("a stack names files and lines of the sources", async () => {
  const absent = withDatabase(databaseUrl, "no_such_database");
  const api = await start("server", { DATABASE_URL: absent, ADMIN_PORT: "0" });
  await untilOutput(api, '"started"');
  const [, port] = /"port":(\d+)[^\n]*"started"/.exec(api.output()) ?? [];
  const { value: key } = generateApiKey(true);
  expect((await ask(`http://127.0.0.1:${port}/v1/organisation`, "GET", { key })).status).toBe(500);
  const line = await until("the API reports the failure", async () =>
    api
      .output()
      .split("\n")
      .find((each) => each.includes('"failure"')),
  );
  const { stack } = JSON.parse(line).err;
  expect(stack).toMatch(/\/src\/store\/[\w/-]+\.ts:\d+:\d+/);
  expect(existsSync(join(installed.folder, "src"))).toBe(false);
  expect(readdirSync(installed.folder).sort()).toEqual([
    "node_modules",
    "package-lock.json",
    "package.json",
  ]);
});
