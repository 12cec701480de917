/**
 * Measures starts and idle memory: `npm start` until it is ready, the first answer of the command
 * line, and the programs of a build until /readyz and after ten idle seconds. The floor is a Node
 * process with no code.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { withDatabaseUrl } from "../src/dev/local-stack/postgres/database-url.ts";
import { buildPrograms } from "../test/support/built-programs.ts";
import { freePort } from "../test/support/ports.ts";
import { median, printFigure } from "./support/figure.ts";
import { bareEnvironment } from "./support/system.ts";

const root = join(import.meta.dirname, "..");

/** Each is measured so often. Other work on the machine makes a start slower, never faster. */
const times = 3;

/** A command takes tenths of a second. */
const commandTimes = 7;

const idleMs = 10_000;

const startLimitMs = 120_000;

/** What is stopped at the end, in reverse order. */
type Stops = (() => Promise<unknown>)[];

/** A running process and what it needed. */
interface Started {
  readonly child: ChildProcess;
  readonly seconds: number;
}

/** Runs the measurement. */
export async function run(): Promise<void> {
  const stops: Stops = [];
  try {
    await measure(stops);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function measure(stops: Stops): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "billing-starting-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const built = await buildPrograms();
  const env: NodeJS.ProcessEnv = { ...bareEnvironment(), DATA_FOLDER: folder };
  for (const part of ["API", "ADMIN", "POSTGRES", "TEMPORAL", "TEMPORAL_UI", "DEMO_LEDGER"])
    env[`${part}_PORT`] = String(await freePort());
  env.WORKER_PORT = String(await freePort());

  const nothing = await commands([process.execPath, "-e", "0"], env, 0);
  const first = await startAll(env);
  await end(first.child);
  const warm: Started[] = [];
  for (let time = 0; time < times; time += 1) {
    const last = warm.at(-1);
    if (last !== undefined) await end(last.child);
    warm.push(await startAll(env));
  }
  stops.push(async () => end(warm[times - 1]?.child));
  printFigure("start_first", first.seconds, "s");
  report(
    "start_warm",
    warm.map(({ seconds }) => seconds),
    "s",
  );
  await measureCommands(built, env, nothing);
  await withDatabaseUrl(
    env,
    () => undefined,
    (databaseUrl) => measureBuilt(built, { ...env, DATABASE_URL: databaseUrl }),
  );
}

function startAll(env: NodeJS.ProcessEnv): Promise<Started> {
  return start(["npm", "start"], env, async (output) => output.includes("Ctrl-C stops"));
}

/** The service refuses the token, which is an answer. */
async function measureCommands(
  built: string,
  env: NodeJS.ProcessEnv,
  nothing: readonly number[],
): Promise<void> {
  const call = ["organisations", "list", "--url", `http://127.0.0.1:${env.ADMIN_PORT}`];
  const own = { ...env, BILLING_OPERATOR_TOKEN: "unknown" };
  const floor = Math.min(...nothing);
  const npm = ["npm", "run", "--silent", "billing", "--", ...call];
  report("command_by_npm", await commands(npm, own, 1), "s", floor);
  const ofBuild = [process.execPath, join(built, "billing.js"), ...call];
  report("command_of_build", await commands(ofBuild, own, 1), "s", floor);
}

/** The processes share the servers with those of `npm start`, which are idle too. */
async function measureBuilt(built: string, env: NodeJS.ProcessEnv): Promise<void> {
  const own: NodeJS.ProcessEnv = {
    ...env,
    TEMPORAL_ADDRESS: `127.0.0.1:${env.TEMPORAL_PORT}`,
    SECRET_KEY: randomBytes(32).toString("base64"),
  };
  const ports = ["API_PORT", "ADMIN_PORT", "WORKER_PORT"] as const;
  for (const port of ports) own[port] = String(await freePort());
  const programs = [
    { name: "api", file: "server.js", port: own.API_PORT },
    { name: "worker", file: "worker.js", port: own.WORKER_PORT },
  ].map((one) => ({ ...one, seconds: [] as number[], whole: [] as number[], own: [] as number[] }));
  const empty = await start([process.execPath, "-e", "setInterval(() => 0, 9e8)"], own, async () =>
    wait(200, true),
  );
  const floor = memoryOf(empty.child);
  await end(empty.child);
  for (let time = 0; time < times; time += 1) {
    const started: Started[] = [];
    for (const { file, port, seconds } of programs) {
      const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
      const one = await start([process.execPath, join(built, file)], own, isReady);
      started.push(one);
      seconds.push(one.seconds);
    }
    await wait(idleMs);
    for (const [index, { child }] of started.entries()) {
      const memory = memoryOf(child);
      programs[index]?.whole.push(memory.whole);
      programs[index]?.own.push(memory.own);
      await end(child);
    }
  }
  for (const { name, seconds, whole, own: private_ } of programs) {
    report(`start_built_${name}`, seconds, "s");
    report(`idle_${name}_resident`, whole, "MB", floor.whole);
    report(`idle_${name}_private`, private_, "MB", floor.own);
  }
}

function report(name: string, values: readonly number[], unit: string, floor?: number): void {
  printFigure(`${name}_best`, Math.min(...values), unit, floor);
  printFigure(`${name}_median`, median(values), unit, floor);
}

/** Runs a command again and again, and returns the seconds of each run. */
async function commands(
  [file = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  status: number,
): Promise<readonly number[]> {
  const took: number[] = [];
  for (let time = 0; time < commandTimes; time += 1) {
    const began = performance.now();
    const child = spawn(file, args, { cwd: root, env, stdio: "ignore" });
    const code = await new Promise((done) => child.once("close", done));
    took.push((performance.now() - began) / 1_000);
    assert.equal(code, status, `${[file, ...args].join(" ")} ends with ${status}`);
  }
  return took;
}

async function start(
  [file = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  isReady: (output: string) => Promise<boolean>,
): Promise<Started> {
  const began = performance.now();
  const child = spawn(file, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text) => (output += String(text)));
  while (!(await isReady(output).catch(() => false))) {
    const isLate = performance.now() - began > startLimitMs;
    assert(!isLate && child.exitCode === null, `${file} ${args.join(" ")} starts: ${output}`);
    await wait(20);
  }
  return { child, seconds: (performance.now() - began) / 1_000 };
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("close", done));
  child.kill("SIGTERM");
  await ended;
}

/**
 * The memory of a process in MB: all of it, and what it shares with no file and no other process.
 * The difference is mostly Node's own program. Zero without /proc.
 */
function memoryOf({ pid }: ChildProcess): { readonly whole: number; readonly own: number } {
  let text = "";
  try {
    text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  } catch {
    // Another system than Linux.
  }
  const kilobytes = (name: string) => Number(new RegExp(`^${name}: +(\\d+)`, "m").exec(text)?.[1]);
  return {
    whole: (kilobytes("Rss") || 0) / 1024,
    own: (kilobytes("Private_Dirty") || 0) / 1024,
  };
}
