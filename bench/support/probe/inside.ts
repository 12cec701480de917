/**
 * Runs inside a measured process, loaded before its program by NODE_OPTIONS. Obeys commands over a
 * socket file: a processor profile, the pauses of the event loop, and memory. Each thread has its
 * own socket.
 */
import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
import { threadId } from "node:worker_threads";

/** The name of the environment's setting with the folder of the sockets. */
export const folderSetting = "BENCH_PROBE_FOLDER";

/** A command. `file` is where the profile is written. */
export type ProbeCommand =
  | { readonly do: "start profile" }
  | { readonly do: "stop profile"; readonly file: string }
  | { readonly do: "watch pauses" }
  | { readonly do: "collect garbage" }
  | { readonly do: "read" };

/** What a thread reports of itself after each command. */
export interface ProbeReading {
  /** The program's file without its extension: `server`, `worker`. */
  readonly program: string;
  readonly pid: number;
  readonly threadId: number;
  /** Of the whole process. */
  readonly rssBytes: number;
  /** Of this thread. */
  readonly heapBytes: number;
  readonly externalBytes: number;
  /** What V8 keeps for this thread: in memory, in use or not. */
  readonly v8Bytes: number;
  /** Its part for new objects. */
  readonly newSpaceBytes: number;
  /** Of the whole process, since its start. */
  readonly cpuSeconds: number;
  /** The longest pause of this thread's event loop since `watch pauses`, in milliseconds. */
  readonly longestPauseMs: number | null;
  /**
   * The longest by this thread's own processor time: without the time in which other work had the
   * processor.
   */
  readonly longestBusyMs: number | null;
}

/** How often the event loop is sampled. A pause shorter than this is not seen. */
const resolutionMs = 2;

/** Twenty samples in the time of a usual request. */
const profileMicroseconds = 250;

let session: Session | null = null;
let pauses: ReturnType<typeof monitorEventLoopDelay> | null = null;
let longestBusyMs: number | null = null;

async function startProfile(): Promise<void> {
  session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: profileMicroseconds });
  await session.post("Profiler.start");
}

async function stopProfile(file: string): Promise<void> {
  if (session === null) return;
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  session = null;
  await writeFile(file, JSON.stringify(profile));
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Measures the processor time between two turns of the event loop's timers. */
function watchBusy(): void {
  let beforeMs = threadCpuMs();
  setInterval(() => {
    const nowMs = threadCpuMs();
    longestBusyMs = Math.max(longestBusyMs ?? 0, nowMs - beforeMs);
    beforeMs = nowMs;
  }, resolutionMs).unref();
}

function watchPauses(): void {
  if (pauses === null) watchBusy();
  pauses ??= monitorEventLoopDelay({ resolution: resolutionMs });
  pauses.enable();
  pauses.reset();
  longestBusyMs = 0;
}

/** The histogram counts the interval of its timer too. */
function pauseMs(nanoseconds: number | undefined): number | null {
  return nanoseconds === undefined ? null : Math.max(0, nanoseconds / 1e6 - resolutionMs);
}

function newSpaceBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return space?.physical_space_size ?? 0;
}

function read(): ProbeReading {
  const { rss, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const script = process.argv[1] ?? "";
  const name = basename(script).replace(/\.[jt]s$/, "");
  return {
    program: name === "main" ? basename(dirname(script)) : name,
    pid: process.pid,
    threadId,
    rssBytes: rss,
    heapBytes: heapUsed,
    externalBytes: external,
    v8Bytes: getHeapStatistics().total_physical_size,
    newSpaceBytes: newSpaceBytes(),
    cpuSeconds: (user + system) / 1e6,
    longestPauseMs: pauseMs(pauses?.max),
    longestBusyMs,
  };
}

/** Performs a command in this thread. The bench's own process calls it directly. */
export async function obey(command: ProbeCommand): Promise<ProbeReading> {
  if (command.do === "start profile") await startProfile();
  if (command.do === "stop profile") await stopProfile(command.file);
  if (command.do === "watch pauses") watchPauses();
  if (command.do === "collect garbage") globalThis.gc?.();
  return read();
}

function listen(folder: string): void {
  const server = createServer((socket) => {
    socket.unref();
    socket.on("error", () => undefined);
    socket.once("data", async (line) => {
      const reading = await obey(JSON.parse(String(line)) as ProbeCommand);
      socket.end(JSON.stringify(reading));
    });
  });
  // The process must neither live longer nor fail because it is measured.
  server.on("error", () => undefined);
  server.listen(join(folder, `${process.pid}-${threadId}.sock`)).unref();
}

const folder = process.env[folderSetting];
if (folder) listen(folder);
