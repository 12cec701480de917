/**
 * The cost of each kind of work at 10,000 and 100,000 subscriptions of one organisation against
 * that at 1,000: create, list, change units, store usage, renew and deliver. Each subscription has
 * ten invoices, ten usage events and a delivered event. The cost is the processor time of
 * PostgreSQL, API and worker, and the time, pages and log records of the statements. `--most
 * 1000000` adds a step with 10,000,000 invoices: about 30 GB of disk and half an hour. `--events
 * 1000` gives each subscription so many usage events.
 *
 * Aim: no cost grows to more than 1.3 times. Both sizes run at the same time and are measured in
 * turn, because the speed of a machine changes more than that within half an hour. Each work begins
 * right after a checkpoint, when PostgreSQL logs each page whole at its first change: the dearest
 * moment. `--shared-buffers 4GB` shows how much of a growth is pages that are not in its memory.
 * `growth list renew` measures these works alone, and `--pairs 3` each pair three times.
 */
import assert from "node:assert/strict";
import { childProcesses } from "./support/cpu.ts";
import { addDueSubscriptions } from "./support/due-subscriptions.ts";
import { printFigure } from "./support/figure.ts";
import {
  createTenant,
  type GrownTenant,
  type RequestKind,
  requestKinds,
} from "./support/load/grown-tenant.ts";
import {
  type CountedSystem,
  type Measured,
  measure,
  printGrowth,
} from "./support/load/growth-cost.ts";
import { type PacedLoad, startPacedLoad } from "./support/load/paced-load.ts";
import { sendRequests } from "./support/load/sustained.ts";
import {
  type Deliveries,
  deliverEvents,
  renewDue,
  startDeliveries,
} from "./support/load/worker-work.ts";
import { addLogReading, logSettings } from "./support/probe/logged-pages.ts";
import { type Observer, readingObserver } from "./support/probe/observer.ts";
import { startMeasuredSystem } from "./support/system.ts";

/** The size that all others are compared with. */
const firstSubscriptions = 1_000;

/** The numbers of subscriptions, each with its name in figures. */
const steps = [
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

const keyCount = 600;

/** A service with one grown organisation. */
interface Sized extends CountedSystem {
  readonly tenant: GrownTenant;
  readonly deliveries: Deliveries;
  growTo(subscriptions: number): Promise<void>;
  stop(): Promise<void>;
}

async function startSized(observer: Observer, events: number | undefined): Promise<Sized> {
  const before = childProcesses();
  const system = await startMeasuredSystem({}, observer);
  const processes = new Set([...childProcesses()].filter((pid) => !before.has(pid)));
  const deliveries = await startDeliveries(system);
  const stop = async () => {
    await deliveries.receiver.stop();
    await system.stop();
  };
  try {
    await addLogReading(system.pool);
    const tenant = await createTenant(system, "Grown", keyCount, events);
    const growTo = async (subscriptions: number) => {
      await deliveries.addHistory(subscriptions);
      await tenant.growTo(subscriptions);
    };
    return { system, processes, tenant, deliveries, growTo, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A work, measured at one size: the same for both sizes, one right after the other. */
type Work = (sized: Sized) => Promise<Measured>;

function requestWork(load: PacedLoad, kind: RequestKind, isFirst: boolean): Work {
  return async (sized) => {
    const { system, tenant } = sized;
    const loaded = { system, load, tenant, requests: await tenant.requests(400) };
    const send = (most: number) =>
      sendRequests(loaded, kind, { durationMs: 300_000, perSecond: null, most, connections });
    // In the first step the code of each kind is compiled before it counts.
    await send(isFirst ? counts[kind] : connections);
    return measure(sized, counts[kind], () => send(counts[kind]));
  };
}

/** The first time compiles the code, so it does not count. */
const renewals: Work = async (sized) => {
  const { system, tenant } = sized;
  const renew = async (): Promise<Measured> => {
    await addDueSubscriptions(system.pool, tenant.organisationId, counts.renew);
    let left = 0;
    const measured = await measure(sized, counts.renew, async () => {
      left = await renewDue(system, tenant.organisationId);
    });
    return left === counts.renew ? measured : renew();
  };
  await renewDue(system, tenant.organisationId);
  await renew();
  return renew();
};

const delivered: Work = async (sized) => {
  const { system, deliveries } = sized;
  const deliver = async () => {
    await deliveries.add(counts.deliver);
    return measure(sized, counts.deliver, () => deliverEvents(system, deliveries));
  };
  await deliver();
  return deliver();
};

/** The value after this word of the command, or null. */
function optionOf(name: string): string | null {
  const at = process.argv.indexOf(name);
  return at === -1 ? null : (process.argv[at + 1] ?? null);
}

/** The works that the command names before its first option, or all. */
function wantedWorks<T>(works: readonly (readonly [string, T])[]): typeof works {
  const words = process.argv.slice(3);
  const option = words.findIndex((one) => one.startsWith("--"));
  const names = option === -1 ? words : words.slice(0, option);
  const wanted = works.filter(([name]) => names.length === 0 || names.includes(name));
  assert(wanted.length >= names.length, `works are ${works.map(([name]) => name).join(", ")}`);
  return wanted;
}

/** Prints each cost against that of the first size, and the statements that read more pages. */
export async function run(): Promise<void> {
  const most = Number(optionOf("--most") ?? 100_000);
  const pairs = Number(optionOf("--pairs") ?? 1);
  const events = Number(optionOf("--events") ?? 0) || undefined;
  const memory = optionOf("--shared-buffers");
  const settings = { ...logSettings, ...(memory && { shared_buffers: memory }) };
  const observer: Observer = { ...readingObserver, settings };
  const started: Sized[] = [];
  const load = startPacedLoad();
  try {
    const small = await startSized(observer, undefined);
    started.push(small);
    await small.growTo(firstSubscriptions);
    const grown = await startSized(observer, events);
    started.push(grown);
    for (const [step, { name, subscriptions }] of steps.entries()) {
      if (subscriptions > most) break;
      const beganMs = performance.now();
      await grown.growTo(subscriptions);
      const seconds = (performance.now() - beganMs) / 1_000;
      printFigure(`growth_seconds_to_insert_${name}`, seconds, "s");
      const works: readonly (readonly [string, Work])[] = [
        ...requestKinds.map((kind) => [kind, requestWork(load, kind, step === 0)] as const),
        ["renew", renewals],
        ["deliver", delivered],
      ];
      for (const [work, perform] of wantedWorks(works)) {
        for (let pair = 1; pair <= pairs; pair += 1) {
          const first = await perform(small);
          printGrowth(work, pairs === 1 ? name : `${name}_${pair}`, await perform(grown), first);
        }
      }
    }
  } finally {
    load.stop();
    for (const sized of started) await sized.stop();
  }
}
