/**
 * The one command itself, as a process: what it prints, how Ctrl-C ends it, and what it says where
 * it cannot start.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/support/system.ts";
import { isListening } from "../src/processes/ports.ts";
import { commandsIn, freePorts, keysIn, portSettings, readCurl } from "./first-start.ts";

const program = (name: string): string =>
  fileURLToPath(new URL(`../src/${name}.ts`, import.meta.url));
const [script, credentials] = [program("start"), program("credentials")];

let folder = "";
let env: NodeJS.ProcessEnv = {};
const running = new Set<Started>();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "start-test-"));
  const {
    DATABASE_URL: _,
    TEMPORAL_ADDRESS: __,
    TEMPORAL_NAMESPACE: ___,
    ...inherited
  } = process.env;
  env = { ...inherited, ...(await freePorts()), DATA_FOLDER: join(folder, "data") };
});

afterEach(async () => {
  for (const { child, ended } of running) {
    child.kill("SIGTERM");
    await ended;
  }
  running.clear();
  await rm(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  /** The exit status; null where a signal ended it. */
  readonly ended: Promise<number | null>;
  output(): string;
}

/** Starts it as a terminal does: in a separate process group, to which Ctrl-C goes. */
function start(): Started {
  const child = spawn(process.execPath, [script], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => (output += String(chunk)));
  // Not its exit: what it wrote last may come after that.
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => resolve(code)),
  );
  const started = { child, ended, output: () => output };
  running.add(started);
  void ended.then(() => running.delete(started));
  return started;
}

async function untilUp({ child, output }: Started): Promise<void> {
  await until(
    () => `everything is started: ${output()}`,
    async () => {
      if (child.exitCode !== null)
        throw new Error(`the start ended with ${child.exitCode}: ${output()}`);
      return output().includes("Ctrl-C stops everything.");
    },
  );
}

/**
 * What still runs over the data folder, or is a program that this start recorded, or listens on one
 * of its ports.
 */
async function remains(): Promise<string[]> {
  const record = await readFile(join(folder, "data/start.json"), "utf8").catch(
    () => '{"children":[]}',
  );
  const { children } = JSON.parse(record) as { children: readonly { pid: number }[] };
  const processes = execFileSync("ps", ["-eo", "pid=,stat=,args="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim())
    .filter(
      (line) => line.includes(folder) || children.some(({ pid }) => line.startsWith(`${pid} `)),
    );
  const ports = await Promise.all(
    portSettings.map(async (name) => ((await isListening(Number(env[name]))) ? [name] : [])),
  );
  return [...processes, ...ports.flat()];
}

/** Signs in by the link that a start printed. Returns the code in it. */
async function openLink(started: Started): Promise<string> {
  const link = /Sign in +(http\S+)\/console\/sign-in#code=([\w-]{43}) /.exec(started.output());
  const [, adminUrl = "", code = ""] = link ?? [];
  const body = JSON.stringify({ code });
  const headers = { "Content-Type": "application/json", Origin: adminUrl };
  const ask = () => fetch(`${adminUrl}/console/session`, { method: "POST", headers, body });
  expect([(await ask()).status, (await ask()).status]).toEqual([204, 401]);
  return code;
}

/** All that the parts wrote to their logs. */
async function logs(): Promise<string> {
  const names = await readdir(join(folder, "data/logs"));
  return (
    await Promise.all(names.map((name) => readFile(join(folder, "data/logs", name), "utf8")))
  ).join();
}

async function organisationOf(key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` };
  return (await fetch(`http://127.0.0.1:${env.API_PORT}/v1/organisation`, { headers })).status;
}

test("only the first start prints keys, others replace them, and Ctrl-C ends all", async () => {
  const first = start();
  await untilUp(first);
  const keys = keysIn(first.output());
  expect(keys).toHaveLength(2);
  for (const key of keys) expect(await organisationOf(key)).toBe(200);
  const { url, method, headers, body } = readCurl(commandsIn(first.output())[0] ?? "");
  expect((await fetch(url, { method, headers, body })).status).toBe(201);
  // The demo ledger's page shows the issued invoice, and faults can be ordered there.
  const ledger = first.output().match(/demo ledger's [^:]*: (http\S+)/)?.[1] ?? "";
  expect(await (await fetch(ledger)).text()).toContain("<title>Demo ledger: documents</title>");
  // A slow machine may answer before the ledger has it.
  const shown = await until("the ledger has the invoices of both organisations", async () => {
    const read = (await (await fetch(`${ledger}/demo/documents`)).json()) as {
      faults: readonly object[];
      invoices: readonly { readonly tenant_id: string; readonly contact: string }[];
    };
    const tenants = new Set(read.invoices.map(({ tenant_id: tenant }) => tenant));
    return tenants.size === 2 && first.output().includes("a subscription in each state (") && read;
  });
  expect(shown.faults).toEqual([]);
  const code = await openLink(first);
  expect(first.output().indexOf("/console")).toBeLessThan(first.output().indexOf("Base URL"));
  const written = await logs();
  expect(written).toContain("/console/session");
  expect(written).not.toContain(code);
  expect(shown.invoices.map(({ contact }) => contact)).toContain("Acme Ltd");
  expect((await remains()).length).toBeGreaterThanOrEqual(portSettings.length);
  process.kill(-(first.child.pid ?? 0), "SIGINT");
  expect(await first.ended, first.output()).toBe(0);
  expect(await remains()).toEqual([]);

  const second = start();
  await untilUp(second);
  expect(keysIn(second.output())).toEqual([]);
  expect(commandsIn(second.output())).toEqual([]);
  expect(second.output()).toContain("shown by an earlier start");
  expect(await openLink(second)).not.toBe(code);
  for (const key of keys) expect(await organisationOf(key)).toBe(200);
  const replaced = execFileSync(process.execPath, [credentials], { env, encoding: "utf8" });
  expect(keysIn(replaced)).toHaveLength(2);
  for (const key of keys) expect(await organisationOf(key)).toBe(401);
  for (const key of keysIn(replaced)) expect(await organisationOf(key)).toBe(200);
  second.child.kill("SIGINT");
  expect(await second.ended, second.output()).toBe(0);
  expect(await remains()).toEqual([]);
});

test("a taken port is an error that names its setting, without a stack trace", async () => {
  for (const setting of ["API_PORT", "TEMPORAL_UI_PORT"] as const) {
    const other = createServer();
    await new Promise<void>((done) => other.listen(Number(env[setting]), "127.0.0.1", done));
    const started = start();
    expect(await started.ended).toBe(1);
    await new Promise((done) => other.close(done));
    expect(started.output()).toContain(`is taken. Set ${setting} to a free one.`);
    expect(started.output()).not.toMatch(/^\s+at /m);
    expect(await remains()).toEqual([]);
  }
});
