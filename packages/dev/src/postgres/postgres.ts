/**
 * The embedded PostgreSQL: one server over one data folder, kept between starts and reachable only
 * from this machine. A server that a killed predecessor left over the same folder is stopped first.
 * A stale pid file does not prevent a start.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { privateFolder } from "../private-folder.ts";
import { assertPortsFree, localHost } from "../processes/ports.ts";
import { commandOf, endProcess, isAlive } from "../processes/process.ts";
import { findPostgresBinaries, type PostgresBinaries } from "./postgres-binaries.ts";
import { commandAs, findRunAs, type RunAs } from "./postgres-user.ts";

/**
 * The settings of `startPostgres`. `dataFolder` is created if it is missing. `log` gets a line
 * about each unusual event.
 */
interface PostgresSettings {
  readonly dataFolder: string;
  readonly port: number;
  readonly log: (line: string) => void;
  /** The database that `url` names. `migrate` creates it. */
  readonly database?: string;
  /** More `-c` settings, which override the ones here. Tests turn fsync off. */
  readonly serverSettings?: Readonly<Record<string, string>>;
}

/**
 * A running embedded PostgreSQL. `exited` resolves with how the server ended, for any reason.
 * `stop` returns once it has ended.
 */
export interface EmbeddedPostgres {
  readonly url: string;
  readonly pid: number;
  readonly exited: Promise<string>;
  /** Returns the last lines of the server's log. */
  lastWords(): Promise<string>;
  stop(): Promise<void>;
}

/** The superuser and only role. Its password is random and stored next to the data. */
const role = "postgres";

/**
 * A first start recovers a crashed folder within seconds. A minute distinguishes a slow disk from a
 * hang.
 */
const readyLimitMs = 60_000;

/**
 * Fast shutdown flushes all changes to the data files. After the limit the immediate one follows,
 * from which the next start recovers.
 */
const endSteps = [
  { signal: "SIGINT", limitMs: 20_000 },
  { signal: "SIGQUIT", limitMs: 5_000 },
] as const;

/** Backends of a killed server notice its death within this time and release its memory. */
const orphanLimitMs = 10_000;

const baseSettings: Readonly<Record<string, string>> = {
  listen_addresses: localHost,
  // No socket file: its folder would have to exist, be writable for the server's user and be ours
  // alone.
  unix_socket_directories: "",
  // API, workers, demo ledger and tests each have a pool.
  max_connections: "200",
  shared_buffers: "128MB",
  fsync: "on",
  // A new database has no statistics, and plans without them read whole tables. So the first
  // analysis comes soon.
  autovacuum_naptime: "5s",
  timezone: "UTC",
  log_timezone: "UTC",
  // The package contains no LLVM.
  jit: "off",
};

/**
 * Starts PostgreSQL over `dataFolder`, which is created and initialised if new. Resolves once it
 * answers queries. Throws an Error that names POSTGRES_PORT if the port is taken. If the server
 * does not start, the Error has its last words.
 */
export async function startPostgres(settings: PostgresSettings): Promise<EmbeddedPostgres> {
  const dataFolder = resolve(settings.dataFolder);
  const [binaries, runAs] = await Promise.all([findPostgresBinaries(), findRunAs()]);
  const password = await initialise(dataFolder, binaries, runAs);
  await stopLeftPostgres(dataFolder, settings.log);
  await assertPortsFree([{ part: "PostgreSQL", port: settings.port, setting: "POSTGRES_PORT" }]);
  const url = urlOf(password, settings.port, settings.database ?? "billing");
  const end = performance.now() + orphanLimitMs;
  for (;;) {
    const started = await launch(dataFolder, binaries, runAs, settings);
    const problem = await untilReady(started, urlOf(password, settings.port, "postgres"));
    if (problem === undefined) return running(started, url, dataFolder);
    const words = await lastWords(dataFolder);
    if (!words.includes("shared memory block") || performance.now() > end) {
      throw new Error(`PostgreSQL did not start (${problem}). Its last words:\n${words}`);
    }
    await wait(100);
  }
}

/**
 * Returns the URL of the server that runs over this folder now, whichever process started it.
 * Undefined if none runs.
 */
export async function findRunningPostgres(
  dataFolder: string,
  database = "billing",
): Promise<string | undefined> {
  const found = await readPidFile(resolve(dataFolder));
  if (!found || !(await isServerOver(found.pid, resolve(dataFolder)))) return undefined;
  return urlOf((await readFile(join(dataFolder, "password"), "utf8")).trim(), found.port, database);
}

function urlOf(password: string, port: number, database: string): string {
  return `postgresql://${role}:${password}@${localHost}:${port}/${database}`;
}

async function initialise(
  dataFolder: string,
  binaries: PostgresBinaries,
  runAs: RunAs | undefined,
): Promise<string> {
  const passwordFile = join(dataFolder, "password");
  const cluster = join(dataFolder, "cluster");
  const isThere = (await stat(cluster).catch(() => undefined)) !== undefined;
  if (!isThere) await privateFolder(dirname(dataFolder));
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  // Earlier versions left it open to other users.
  await chmod(dataFolder, 0o700);
  if (isThere) return (await readFile(passwordFile, "utf8")).trim();
  const password = randomBytes(24).toString("base64url");
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  await chmod(passwordFile, 0o600);
  if (runAs) {
    await chown(dataFolder, runAs.uid, runAs.gid);
    await chown(passwordFile, runAs.uid, runAs.gid);
  }
  // Created under another name and renamed: a start that is killed here leaves nothing that passes
  // for a database.
  const unfinished = join(dataFolder, "cluster.new");
  await rm(unfinished, { recursive: true, force: true });
  const args = [
    `--pgdata=${unfinished}`,
    `--username=${role}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
  ];
  // The builtin locale sorts the same on every machine.
  args.push(
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
  );
  const command = await commandAs(runAs, binaries.initdb, args, [binaries.initdb, dataFolder]);
  const child = spawn(command.file, command.args, {
    ...command.options,
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: string[] = [];
  child.stdout.on("data", (part) => output.push(String(part)));
  child.stderr.on("data", (part) => output.push(String(part)));
  const code = await new Promise<number | null>((done, fail) =>
    child.once("error", fail).once("close", done),
  );
  if (code !== 0)
    throw new Error(
      `PostgreSQL could not initialise ${dataFolder} (initdb ended with ${code}):\n` +
        `${output.join("")}`,
    );
  await rename(unfinished, cluster);
  return password;
}

async function readPidFile(dataFolder: string): Promise<{ pid: number; port: number } | undefined> {
  const text = await readFile(join(dataFolder, "cluster/postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  return pid > 0 ? { pid, port: Number(lines[3]) } : undefined;
}

async function isServerOver(pid: number, dataFolder: string): Promise<boolean> {
  return (await commandOf(pid)).includes(`-D ${join(dataFolder, "cluster")}`);
}

/**
 * Stops the server that a killed predecessor left over this folder, and removes a stale pid file.
 * Otherwise does nothing.
 */
export async function stopLeftPostgres(folder: string, log: (line: string) => void): Promise<void> {
  const dataFolder = resolve(folder);
  const found = await readPidFile(dataFolder);
  if (!found) return;
  if (await isServerOver(found.pid, dataFolder)) {
    log(`PostgreSQL still runs from an earlier start (process ${found.pid}): stopping it`);
    await endProcess(found.pid, endSteps);
  } else {
    // Another program may have this number by now, and PostgreSQL would take it for a running
    // server.
    await rm(join(dataFolder, "cluster/postmaster.pid"), { force: true });
  }
}

interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<string>;
}

async function launch(
  dataFolder: string,
  binaries: PostgresBinaries,
  runAs: RunAs | undefined,
  settings: PostgresSettings,
): Promise<Started> {
  const cluster = join(dataFolder, "cluster");
  const args = ["-D", cluster, "-p", String(settings.port)];
  for (const [name, value] of Object.entries({ ...baseSettings, ...settings.serverSettings }))
    args.push("-c", `${name}=${value}`);
  const command = await commandAs(runAs, binaries.postgres, args, [binaries.postgres, cluster]);
  // A file, not a pipe: the server must survive the death of this process.
  const logFile = await open(join(dataFolder, "server.log"), "w", 0o600);
  // Detached: Ctrl-C reaches the whole foreground group, and the database must outlive its users.
  const child = spawn(command.file, command.args, {
    ...command.options,
    cwd: "/",
    detached: true,
    stdio: ["ignore", logFile.fd, logFile.fd],
  });
  const exited = new Promise<string>((done) => {
    child.once("error", (error) => done(error.message));
    child.once("exit", (code, signal) => done(`ended with ${signal ?? code}`));
  });
  await logFile.close();
  return { child, exited };
}

/** Returns undefined once the server answers, else the reason why it does not. */
async function untilReady({ exited, child }: Started, url: string): Promise<string | undefined> {
  let ended: string | undefined;
  void exited.then((how) => {
    ended = how;
  });
  const end = performance.now() + readyLimitMs;
  while (ended === undefined && performance.now() < end) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.end();
      return undefined;
    } catch {
      await wait(25);
    }
  }
  if (ended === undefined) child.kill("SIGKILL");
  return ended ?? `no answer within ${readyLimitMs / 1000} s`;
}

function running({ child, exited }: Started, url: string, dataFolder: string): EmbeddedPostgres {
  const pid = child.pid;
  if (pid === undefined) throw new Error("PostgreSQL answers but has no process");
  return {
    url,
    pid,
    exited,
    lastWords: () => lastWords(dataFolder),
    async stop() {
      if (await isAlive(pid)) await endProcess(pid, endSteps);
      await exited;
    },
  };
}

async function lastWords(dataFolder: string): Promise<string> {
  const text = await readFile(join(dataFolder, "server.log"), "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-10).join("\n");
}
