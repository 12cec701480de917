/**
 * The embedded Temporal dev server with its Web UI: one server over one file, kept between starts
 * and reachable only from this machine. A server that a killed predecessor left over the same file
 * is stopped first.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ensureSearchAttributes } from "../../../../src/worker/temporal/search-attributes.ts";
import { privateFolder } from "../private-folder.ts";
import { anyFreePort, assertPortsFree, isListening, localHost } from "../processes/ports.ts";
import { commandOf, endProcess, isAlive } from "../processes/process.ts";
import { linesInto } from "../progress-line.ts";
import { guardHosts } from "./own-hosts-only.ts";
import { argumentsOf, type InnerPorts, type TemporalSettings } from "./server-arguments.ts";
import { findTemporalCli } from "./temporal-cli.ts";

/**
 * A running dev server. `exited` resolves with how it ended, for any reason. `stop` returns once it
 * has ended.
 */
export interface EmbeddedTemporal {
  readonly address: string;
  readonly uiUrl: string | undefined;
  readonly namespace: string;
  readonly pid: number;
  readonly exited: Promise<string>;
  /** Returns the last lines of the server's log. */
  lastWords(): Promise<string>;
  stop(): Promise<void>;
}

/** It serves after 1 to 2 s. The rest is for a machine under load. */
const readyLimitMs = 60_000;

/** It drains its services on SIGTERM within a second or two. */
const endSteps = [{ signal: "SIGTERM", limitMs: 10_000 }] as const;

/** The server picks ports for its inner services itself and may lose a race for one. */
const tries = 3;
const lostRace = "address already in use";

/**
 * The line that the server prints once all services were started. Before, it may answer although
 * its last service got no port. It ends then, within a second, and the reason stands before the
 * line.
 */
const allStarted = /Server:\s+\S+:\d/;

/** Enough for all services after the first. Another version may print another line. */
const allStartedLimitMs = 5_000;

/**
 * Starts the dev server and resolves once it serves the namespace with all search attributes.
 * Throws an Error that names TEMPORAL_PORT or TEMPORAL_UI_PORT if a port is taken. If the server
 * does not start, the Error has its last words.
 */
export async function startTemporal(settings: TemporalSettings): Promise<EmbeddedTemporal> {
  const cli = await findTemporalCli(linesInto(settings.log));
  const dataFile = settings.dataFile === undefined ? undefined : resolve(settings.dataFile);
  if (dataFile !== undefined) {
    await privateFolder(dirname(dataFile), { whole: true });
    await stopLeftTemporal(dataFile, settings.log);
  }
  const wanted = [{ part: "Temporal", port: settings.port, setting: "TEMPORAL_PORT" }];
  if (settings.uiPort !== undefined) {
    wanted.push({
      part: "the Temporal Web UI",
      port: settings.uiPort,
      setting: "TEMPORAL_UI_PORT",
    });
  }
  await assertPortsFree(wanted);
  const logFile =
    dataFile === undefined
      ? join(tmpdir(), `temporal-${process.pid}-${settings.port}.log`)
      : `${dataFile}.log`;
  for (let attempt = 1; ; attempt++) {
    const inner = { http: await anyFreePort(), ui: await anyFreePort() };
    const started = await launch(cli, dataFile, logFile, settings, inner);
    const problem = await untilReady(started, logFile, settings);
    if (problem === undefined) return running(started, dataFile, logFile, settings, inner);
    if (!(await logOf(logFile)).includes(lostRace) || attempt === tries) {
      const words = await lastWordsOf(logFile);
      throw new Error(
        `The Temporal dev server did not start (${problem}). Its last words:\n${words}`,
      );
    }
  }
}

interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<string>;
}

async function launch(
  cli: string,
  dataFile: string | undefined,
  logFile: string,
  settings: TemporalSettings,
  inner: InnerPorts,
): Promise<Started> {
  const output = await open(logFile, "w", 0o600);
  // Detached: Ctrl-C reaches the whole foreground group, and the server must outlive the workers
  // that drain.
  const child = spawn(cli, argumentsOf(dataFile, settings, inner), {
    detached: true,
    stdio: ["ignore", output.fd, output.fd],
  });
  const exited = new Promise<string>((done) => {
    child.once("error", (error) => done(error.message));
    child.once("exit", (code, signal) => done(`ended with ${signal ?? code}`));
  });
  await output.close();
  if (dataFile !== undefined && child.pid !== undefined)
    await writeFile(pidFileOf(dataFile), `${child.pid}\n`);
  return { child, exited };
}

/** Returns undefined once the server serves the namespace, else the reason why it does not. */
async function untilReady(
  { child, exited }: Started,
  logFile: string,
  settings: TemporalSettings,
): Promise<string | undefined> {
  let ended: string | undefined;
  void exited.then((how) => {
    ended = how;
  });
  const end = performance.now() + readyLimitMs;
  // Loaded while the server starts, which takes longer.
  await import("@temporalio/client");
  let last = "no answer";
  let listeningSince = Number.POSITIVE_INFINITY;
  while (ended === undefined && performance.now() < end) {
    try {
      // After a closed port a client waits a second before its next try. A plain connection check
      // does not.
      if (await isListening(settings.port)) {
        listeningSince = Math.min(listeningSince, performance.now());
        const words = await logOf(logFile);
        if (words.includes(lostRace)) {
          last = "a service got no port";
          break;
        }
        if (allStarted.test(words) || performance.now() - listeningSince > allStartedLimitMs) {
          await prepareNamespace(settings);
          return undefined;
        }
      }
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await wait(50);
  }
  if (ended !== undefined) return ended;
  child.kill("SIGKILL");
  await exited;
  return last;
}

async function prepareNamespace({
  port,
  namespace,
  searchAttributes,
}: TemporalSettings): Promise<void> {
  const { Connection } = await import("@temporalio/client");
  const connection = await Connection.connect({
    address: `${localHost}:${port}`,
    connectTimeout: 2_000,
  });
  try {
    await connection.workflowService.describeNamespace({ namespace });
    // The flags register them on a new file. An older file may lack a newer one.
    await ensureSearchAttributes(connection, namespace, searchAttributes);
  } finally {
    await connection.close();
  }
}

async function running(
  { child, exited }: Started,
  dataFile: string | undefined,
  logFile: string,
  { port, uiPort, namespace }: TemporalSettings,
  inner: InnerPorts,
): Promise<EmbeddedTemporal> {
  const pid = child.pid;
  if (pid === undefined) throw new Error("the Temporal dev server answers but has no process");
  const guard =
    uiPort === undefined
      ? undefined
      : await guardHosts(uiPort, inner.ui).catch((error: unknown) => {
          child.kill("SIGKILL");
          throw error;
        });
  return {
    address: `${localHost}:${port}`,
    uiUrl: uiPort === undefined ? undefined : `http://${localHost}:${uiPort}`,
    namespace,
    pid,
    exited,
    lastWords: () => lastWordsOf(logFile),
    async stop() {
      await guard?.stop();
      if (await isAlive(pid)) await endProcess(pid, endSteps);
      await exited;
      await rm(dataFile === undefined ? logFile : pidFileOf(dataFile), { force: true });
    },
  };
}

async function lastWordsOf(logFile: string): Promise<string> {
  return (await logOf(logFile)).trimEnd().split("\n").slice(-10).join("\n");
}

function logOf(logFile: string): Promise<string> {
  return readFile(logFile, "utf8").catch(() => "");
}

function pidFileOf(dataFile: string): string {
  return `${dataFile}.pid`;
}

/** Stops the server that a killed predecessor left over this file. Otherwise does nothing. */
export async function stopLeftTemporal(file: string, log: (line: string) => void): Promise<void> {
  const dataFile = resolve(file);
  const pid = Number(await readFile(pidFileOf(dataFile), "utf8").catch(() => ""));
  if (!(pid > 0) || !(await commandOf(pid)).includes(`--db-filename ${dataFile} `)) return;
  log(`Temporal still runs from an earlier start (process ${pid}): stopping it`);
  await endProcess(pid, endSteps);
}
