/**
 * One command's worth of parts, with stand-ins for the programs of this repository: order of start
 * and end, and every way to fail.
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { type Stack, startStack } from "../src/stack.ts";
import { collectParts, type Parts } from "../src/stack-settings.ts";
import { freePorts, portSettings } from "./first-start.ts";

const program = (name: string): string =>
  fileURLToPath(new URL(`./programs/${name}.ts`, import.meta.url));
const programs = {
  api: program("api"),
  worker: program("worker"),
  demoLedger: program("demo-ledger"),
};

let folder = "";
let env: NodeJS.ProcessEnv = {};
let lines: string[] = [];
let parts: Parts = collectParts(() => undefined);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stack-test-"));
  lines = [];
  parts = collectParts((line) => lines.push(line));
  const { DATABASE_URL: _, TEMPORAL_ADDRESS: __, ...inherited } = process.env;
  env = {
    ...inherited,
    ...(await freePorts()),
    DATA_FOLDER: join(folder, "data"),
    STORY_FILE: join(folder, "story"),
  };
});

afterEach(async () => {
  await parts.stopAll();
  await rm(folder, { recursive: true, force: true });
});

function start(more: Partial<typeof programs> = {}): Promise<Stack> {
  return startStack({
    env,
    log: (line) => lines.push(line),
    parts,
    programs: { ...programs, ...more },
  });
}

async function story(): Promise<string[]> {
  return (await readFile(join(folder, "story"), "utf8").catch(() => ""))
    .split("\n")
    .filter((line) => line !== "");
}

/** A running stack in a separate process. The caller kills it. */
async function startElsewhere(): Promise<{ pid: number; exited: Promise<void> }> {
  const child = spawn(process.execPath, [program("start-and-wait")], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise<void>((done) => child.once("exit", () => done()));
  await new Promise<void>((done) =>
    child.stdout.on("data", (text) => String(text).includes("all started") && done()),
  );
  return { pid: child.pid ?? 0, exited };
}

test("API and worker drain before the demo ledger, and that before the servers stop", async () => {
  const stack = await start();
  expect(await (await fetch(stack.baseUrl)).text()).toBe("ready");
  expect(stack.temporalUiUrl).toBe(`http://127.0.0.1:${env.TEMPORAL_UI_PORT}`);
  await expect
    .poll(async () => (await story()).sort())
    .toEqual(["api started true", "demo-ledger started true", "worker started true"]);
  await parts.stopAll();
  expect((await story()).slice(3)).toEqual([
    "api drained",
    "worker drained",
    "demo-ledger drained",
  ]);
  const stopped = lines.filter((line) => line.endsWith(" stopped")).slice(0, 3);
  expect(stopped).toEqual(["API stopped", "Worker stopped", "Demo ledger stopped"]);
});

test("the data folder is closed to other users, also one of an earlier start", async () => {
  const data = join(folder, "data");
  for (const left of ["temporal", "logs"])
    await mkdir(join(data, left), { recursive: true, mode: 0o755 });
  await writeFile(
    join(data, "start.json"),
    '{"owner":{"name":"start","pid":0,"command":""},"children":[]}',
    {
      mode: 0o644,
    },
  );
  await start();
  const modeOf = async (path: string) => ((await stat(join(data, path))).mode & 0o777).toString(8);
  // Root runs PostgreSQL as another user, who has to pass through.
  expect(await modeOf("")).toBe(process.getuid?.() === 0 ? "711" : "700");
  for (const inner of ["temporal", "logs", "postgres"])
    expect([inner, await modeOf(inner)]).toEqual([inner, "700"]);
  for (const file of ["start.json", "secret-key", "postgres/password"]) {
    expect([file, await modeOf(file)]).toEqual([file, "600"]);
  }
  const others = (await readdir(data)).filter(
    (name) => !/^(temporal|logs|postgres|start\.json|secret-key)$/.test(name),
  );
  expect(others).toEqual([]);
});

test("every taken port is an error that names its setting, before any part starts", async () => {
  for (const setting of portSettings) {
    const other = createServer();
    await new Promise<void>((done) => other.listen(Number(env[setting]), "127.0.0.1", done));
    await expect(start()).rejects.toThrow(`is taken. Set ${setting} to a free one.`);
    await new Promise((done) => other.close(done));
  }
  expect(lines).toEqual([]);
});

test("a program that cannot start is an error with its last words, and all stop", async () => {
  await expect(start({ api: program("die") })).rejects.toThrow(
    "API did not start (ended with status 3). Its last words:\nthe setting FOO is missing",
  );
  await parts.stopAll();
  expect(await story()).toContain("demo-ledger drained");
});

test("a program that ends by itself is reported", async () => {
  await start();
  const [api] = JSON.parse(await readFile(join(folder, "data/start.json"), "utf8")).children.slice(
    -1,
  );
  process.kill(api.pid, "SIGKILL");
  expect(await parts.broken).toContain("API ended by itself (signal SIGKILL)");
});

test("processes of a killed start are ended, and the next start uses the same data", async () => {
  const killed = await startElsewhere();
  process.kill(killed.pid, "SIGKILL");
  await killed.exited;
  const stack = await start();
  expect((await fetch(stack.baseUrl)).status).toBe(200);
  const left = lines.filter((line) => line.includes("still runs from an earlier start"));
  expect(left.map((line) => line.split(" still")[0])).toEqual([
    "Demo ledger",
    "Worker",
    "API",
    "PostgreSQL",
    "Temporal",
  ]);
});

test("a second start over the same data is refused and leaves the first alone", async () => {
  const first = await startElsewhere();
  await expect(start()).rejects.toThrow(
    `(process ${first.pid}). Stop it first, or set DATA_FOLDER to another folder.`,
  );
  expect((await fetch(`http://127.0.0.1:${env.API_PORT}`)).status).toBe(200);
  process.kill(first.pid, "SIGKILL");
  await first.exited;
  await start();
});

test("with a database and a Temporal of one's own, only API and worker are started", async () => {
  const own = await freshDatabase();
  env.DATABASE_URL = own.url;
  env.TEMPORAL_ADDRESS = inject("temporalAddress");
  const stack = await start();
  expect(stack).toMatchObject({
    demoLedgerUrl: undefined,
    temporalUiUrl: undefined,
    databaseUrl: env.DATABASE_URL,
  });
  await parts.stopAll();
  expect(lines.filter((line) => line.endsWith(" stopped"))).toEqual([
    "API stopped",
    "Worker stopped",
  ]);
  await own.drop();
});
