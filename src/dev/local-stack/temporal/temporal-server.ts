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
import { ensureSearchAttributes } from "../../../worker/temporal/search-attributes.ts";
import { privateFolder } from "../private-folder.ts";
import { assertPortsFree, isListening, localHost } from "../processes/ports.ts";
import { commandOf, endProcess, isAlive } from "../processes/process.ts";
import { linesInto } from "../progress-line.ts";
import { anyFreePort, guardHosts } from "./own-hosts-only.ts";
import { findTemporalCli } from "./temporal-cli.ts";

/**
 * The settings of `startTemporal`. Without `dataFile` nothing is kept. Without `uiPort` there is no
 * Web UI.
 */
interface TemporalSettings {
  readonly dataFile?: string;
  readonly port: number;
  readonly uiPort?: number;
  readonly namespace: string;
  readonly searchAttributes: readonly string[];
  /** Further settings of the server, as `name=value`. */
  readonly dynamicConfig?: readonly string[];
  readonly log: (line: string) => void;
}

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

/**
 * A dev server has one history shard, which reads its queues at most 20 times a second by default.
 * Three reads a workflow then cost 150 ms. With these settings a workflow of one activity takes 34
 * ms. They are for the dev server only; a production cluster has 512 shards.
 */
const dynamicConfig = [
  "history.transferProcessorMaxPollRPS=2000",
  "history.timerProcessorMaxPollRPS=2000",
  "history.visibilityProcessorMaxPollRPS=200",
];

/**
 * The server's HTTP API has no credentials, accepts a web page's simple requests and cannot be
 * turned off. No part uses it, so its only accepted Host is one that no request can carry. This
 * machine's own names are refused too, because a page of another site sends those.
 */
const noHost = 'frontend.httpAllowedHosts=["no host at all"]';

/** Without a write-ahead log a file database halves the throughput. */
const pragmas = ["journal_mode=WAL", "synchronous=NORMAL"];

/** It serves after 1 to 2 s. The rest is for a machine under load. */
const readyLimitMs = 60_000;

/** It drains its services on SIGTERM within a second or two. */
const endSteps = [{ signal: "SIGTERM", limitMs: 10_000 }] as const;

/** The server picks ports for its inner services itself and may lose a race for one. */
const tries = 3;

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
    const problem = await untilReady(started, settings);
    if (problem === undefined) return running(started, dataFile, logFile, settings, inner);
    const words = await lastWordsOf(logFile);
    if (!words.includes("address already in use") || attempt === tries) {
      throw new Error(
        `The Temporal dev server did not start (${problem}). Its last words:\n${words}`,
      );
    }
  }
}

/** Ports that the server needs and that are not published. */
interface InnerPorts {
  readonly http: number;
  readonly ui: number;
}

function argumentsOf(
  dataFile: string | undefined,
  settings: TemporalSettings,
  inner: InnerPorts,
): string[] {
  const args = [
    "server",
    "start-dev",
    "--ip",
    localHost,
    "--port",
    String(settings.port),
    "--namespace",
    settings.namespace,
    "--http-port",
    String(inner.http),
  ];
  if (settings.uiPort === undefined) args.push("--headless");
  else args.push("--ui-port", String(inner.ui), "--ui-disable-news-fetch");
  if (dataFile !== undefined) args.push("--db-filename", dataFile);
  // The server accepts pragmas for a file only.
  if (dataFile !== undefined) for (const pragma of pragmas) args.push("--sqlite-pragma", pragma);
  const values = [...dynamicConfig, noHost, ...(settings.dynamicConfig ?? [])];
  for (const value of values) args.push("--dynamic-config-value", value);
  for (const name of settings.searchAttributes) args.push("--search-attribute", `${name}=Keyword`);
  return [...args, "--log-level", "error"];
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
  while (ended === undefined && performance.now() < end) {
    try {
      // After a closed port a client waits a second before its next try. A plain connection check
      // does not.
      if (await isListening(settings.port)) {
        await prepareNamespace(settings);
        return undefined;
      }
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await wait(50);
  }
  if (ended === undefined) child.kill("SIGKILL");
  return ended ?? last;
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
  const text = await readFile(logFile, "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-10).join("\n");
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
