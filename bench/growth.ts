/**
 * The cost of each kind of work at 1,000, 10,000 and 100,000 subscriptions of one organisation:
 * create, list, change units, store usage, renew and deliver. Each subscription has ten invoices,
 * ten usage events and a delivered event. The cost is the processor time of PostgreSQL, API and
 * worker, and the time, pages and log records of the statements. `--most 1000000` adds a step with
 * 10,000,000 invoices: about 30 GB of disk and half an hour.
 *
 * Aim: no cost grows to more than 1.3 times that of the first step.
 */
import { cpuSecondsByPart } from "./support/cpu.ts";
import { addDueSubscriptions } from "./support/due-subscriptions.ts";
import { printFigure } from "./support/figure.ts";
import { createTenant, type RequestKind, requestKinds } from "./support/load/grown-tenant.ts";
import { startPacedLoad } from "./support/load/paced-load.ts";
import { type LoadedTenant, sendRequests } from "./support/load/sustained.ts";
import {
  type Deliveries,
  deliverEvents,
  renewDue,
  startDeliveries,
} from "./support/load/worker-work.ts";
import { readingObserver } from "./support/probe/observer.ts";
import { readStatements, resetStatements, shortText } from "./support/probe/statements.ts";
import { type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";

/** The numbers of subscriptions, each with its name in figures. */
const steps = [
  { name: "1k", subscriptions: 1_000 },
  { name: "10k", subscriptions: 10_000 },
  { name: "100k", subscriptions: 100_000 },
  { name: "1m", subscriptions: 1_000_000 },
] as const;

/** How much of each work is measured: seconds of processor time, far above what is idle. */
const counts: Readonly<Record<RequestKind | "renew" | "deliver", number>> = {
  list: 1_500,
  create: 400,
  units: 400,
  usage_single: 1_000,
  usage_batch100: 200,
  renew: 1_000,
  deliver: 1_000,
};

/** Fewer than both cores carry, so that nothing waits. */
const connections = 4;

/** In the first step, the code of each kind is compiled before it counts. */
const warmUpShare = 1;

const keyCount = 600;

/** The cost of one piece of work. */
interface Cost {
  readonly cpuMs: number;
  readonly postgresMs: number;
  readonly statementMs: number;
  readonly buffers: number;
  readonly walRecords: number;
}

/** The figures of a cost, with their units. */
const costs = [
  ["cpuMs", "cpu", "cpu-ms"],
  ["postgresMs", "postgresql", "cpu-ms"],
  ["statementMs", "statements", "ms"],
  ["buffers", "buffers", "pages"],
  ["walRecords", "wal", "records"],
] as const satisfies readonly (readonly [keyof Cost, string, string])[];

/** Statements whose mean grew by more than this are printed. */
const aim = 1.3;

/** What a step came to: its cost, and the mean time and pages of each statement by its text. */
interface Measured {
  readonly cost: Cost;
  readonly statements: ReadonlyMap<string, { readonly calls: number; readonly buffers: number }>;
}

async function measure(
  system: MeasuredSystem,
  count: number,
  work: () => Promise<unknown>,
): Promise<Measured> {
  await resetStatements(system.pool);
  const before = cpuSecondsByPart();
  await work();
  const after = cpuSecondsByPart();
  const statements = await readStatements(system.pool, "postgres");
  const top = statements.filter(({ isTop }) => isTop);
  const sum = (of: (one: (typeof top)[number]) => number) =>
    top.reduce((total, one) => total + of(one), 0) / count;
  const used = (part: "postgresql" | "api" | "worker") =>
    (1_000 * (after[part] - before[part])) / count;
  return {
    cost: {
      cpuMs: used("postgresql") + used("api") + used("worker"),
      postgresMs: used("postgresql"),
      statementMs: sum(({ totalMs }) => totalMs),
      buffers: sum(({ buffers }) => buffers),
      walRecords: sum(({ walRecords }) => walRecords),
    },
    statements: new Map(
      statements.map(({ text, calls, buffers }) => [text, { calls, buffers: buffers / calls }]),
    ),
  };
}

function print(work: string, step: string, now: Measured, first: Measured): void {
  for (const [key, name, unit] of costs) {
    printFigure(`growth_${work}_${name}_${step}`, now.cost[key], unit, first.cost[key]);
  }
  for (const [text, { calls, buffers }] of now.statements) {
    const before = first.statements.get(text);
    if (before === undefined || calls < 10 || buffers < 20) continue;
    const ratio = buffers / before.buffers;
    if (ratio < aim) continue;
    const pages = `${before.buffers.toFixed(0)} to ${buffers.toFixed(0)} pages a call`;
    console.log(`  grew: ${pages}, ${calls} calls: ${shortText(text, 110)}`);
  }
}

/** Performs each kind of work at one size. Returns what each came to. */
async function measureStep(
  loaded: LoadedTenant,
  deliveries: Deliveries,
  isFirst: boolean,
): Promise<ReadonlyMap<string, Measured>> {
  const { system, tenant } = loaded;
  const all = new Map<string, Measured>();
  for (const kind of requestKinds) {
    const send = (most: number) =>
      sendRequests(loaded, kind, { durationMs: 300_000, perSecond: null, most, connections });
    await send(isFirst ? counts[kind] * warmUpShare : connections);
    all.set(kind, await measure(system, counts[kind], () => send(counts[kind])));
  }
  const renew = () => renewDue(system, tenant.organisationId);
  const deliver = () => deliverEvents(system, deliveries);
  // The first time compiles the code, and no size has anything else before the counted one.
  for (const counted of [false, true]) {
    await renew();
    await addDueSubscriptions(system.pool, tenant.organisationId, counts.renew);
    const renewed = await measure(system, counts.renew, renew);
    await deliveries.add(counts.deliver);
    const delivered = await measure(system, counts.deliver, deliver);
    if (counted) all.set("renew", renewed).set("deliver", delivered);
  }
  return all;
}

function mostWanted(): number {
  const at = process.argv.indexOf("--most");
  return at === -1 ? 100_000 : Number(process.argv[at + 1]);
}

/** Prints each cost against that of the first step, and the statements that read more pages. */
export async function run(): Promise<void> {
  const system = await startMeasuredSystem({}, readingObserver);
  const load = startPacedLoad();
  const deliveries = await startDeliveries(system);
  try {
    const tenant = await createTenant(system, "Grown", keyCount);
    let first: ReadonlyMap<string, Measured> | null = null;
    for (const { name, subscriptions } of steps) {
      if (subscriptions > mostWanted()) break;
      const beganMs = performance.now();
      await deliveries.addHistory(subscriptions);
      await tenant.growTo(subscriptions);
      const seconds = (performance.now() - beganMs) / 1_000;
      printFigure(`growth_seconds_to_insert_${name}`, seconds, "s");
      const loaded = { system, load, tenant, requests: await tenant.requests(400) };
      const all = await measureStep(loaded, deliveries, first === null);
      first ??= all;
      for (const [work, measured] of all) print(work, name, measured, first.get(work) ?? measured);
    }
  } finally {
    load.stop();
    await deliveries.receiver.stop();
    await system.stop();
  }
}
