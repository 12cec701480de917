/**
 * The slowest hundredth: each kind of request at half of its sustained rate, measured from the
 * intended start. Then the renewal of 1,000 subscriptions, and 1,000 deliveries. Prints the longest
 * pause of the event loops and the slowest statement of each.
 *
 * Aim: p99 within five times p50, no pause over 50 ms, no statement over 100 ms.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { scheduleIds } from "../src/worker/temporal/schedules.ts";
import { addDueSubscriptions } from "./support/due-subscriptions.ts";
import { printFigure } from "./support/figure.ts";
import { createTenant, kindsNamed, type RequestKind } from "./support/load/grown-tenant.ts";
import { startPacedLoad } from "./support/load/paced-load.ts";
import { type LoadedTenant, sendRequests, sustainedRate } from "./support/load/sustained.ts";
import { deliverEvents, renewDue, startDeliveries } from "./support/load/worker-work.ts";
import { watchDisk } from "./support/probe/disk.ts";
import { readNewLogFiles } from "./support/probe/new-log-files.ts";
import { readingObserver } from "./support/probe/observer.ts";
import { readStatements, resetStatements, shortText } from "./support/probe/statements.ts";
import { type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";

/** `npm run bench -- tail 1000` takes fewer subscriptions. */
const subscriptions = Number(process.argv[3] ?? 10_000);

/** `npm run bench -- tail 10000 list` measures these kinds of requests alone. */
const wantedKinds = process.argv.slice(4);

/** Enough for a hundred requests above the 99th percentile of the fast kinds. */
const halfRateMs = 15_000;

/** Over all kinds at their rates: far more than the limit of 120 requests a minute each. */
const keyCount = 2_400;

/** Subscriptions and deliveries of the worker's part. */
const workCount = 1_000;

async function watch(system: MeasuredSystem): Promise<void> {
  await system.probes?.send({ do: "watch pauses" });
  await resetStatements(system.pool);
}

/** Prints the pauses of each thread, and the slowest statement of the service. */
async function printPauses(system: MeasuredSystem, name: string): Promise<void> {
  for (const one of (await system.probes?.send({ do: "read" })) ?? []) {
    if (one.longestPauseMs === null || one.program === "demo-ledger") continue;
    const thread = one.threadId === 0 ? one.program : `${one.program}_${one.threadId}`;
    printFigure(`tail_${name}_pause_${thread}`, one.longestPauseMs, "ms", 50);
    printFigure(`tail_${name}_busy_${thread}`, one.longestBusyMs ?? Number.NaN, "cpu-ms", 50);
  }
  const statements = await readStatements(system.pool, "postgres");
  const [slowest] = statements.filter(({ isTop }) => isTop).toSorted((a, b) => b.maxMs - a.maxMs);
  if (slowest === undefined) return;
  printFigure(`tail_${name}_slowest_statement`, slowest.maxMs, "ms", 100);
  console.log(`  mean ${slowest.meanMs.toFixed(2)} ms: ${shortText(slowest.text, 120)}`);
}

async function measureRequests(loaded: LoadedTenant, kinds: readonly RequestKind[]): Promise<void> {
  for (const kind of kinds) {
    const perSecond = await sustainedRate(loaded, kind);
    printFigure(`tail_${kind}_sustained`, perSecond, "requests/s");
    await watch(loaded.system);
    const pace = { durationMs: halfRateMs, perSecond: perSecond / 2 };
    const pauses = monitorEventLoopDelay({ resolution: 5 });
    pauses.enable();
    const endDisk = await watchDisk();
    const logFiles = await readNewLogFiles(loaded.system.pool);
    const { p50Ms, p99Ms, worstMs, slowMoments, pauseMs } = await sendRequests(loaded, kind, pace);
    pauses.disable();
    const disk = await endDisk();
    printFigure(`tail_${kind}_p50`, p50Ms, "ms");
    printFigure(`tail_${kind}_p99`, p99Ms, "ms", p50Ms);
    printFigure(`tail_${kind}_worst`, worstMs, "ms", p50Ms);
    printFigure(`tail_${kind}_slow_moments`, slowMoments, "tenths of a second");
    printFigure(`tail_${kind}_pause_load`, pauseMs, "ms", 50);
    // This process only waits. What it pauses, the machine paused.
    printFigure(`tail_${kind}_pause_idle`, pauses.max / 1e6, "ms", 50);
    // Stored pages of this process alone. What the longest pauses, the disk paused.
    printFigure(`tail_${kind}_disk_p50`, disk.p50Ms, "ms");
    printFigure(`tail_${kind}_disk_longest`, disk.longestMs, "ms", p50Ms);
    const { count, ms } = await readNewLogFiles(loaded.system.pool);
    printFigure(`tail_${kind}_new_log_files`, count - logFiles.count, "files");
    printFigure(`tail_${kind}_new_log_files_took`, ms - logFiles.ms, "ms");
    await printPauses(loaded.system, kind);
  }
}

/** The ratio of a p99 is to its p50, of a pause and a statement to its aim. */
export async function run(): Promise<void> {
  const kinds = kindsNamed(wantedKinds);
  const system = await startMeasuredSystem({}, readingObserver);
  const load = startPacedLoad();
  try {
    const tenant = await createTenant(system, "Tail", keyCount);
    await tenant.growTo(subscriptions);
    // The first run of each loads code: a third of a second of both processors.
    for (const scheduleId of scheduleIds) await system.runSchedule(scheduleId);
    await measureRequests({ system, load, tenant, requests: await tenant.requests(500) }, kinds);
    await addDueSubscriptions(system.pool, tenant.organisationId, workCount);
    await watch(system);
    await renewDue(system, tenant.organisationId);
    await printPauses(system, "renew");
    const deliveries = await startDeliveries(system);
    try {
      await deliveries.add(workCount);
      await watch(system);
      await deliverEvents(system, deliveries);
      await printPauses(system, "deliver");
    } finally {
      await deliveries.receiver.stop();
    }
  } finally {
    load.stop();
    await system.stop();
  }
}
