/**
 * Overlapping batches from many concurrent clients: each event is stored once, each client gets the
 * verdicts of its events only, and no two wait for each other. USAGE-3, USAGE-11.
 */
import type pg from "pg";
import { expect } from "vitest";
import type { ReportedUsage, UsageVerdict } from "../../src/domain/usage/ingest.ts";
import { instantOf, readQuantity } from "../../src/domain/usage/parse.ts";
import { createStore } from "../../src/store/tenant.ts";
import { type BillingFixture, billingFixture } from "../store/billing/billing-fixture.ts";
import { perFile, stopInTime } from "../support/file-fixture.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { testPool } from "../support/pool.ts";
import type { TestSystem } from "../support/system.ts";
import { aloneTest } from "./fixtures.ts";
import type { Json } from "./units-builder.ts";
import { addMeter, usageEvent } from "./usage-builder.ts";

const clients = 16;

/**
 * Events of a batch: the maximum over HTTP, fewer at the store, because each client has a hundred
 * of them.
 */
const [batchSize, storeBatchSize] = [100, 40];

/**
 * More than the number of clients: they wait for each other's rows, and a request that waits three
 * seconds for a connection is answered `temporarily_unavailable`.
 */
const connections = clients + 8;

const test = aloneTest
  .extend("settings", perFile, {
    without: ["worker"],
    env: { DATABASE_POOL_SIZE: String(connections) },
  })
  .extend("sandboxes", perFile, async ({ system }, { onCleanup }) => {
    const sandboxes = await billingFixture({
      url: system.databaseUrl,
      drop: async () => undefined,
    });
    onCleanup(() => stopInTime(() => sandboxes.drop()));
    return sandboxes;
  });

/** An organisation with a meter and seven subscriptions. */
async function organisation(
  system: TestSystem,
  sandboxes: BillingFixture,
): Promise<{
  readonly id: string;
  readonly subscriptions: readonly string[];
}> {
  const id = await sandboxes.sandbox("2026-05-10", { usage_allowed: true });
  await addMeter(system.pool, id);
  const subscriptions = [];
  for (let count = 0; count < 7; count += 1)
    subscriptions.push(await sandboxes.subscribe(id, { startDate: "2026-05-01" }));
  return { id, subscriptions };
}

/**
 * The serial numbers of a batch: windows over a ring of ids. Each client begins elsewhere and has
 * another step, so every id is in many batches, forwards and backwards.
 */
function serialsOf(client: number, batch: number, ring: number, size: number): readonly number[] {
  const from = (client * 7919 + batch * (37 + 10 * client)) % ring;
  const serials = Array.from({ length: size }, (_, index) => (from + index * 3) % ring);
  return client % 2 === 0 ? serials : serials.reverse();
}

/** One in ten says something else from each of three clients: the first of them counts. */
function quantityOf(serial: number, client: number): string {
  return serial % 10 === 0 ? String(1 + (client % 3)) : "1";
}

/** The verdicts that clients got over all of their batches. */
interface Verdicts {
  readonly counts: { created: number; duplicate: number; event_id_conflict: number };
  /** The content of each created event, and how often one was reported as created. */
  readonly created: Map<number, string[]>;
}

function note(received: Verdicts, serial: number, quantity: string, verdict: string): void {
  // Hundreds of thousands: each held by `expect` would take as long as all the rest.
  if (verdict === "created")
    received.created.set(serial, [...(received.created.get(serial) ?? []), quantity]);
  else if (verdict !== "duplicate" && verdict !== "event_id_conflict")
    expect.fail(`${serial}: ${verdict}`);
  received.counts[verdict] += 1;
}

/** Asserts that the events reported as created are the stored ones, each id once. */
async function expectStored(
  system: TestSystem,
  organisationId: string,
  received: Verdicts,
): Promise<void> {
  const { rows } = await system.pool.query<{ event_id: string; quantity: string }>(
    `SELECT event_id, trim_scale(quantity)::text AS quantity FROM usage_events
      WHERE organisation_id = $1 ORDER BY event_id`,
    [organisationId],
  );
  const stored = rows.map(({ event_id, quantity }) => [event_id, [quantity]]);
  const created = [...received.created].map(([serial, quantities]) => [idOf(serial), quantities]);
  expect(received.counts.created).toBe(received.created.size);
  expect(stored).toEqual(
    created.sort(([left], [right]) => (String(left) < String(right) ? -1 : 1)),
  );
}

const idOf = (serial: number): string => `event-${String(serial).padStart(8, "0")}`;

async function deadlocks(system: TestSystem): Promise<number> {
  const { rows } = await system.pool.query(
    "SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()",
  );
  return rows[0].deadlocks;
}

/** Sends a client's batches in sequence and adds their verdicts to `received`. */
async function report(
  pool: pg.Pool,
  { id, subscriptions }: Awaited<ReturnType<typeof organisation>>,
  {
    client,
    batches,
    ring,
  }: { readonly client: number; readonly batches: number; readonly ring: number },
  received: Verdicts,
): Promise<void> {
  const now = new Date("2026-05-10T12:00:00Z");
  const { usage } = createStore(pool).tenant(id, now);
  for (let batch = 0; batch < batches; batch += 1) {
    const serials = serialsOf(client, batch, ring, storeBatchSize);
    const reported = serials.map((serial): ReportedUsage => {
      const quantity = readQuantity(quantityOf(serial, client));
      if (quantity === null) throw new Error("not a quantity");
      return {
        eventId: idOf(serial),
        subscription: subscriptions[serial % subscriptions.length] ?? "",
        meter: { by: "code", value: "api-calls" },
        quantity,
        occurredAt: instantOf(new Date("2026-05-09T10:00:00Z")),
      };
    });
    const verdicts = await usage.report(reported, now);
    for (const [index, serial] of serials.entries()) {
      note(received, serial, quantityOf(serial, client), codeOf(verdicts[index]));
    }
  }
}

function codeOf(verdict: UsageVerdict | undefined): string {
  return verdict?.status === "rejected" ? verdict.code : (verdict?.status ?? "");
}

test("sixteen clients with overlapping batches create each id once, no deadlock", async ({
  system,
  sandboxes,
}) => {
  const batches = 100;
  const ring = 2_400;
  const own = await organisation(system, sandboxes);
  const received: Verdicts = {
    counts: { created: 0, duplicate: 0, event_id_conflict: 0 },
    created: new Map(),
  };
  const before = await deadlocks(system);
  const pools = Array.from({ length: 4 }, (_, index) =>
    testPool(system.databaseUrl, clients / 4, `client-${index}`),
  );
  try {
    await Promise.all(
      Array.from({ length: clients }, (_, client) =>
        report(pools[client % 4] as pg.Pool, own, { client, batches, ring }, received),
      ),
    );
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
  }
  const { created, duplicate, event_id_conflict } = received.counts;
  expect(created + duplicate + event_id_conflict).toBe(clients * batches * storeBatchSize);
  expect(created).toBeGreaterThan(ring / 2);
  expect(event_id_conflict).toBeGreaterThan(ring / 10);
  await expectStored(system, own.id, received);
  expect(await deadlocks(system)).toBe(before);
});

test("sixteen clients over HTTP get no 5xx, and as many created as distinct ids", async ({
  system,
  ask,
  sandboxes,
}) => {
  // Few: the many batches of each client are those above, at the store. Over HTTP a key has 120
  // requests a minute.
  const batches = 12;
  const ring = 1_500;
  const own = await organisation(system, sandboxes);
  const keys = await Promise.all(
    Array.from({ length: clients }, () =>
      addApiKey(system.pool, own.id, ["usage:write"], { livemode: false }),
    ),
  );
  const received: Verdicts = {
    counts: { created: 0, duplicate: 0, event_id_conflict: 0 },
    created: new Map(),
  };
  const one = async (client: number) => {
    for (let batch = 0; batch < batches; batch += 1) {
      const serials = serialsOf(client, batch, ring, batchSize);
      const events = serials.map((serial) =>
        usageEvent(
          own.subscriptions[serial % own.subscriptions.length] ?? "",
          "2026-05-09T10:00:00Z",
          {
            event_id: idOf(serial),
            quantity: quantityOf(serial, client),
          },
        ),
      );
      const { status, json, text } = await ask("POST", "/v1/usage_events", {
        key: keys[client]?.value ?? "",
        body: { events },
      });
      expect([200, 207], text).toContain(status);
      json.results.forEach(({ status: verdict, error }: Json, index: number) => {
        const serial = serials[index] ?? -1;
        note(received, serial, quantityOf(serial, client), error?.code ?? verdict);
      });
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => one(client)));
  expect(Object.values(received.counts).reduce((left, right) => left + right)).toBe(
    clients * batches * batchSize,
  );
  await expectStored(system, own.id, received);
});
