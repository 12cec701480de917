/**
 * Reports usage over REST in batches of 100, with many keys for many subscriptions. Measures
 * accepted, durable events a second if none, a tenth or all of them were stored before. Also the
 * duration of a batch at half of that load, and reports of one event. The floor is the same insert
 * as raw SQL in the same PostgreSQL.
 *
 * Aim: 40,000 a second on two cores that the load generator shares, and half of the floor. USAGE-1,
 * USAGE-2
 */
import assert from "node:assert/strict";
import { request } from "undici";
import { cpuSecondsUsed } from "./support/cpu.ts";
import { median, printFigure } from "./support/figure.ts";
import { startHttpFloor } from "./support/http-floor.ts";
import { publishAll } from "./support/publish-all.ts";
import { isShort } from "./support/short.ts";
import { type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";
import { addUsageFixture, requireStoredOnce, type UsageBuilder } from "./support/usage-fixture.ts";
import { createFloorTables, type FloorTable, insertBarely } from "./support/usage-floor.ts";
import {
  type Serials,
  startUsageLoad,
  type UsageLoad,
  type UsageLoadResult,
} from "./support/usage-load.ts";

/** Enough that PostgreSQL always has work: twice the service's own connections to it. */
const connections = 24;

/** The number with which the floor was fastest. */
const floorConnections = 8;

/** Service and floor alternate, so that other work on the machine affects both. */
const repetitions = 3;
const batchMs = 4_000;
const floorMs = 2_500;
const halfLoadMs = 6_000;

/** The speed of one batch of the service or of its floor. */
interface Speed {
  readonly perSecond: number;
  /**
   * By the processor time of everything except the load generator: the service, PostgreSQL, the
   * floor's client.
   */
  readonly perCpuSecond: number;
}

/** The state of the measurement: its parts, and what was sent and acknowledged so far. */
interface Measuring {
  readonly system: MeasuredSystem;
  readonly load: UsageLoad;
  readonly fixture: UsageBuilder;
  /** The next serial numbers, of the service's batches and of the floor's. */
  readonly next: { service: number; floor: number };
  /** Events that were acknowledged as new. */
  readonly acknowledged: { service: number; floor: number };
}

interface Reports {
  readonly of: "hundreds" | "singles";
  readonly ofHundred?: number;
  readonly stored?: Serials;
  readonly durationMs?: number;
  readonly perSecond?: number;
}

function duplicatesOf({ ofHundred, stored }: Reports) {
  return ofHundred === undefined || stored === undefined ? null : { ofHundred, stored };
}

interface ReportRun extends Speed {
  readonly result: UsageLoadResult;
  readonly loadShare: number;
}

/**
 * Sends reports to the service and adds up its answers. Rejects if a report failed, or if a stored
 * event was acknowledged as new. USAGE-3
 */
async function report(measuring: Measuring, reports: Reports): Promise<ReportRun> {
  const { system, load, fixture, next, acknowledged } = measuring;
  const cpuBefore = { all: cpuSecondsUsed(null), service: cpuSecondsUsed(load.pid) };
  const result = await load.run({
    port: Number(new URL(system.baseUrl).port),
    keys: fixture.keys,
    batches: fixture[reports.of],
    first: next.service,
    duplicates: duplicatesOf(reports),
    connections,
    durationMs: reports.durationMs ?? batchMs,
    perSecond: reports.perSecond ?? null,
  });
  const cpu = {
    all: cpuSecondsUsed(null) - cpuBefore.all,
    service: cpuSecondsUsed(load.pid) - cpuBefore.service,
  };
  assert.equal(result.failures, 0, result.failure ?? "");
  const events = result.created + result.duplicates;
  assert.equal(
    events,
    result.answers * (reports.of === "hundreds" ? 100 : 1),
    "every event has a result",
  );
  assert.equal(
    result.duplicates,
    result.resent,
    "exactly the stored events are reported as duplicates",
  );
  next.service += result.sent.count;
  acknowledged.service += result.created;
  return {
    result,
    perSecond: (events * 1_000) / result.elapsedMs,
    perCpuSecond: events / cpu.service,
    loadShare: (cpu.all - cpu.service) / cpu.all,
  };
}

interface FloorRun extends Speed {
  readonly sent: Serials;
}

async function insert(
  measuring: Measuring,
  reports: Reports,
  table: FloorTable = "usage_events",
): Promise<FloorRun> {
  const { system, fixture, next, acknowledged } = measuring;
  const cpuBefore = cpuSecondsUsed(null);
  const { sent, created, resent, events, elapsedMs } = await insertBarely(system.pool, {
    table,
    batches: fixture.floor[reports.of],
    first: next.floor,
    duplicates: duplicatesOf(reports),
    connections: floorConnections,
    durationMs: floorMs,
  });
  const cpu = cpuSecondsUsed(null) - cpuBefore;
  assert.equal(created, events - resent, "the floor stores what is new");
  next.floor += sent.count;
  if (table === "usage_events") acknowledged.floor += created;
  return { sent, perSecond: (events * 1_000) / elapsedMs, perCpuSecond: events / cpu };
}

function print(
  name: string,
  unit: string,
  service: readonly Speed[],
  floor: readonly Speed[],
): void {
  const middle = (of: readonly Speed[], by: keyof Speed) => median(of.map((speed) => speed[by]));
  printFigure(name, middle(service, "perSecond"), `${unit}/s`, middle(floor, "perSecond"));
  printFigure(
    `${name}_cpu`,
    middle(service, "perCpuSecond"),
    `${unit}/cpu-s`,
    middle(floor, "perCpuSecond"),
  );
}

/** Batches without and with duplicates, and their duration at half of the load. */
async function measureBatches(measuring: Measuring): Promise<void> {
  const fresh: { service: ReportRun[]; floor: FloorRun[] } = { service: [], floor: [] };
  for (let repetition = 0; repetition < repetitions; repetition++) {
    fresh.floor.push(await insert(measuring, { of: "hundreds" }));
    fresh.service.push(await report(measuring, { of: "hundreds" }));
  }
  print("usage_batch100", "events", fresh.service, fresh.floor);
  if (isShort) return;
  const stored = fresh.service.at(-1)?.result.sent;
  const storedByFloor = fresh.floor.at(-1)?.sent;
  assert(stored && storedByFloor);
  for (const ofHundred of [10, 100]) {
    const bare = await insert(measuring, { of: "hundreds", ofHundred, stored: storedByFloor });
    const repeated = await report(measuring, { of: "hundreds", ofHundred, stored });
    print(`usage_batch100_${ofHundred}pct_stored`, "events", [repeated], [bare]);
  }
  printFigure(
    "usage_load_cpu_share",
    100 * median(fresh.service.map(({ loadShare }) => loadShare)),
    "%",
  );
  const perSecond = median(fresh.service.map(({ perSecond }) => perSecond)) / 100 / 2;
  const half = await report(measuring, { of: "hundreds", durationMs: halfLoadMs, perSecond });
  printFigure("usage_half_load", half.perSecond, "events/s");
  printFigure("usage_half_load_p50", half.result.p50Ms, "ms");
  printFigure("usage_half_load_p99", half.result.p99Ms, "ms");
}

/** Reports of one event, with a commit for each. */
async function measureSingles(measuring: Measuring): Promise<void> {
  await report(measuring, { of: "singles", durationMs: 1_000 });
  const [bare, single]: [FloorRun[], ReportRun[]] = [[], []];
  for (let repetition = 0; repetition < repetitions; repetition++) {
    bare.push(await insert(measuring, { of: "singles" }));
    single.push(await report(measuring, { of: "singles" }));
  }
  print("usage_single", "requests", single, bare);
}

/** Variants of the floor, and the rate that HTTP alone could carry. */
async function measureParts(measuring: Measuring): Promise<void> {
  const { system, load, fixture } = measuring;
  await createFloorTables(system.pool);
  for (const table of ["usage_events_untriggered", "usage_events_unparted"] as const) {
    const { perSecond } = await insert(measuring, { of: "hundreds" }, table);
    printFigure(`usage_floor_${table.slice("usage_events_".length)}`, perSecond, "events/s");
  }
  const [batch] = fixture.hundreds;
  assert(batch);
  const floor = await startHttpFloor(200, await answerText(measuring), batch.body.length);
  try {
    const parameters = {
      keys: fixture.keys,
      batches: [batch],
      first: 0,
      duplicates: null,
      connections,
      perSecond: null,
    };
    const { answers, elapsedMs, failures } = await load.run({
      ...parameters,
      port: floor.port,
      durationMs: floorMs,
    });
    assert.equal(failures, 0);
    printFigure("usage_http_floor", (answers * 1_000) / elapsedMs, "batches/s");
  } finally {
    floor.stop();
  }
}

/** A whole answer to a batch, for the HTTP floor. */
async function answerText({ system, fixture, next, acknowledged }: Measuring): Promise<string> {
  const [batch] = fixture.hundreds;
  assert(batch);
  let text = "";
  let last = 0;
  for (const at of batch.idsAt) {
    text += batch.body.slice(last, at) + crypto.randomUUID().replaceAll("-", "");
    last = at + 32;
  }
  next.service++;
  const { statusCode, body } = await request(`${system.baseUrl}/v1/usage_events`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${fixture.keys[0]?.[0]}`,
      "content-type": "application/json",
    },
    body: text + batch.body.slice(last),
  });
  const answer = await body.text();
  assert.equal(statusCode, 200, answer);
  acknowledged.service += 100;
  return answer;
}

/**
 * Prints the figures. Rejects unless exactly the events that were acknowledged as new are stored,
 * each once.
 */
export async function run(): Promise<void> {
  const system = await startMeasuredSystem();
  const load = startUsageLoad();
  try {
    const fixture = await addUsageFixture(system);
    await publishAll(system);
    const measuring = {
      system,
      load,
      fixture,
      next: { service: 0, floor: 0 },
      acknowledged: { service: 0, floor: 0 },
    };
    // Warms up the compilers, and gives PostgreSQL statistics for its plans.
    await insert(measuring, { of: "hundreds" });
    await report(measuring, { of: "hundreds" });
    await system.pool.query("ANALYZE");
    await measureBatches(measuring);
    await measureSingles(measuring);
    if (!isShort) await measureParts(measuring);
    await requireStoredOnce(
      system.databaseUrl,
      fixture.organisationIds,
      measuring.acknowledged.service,
    );
    await requireStoredOnce(
      system.databaseUrl,
      fixture.floor.organisationIds,
      measuring.acknowledged.floor,
    );
    printFigure("usage_stored_once", measuring.acknowledged.service, "events");
  } finally {
    load.stop();
    await system.stop();
  }
}
