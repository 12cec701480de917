/**
 * The memory of API and worker, built as they are shipped: idle after the start, during a mix of
 * requests at half of the sustained rate for ten minutes, idle afterwards, and with 10,000 held
 * connections. `npm run bench -- memory 60` takes an hour, the second argument is the number of
 * connections.
 *
 * Aim: 300 MB each and flat under load, 150 MB idle, and all connections held.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { buildPrograms } from "../test/support/built-programs.ts";
import { printFigure } from "./support/figure.ts";
import { createTenant, type RequestKind } from "./support/load/grown-tenant.ts";
import { holdConnections } from "./support/load/held-connections.ts";
import { type PacedLoad, startPacedLoad } from "./support/load/paced-load.ts";
import { type LoadedTenant, sendRequests, sustainedRate } from "./support/load/sustained.ts";
import { readingObserver } from "./support/probe/observer.ts";
import { type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";

const [minutes, connections] = [Number(process.argv[3] ?? 10), Number(process.argv[4] ?? 10_000)];

/** The mix, each at a third of its half rate: together they are half of what is sustained. */
const kinds = ["list", "create", "usage_batch100"] as const satisfies readonly RequestKind[];

const sampleMs = 2_000;

/** After this time a process without work has given back what it will. */
const idleMs = 10_000;

const subscriptions = 5_000;
const keyCount = 2_400;

/** Of the two processes that the aim is about. */
const programs = ["server", "worker"] as const;

type Program = (typeof programs)[number];

interface Sample {
  readonly atMs: number;
  readonly rssMb: number;
  readonly heapMb: number;
}

async function sample({ probes }: MeasuredSystem, program: Program): Promise<Sample> {
  const readings = (await probes?.send({ do: "read" })) ?? [];
  const threads = readings.filter((one) => one.program === program || isThreadOf(one, program));
  const heap = threads.reduce((sum, { heapBytes }) => sum + heapBytes, 0);
  const rss = threads.find(({ threadId }) => threadId === 0)?.rssBytes ?? 0;
  return { atMs: performance.now(), rssMb: rss / 1e6, heapMb: heap / 1e6 };
}

/** Only the worker has threads, whose program is the SDK's. */
function isThreadOf({ threadId }: { readonly threadId: number }, program: Program): boolean {
  return threadId !== 0 && program === "worker";
}

/** Megabytes an hour, by least squares. */
function slopeOf(samples: readonly Sample[], of: "rssMb" | "heapMb"): number {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const hours = samples.map(({ atMs }) => atMs / 3_600_000);
  const [middle, level] = [mean(hours), mean(samples.map((one) => one[of]))];
  let [above, below] = [0, 0];
  for (const [index, one] of samples.entries()) {
    const hour = (hours[index] ?? 0) - middle;
    above += hour * (one[of] - level);
    below += hour * hour;
  }
  return above / below;
}

/** Prints the parts of a process without work. */
async function printIdle(system: MeasuredSystem, name: string): Promise<void> {
  await wait(idleMs);
  await printParts(system, name, 150);
}

/**
 * Prints the whole memory of each process and its parts: files, which processes share, each
 * thread's heap of V8, and native memory, of which much may be free within malloc.
 */
async function printParts(system: MeasuredSystem, name: string, aimMb: number): Promise<void> {
  const readings = (await system.probes?.send({ do: "read" })) ?? [];
  for (const program of programs) {
    const threads = readings.filter((one) => one.program === program || isThreadOf(one, program));
    const main = threads.find(({ threadId }) => threadId === 0);
    if (main === undefined) continue;
    const print = (part: string, megabytes: number, aim?: number) =>
      printFigure(`memory_${name}_${program}_${part}`, megabytes, "MB", aim);
    const inFiles = await filesMb(main.pid);
    print("rss", main.rssBytes / 1e6, aimMb);
    print("files", inFiles);
    for (const { threadId, heapBytes, v8Bytes, newSpaceBytes } of threads) {
      print(`heap_thread_${threadId}`, heapBytes / 1e6);
      print(`v8_thread_${threadId}_new`, newSpaceBytes / 1e6);
      print(`v8_thread_${threadId}_rest`, (v8Bytes - newSpaceBytes) / 1e6);
    }
    const inV8 = threads.reduce((sum, { v8Bytes }) => sum + v8Bytes, 0);
    print("native", (main.rssBytes - inV8) / 1e6 - inFiles);
  }
}

/** The pages of programs and libraries. */
async function filesMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return (Number(/^RssFile:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) * 1_024) / 1e6;
}

async function underLoad(loads: readonly PacedLoad[], loaded: LoadedTenant): Promise<void> {
  const rates: number[] = [];
  for (const kind of kinds) rates.push(await sustainedRate(loaded, kind));
  const durationMs = minutes * 60_000;
  let isOver = false;
  const running = Promise.all(
    kinds.map(async (kind, place) => {
      const load = loads[place] ?? loaded.load;
      const perSecond = (rates[place] ?? 0) / 2 / kinds.length;
      const result = await sendRequests({ ...loaded, load }, kind, { durationMs, perSecond });
      printFigure(`memory_load_${kind}`, result.perSecond, "requests/s");
    }),
  ).finally(() => {
    isOver = true;
  });
  const samples: Readonly<Record<Program, Sample[]>> = { server: [], worker: [] };
  while (!isOver) {
    await Promise.race([running, wait(sampleMs)]);
    for (const program of programs) samples[program].push(await sample(loaded.system, program));
  }
  await running;
  await printParts(loaded.system, "load_end", 300);
  for (const program of programs) {
    const all = samples[program];
    const second = all.slice(Math.floor(all.length / 2));
    const most = Math.max(...all.map(({ rssMb }) => rssMb));
    printFigure(`memory_load_${program}_rss_most`, most, "MB", 300);
    printFigure(`memory_load_${program}_rss_slope`, slopeOf(second, "rssMb"), "MB/h");
    printFigure(`memory_load_${program}_heap_slope`, slopeOf(second, "heapMb"), "MB/h");
  }
}

/** The ratio of a figure is to its aim. */
export async function run(): Promise<void> {
  // From the sources, Node's compiler and the text of every file would count.
  const built = await buildPrograms();
  const system = await startMeasuredSystem({}, readingObserver, {
    api: join(built, "server.js"),
    worker: join(built, "worker.js"),
    demoLedger: fileURLToPath(new URL("../src/dev/demo-ledger/main.ts", import.meta.url)),
  });
  const loads = kinds.map(startPacedLoad);
  try {
    await printIdle(system, "started");
    const tenant = await createTenant(system, "Memory", keyCount);
    await tenant.growTo(subscriptions);
    const [load] = loads;
    if (load === undefined) return;
    await underLoad(loads, { system, load, tenant, requests: await tenant.requests(500) });
    await printIdle(system, "after_load");
    const held = await holdConnections(Number(new URL(system.baseUrl).port), connections);
    printFigure("memory_held_connections", held.answered, "connections", connections);
    await printIdle(system, "held");
    printFigure("memory_still_held_connections", held.open(), "connections", connections);
    held.stop();
  } finally {
    for (const load of loads) load.stop();
    await system.stop();
  }
}
