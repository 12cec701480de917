/**
 * UsageService over the wire: usage with the documents that bill it, and voided events. USAGE-13
 */
import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { billChunk } from "../../../src/store/billing/billing-run.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { addMeter } from "../../scenario/usage-builder.ts";
import { type BillingFixture, billingFixture } from "../../store/billing/billing-fixture.ts";
import { setOrganisation } from "../../support/rows.ts";
import { type Answered, startSystem, type TestSystem } from "../../support/system.ts";
import { type AdminAsk, askWith, codeOf } from "./request.ts";

let system: TestSystem;
let fixture: BillingFixture;
let admin: AdminAsk;
let reader: AdminAsk;

beforeAll(async () => {
  system = await startSystem({ without: ["worker"] });
  fixture = await billingFixture({ url: system.databaseUrl, drop: async () => undefined });
  admin = askWith(system, await system.operator("admin", "Ada"));
  reader = askWith(system, await system.operator("read-only", "Rita"));
});

afterAll(async () => {
  await fixture?.drop();
  await system?.stop();
});

type Json = Answered["json"];
/** Id, quantity and timestamp of an event, by default of the meter `api-calls`. */
type Event = readonly [id: string, quantity: string, timestamp: string, meter?: string];

/**
 * A sandbox in the middle of April: calls cost 0.50 each; of storage up to ten cost 1.00 each, from
 * eleven on all of it 0.50.
 */
async function sandbox(changes: Record<string, unknown> = {}): Promise<string> {
  const id = await fixture.sandbox("2026-04-16", changes);
  await addMeter(fixture.pool, id);
  const bands = [
    [10, "1.00", null],
    [null, "0.50", null],
  ] as const;
  await addMeter(fixture.pool, id, {
    code: "storage",
    name: "Storage",
    unitLabel: "GB",
    type: "volume",
    tiers: bands,
  });
  return id;
}

const inApril = { startDate: "2026-04-01" };

/** What became of each event, by the organisation's clock. */
async function report(
  organisation: string,
  subscription: string,
  events: readonly Event[],
): Promise<readonly string[]> {
  const { rows } = await fixture.pool.query("SELECT test_clock FROM organisations WHERE id = $1", [
    organisation,
  ]);
  const reported = events.map(([eventId, quantity, timestamp, meter = "api-calls"]) => {
    const [read, occurredAt] = [readQuantity(quantity), readTimestamp(timestamp)];
    assert(read !== null && occurredAt !== null);
    return {
      eventId,
      subscription,
      meter: { by: "code", value: meter } as const,
      quantity: read,
      occurredAt,
    };
  });
  const verdicts = await createStore(fixture.pool)
    .tenant(organisation, rows[0].test_clock)
    .usage.report(reported, rows[0].test_clock);
  return verdicts.map((verdict) => (verdict.status === "rejected" ? verdict.code : verdict.status));
}

/** Moves the clock, and performs what is due by then. */
async function billOn(organisation: string, day: string): Promise<void> {
  await fixture.setClock(organisation, day);
  await fixture.bill(organisation);
}

/**
 * All usage of a subscription, page by page: period, meter, state, events, quantity, late, amount
 * and document of each.
 */
async function usageOf(
  organisation: string,
  subscription: string,
  filter: object = {},
): Promise<readonly string[]> {
  const listed: string[] = [];
  let page: object = {};
  for (;;) {
    const request = { organisation, subscription, limit: 2, ...filter, ...page };
    const { data = [], hasMore } = await reader.done("UsageService/ListUsage", request);
    for (const {
      period,
      meter,
      state,
      events,
      quantity,
      late,
      amount,
      invoice,
      creditNote,
    } of data as Json[]) {
      const document = invoice?.number ?? creditNote?.number ?? "-";
      const row = [
        period.index ?? 0,
        meter.code,
        state.replace("USAGE_STATE_", "").toLowerCase(),
        events,
        quantity,
      ];
      listed.push([...row, late === true ? "late" : "in time", amount ?? "-", document].join(" "));
    }
    if (hasMore !== true) return listed.sort();
    page = { startingAfter: data.at(-1).id };
  }
}

const voidEvent = "UsageService/VoidUsageEvent";

async function eventsOf(
  organisation: string,
  subscription: string,
  query: object = {},
): Promise<readonly string[]> {
  const request = { organisation, subscription, ...query };
  const { data = [] } = await reader.done("UsageService/ListUsageEvents", request);
  return data.map(({ id }: Json) => id);
}

test("usage is open until it is billed, and then names its document", async () => {
  const organisation = await sandbox();
  const id = await fixture.subscribe(organisation, inApril);
  const events: readonly Event[] = [
    ["a", "10", "2026-04-02T00:00:00Z"],
    ["b", "5.25", "2026-04-15T10:00:00.123456Z"],
    ["c", "100", "2026-04-15T11:00:00Z"],
    ["d", "10", "2026-04-15T12:00:00Z", "storage"],
  ];
  expect(await report(organisation, id, events)).toEqual(Array(4).fill("created"));
  const open = ["0 api-calls open 3 115.2500 in time - -", "0 storage open 1 10.0000 in time - -"];
  expect(await usageOf(organisation, id)).toEqual(open);
  await admin.done(voidEvent, { organisation, id: "c", reason: "A test of the importer" });
  const kept = "0 api-calls open 2 15.2500 in time - -";
  expect(await usageOf(organisation, id)).toEqual([kept, open[1]]);

  await billOn(organisation, "2026-05-01");
  const invoices = await fixture.invoices(id);
  expect(invoices.at(-1)).toMatchObject({
    lines: ["plan 125.0000", "usage 7.6300", "usage 10.0000"],
  });
  const { number } = invoices.at(-1) ?? {};
  const billed = [
    `0 api-calls billed 2 15.2500 in time 7.6300 ${number}`,
    `0 storage billed 1 10.0000 in time 10.0000 ${number}`,
  ];
  expect(await usageOf(organisation, id)).toEqual(billed);
  const refused = await admin.ask(voidEvent, { organisation, id: "a", reason: "Too late" });
  expect([codeOf(refused), refused.json.message]).toEqual([
    "invalid_state",
    `The event is billed already: it is on invoice ${number}.`,
  ]);

  const more: readonly Event[] = [
    ["e", "5", "2026-04-20T00:00:00Z", "storage"],
    ["f", "1", "2026-05-01T00:00:00Z"],
  ];
  expect(await report(organisation, id, more)).toEqual(["created", "created"]);
  const late = "0 storage open 1 5.0000 late - -";
  expect(await usageOf(organisation, id)).toEqual(
    [...billed, late, "1 api-calls open 1 1.0000 in time - -"].sort(),
  );
  await billOn(organisation, "2026-06-01");
  const rows = await usageOf(organisation, id);
  // Fifteen at 0.50 cost less than ten at 1.00.
  expect(rows.filter((row) => row.includes("late"))).toEqual([
    "0 storage billed 1 5.0000 late -2.5000 CN-0001",
  ]);
  expect(rows).toHaveLength(4);

  const meters = await fixture.pool.query(
    "SELECT id FROM meters WHERE organisation_id = $1 ORDER BY code",
    [organisation],
  );
  const [calls, storage] = meters.rows.map((row) => row.id);
  expect(await usageOf(organisation, id, { meter: storage })).toEqual(
    rows.filter((row) => row.includes("storage")),
  );
  expect(await usageOf(organisation, id, { meter: randomUUID() })).toEqual([]);
  // By bill and period, then by the ids of the meters, which are random.
  expect(await eventsOf(organisation, id)).toEqual([
    "f",
    "e",
    ...(storage > calls ? ["d", "b", "a"] : ["b", "a", "d"]),
  ]);
  expect(await eventsOf(organisation, id, { limit: 1, meter: calls, period: 0 })).toEqual(["b"]);
  expect(await eventsOf(organisation, id, { limit: 1, meter: calls, startingAfter: "b" })).toEqual([
    "a",
  ]);
  expect(await eventsOf(organisation, id, { meter: calls, startingAfter: "a" })).toEqual([]);
});

test("usage of Setup Mode waits for its bill, and is then on no document", async () => {
  const organisation = await sandbox({ setup_mode: true });
  const id = await fixture.subscribe(organisation, inApril);
  await report(organisation, id, [["a", "3", "2026-04-02T00:00:00Z"]]);
  await billOn(organisation, "2026-05-01");
  expect(await usageOf(organisation, id)).toEqual(["0 api-calls waiting 1 3.0000 in time - -"]);
  await setOrganisation(fixture.pool, organisation, { setupMode: false });
  await billOn(organisation, "2026-06-01");
  expect(await usageOf(organisation, id)).toEqual([
    "0 api-calls not_billed 1 3.0000 in time 0.0000 -",
  ]);
  const refused = await admin.ask(voidEvent, { organisation, id: "a", reason: "Too late" });
  expect(refused.json.message).toBe(
    "The event is billed already: its bill was issued and its amount is zero.",
  );
});

test("an event is voided once, by an admin, with a reason, and its id stays taken", async () => {
  const organisation = await sandbox();
  const id = await fixture.subscribe(organisation, inApril);
  const event: Event = ["zwölf/1", "2.5", "2026-04-02T03:04:05.000006+02:00"];
  await report(organisation, id, [event, ["other", "1", "2026-04-02T00:00:00Z"]]);
  const own = { organisation, id: event[0] };
  const stored = {
    id: event[0],
    subscription: id,
    meter: { code: "api-calls", name: "API calls" },
    quantity: "2.5000",
    timestamp: "2026-04-02T01:04:05.000006Z",
    received: "2026-04-16T12:00:00.000Z",
    period: { start: "2026-04-01", end: "2026-05-01" },
  };
  expect((await reader.done("UsageService/GetUsageEvent", own)).event).toMatchObject(stored);
  const reason = "Sent by a test";
  expect(await reader.refused(voidEvent, { ...own, reason })).toBe("insufficient_role");
  expect(await admin.refused(voidEvent, own)).toBe("invalid_parameter reason");
  expect(await admin.refused(voidEvent, { ...own, reason: "x".repeat(501) })).toBe(
    "invalid_parameter reason",
  );

  const key = { idempotencyKey: randomUUID() };
  const { event: voided } = await admin.done(voidEvent, { ...own, reason }, key);
  expect(voided).toMatchObject({
    ...stored,
    voidedAt: "2026-04-16T12:00:00.000Z",
    voidReason: reason,
  });
  const entry = await admin.lastEntry();
  expect(entry).toMatchObject({
    operatorName: "Ada",
    operation: "billing.admin.v1.UsageService/VoidUsageEvent",
    organisation,
    targetKind: "usage_event",
    target: event[0],
    before: {
      event_id: event[0],
      meter: "api-calls",
      quantity: "2.5000",
      voided_at: null,
      void_reason: null,
    },
    after: { event_id: event[0], voided_at: "2026-04-16T12:00:00.000Z", void_reason: reason },
  });
  expect((await admin.done(voidEvent, { ...own, reason }, key)).event).toEqual(voided);
  expect(await admin.refused(voidEvent, { ...own, reason: "Another" }, key)).toBe(
    "idempotency_conflict Idempotency-Key",
  );
  const again = await admin.ask(voidEvent, { ...own, reason: "Another" });
  expect([codeOf(again), again.json.message]).toEqual([
    "invalid_state",
    `The event was voided already, at 2026-04-16T12:00:00.000Z: ${reason}`,
  ]);
  expect((await admin.lastEntry()).id).toBe(entry.id);
  expect((await reader.done("UsageService/GetUsageEvent", own)).event).toEqual(voided);
  expect(await report(organisation, id, [event])).toEqual(["duplicate"]);
  expect(await eventsOf(organisation, id)).toEqual(["other"]);
  // It is a position all the same.
  expect(await eventsOf(organisation, id, { startingAfter: "other" })).toEqual([]);
  expect(await eventsOf(organisation, id, { startingAfter: event[0] })).toEqual(["other"]);
});

test("another organisation's usage is neither shown nor voided", async () => {
  const [organisation, other] = [await sandbox(), await sandbox()];
  const id = await fixture.subscribe(organisation, inApril);
  const others = await fixture.subscribe(other, inApril);
  // The same id is another event there.
  await report(organisation, id, [["same", "1", "2026-04-02T00:00:00Z"]]);
  await report(other, others, [
    ["same", "2", "2026-04-02T00:00:00Z"],
    ["theirs", "3", "2026-04-02T00:00:00Z"],
  ]);
  const own = { organisation };
  for (const method of ["UsageService/ListUsage", "UsageService/ListUsageEvents"]) {
    expect(await admin.refused(method, { organisation: randomUUID(), subscription: id })).toBe(
      "organisation_not_found",
    );
    for (const subscription of [others, randomUUID(), "x"]) {
      expect(await admin.refused(method, { ...own, subscription })).toBe("subscription_not_found");
    }
    const unknown = ["theirs", "1.x", "0.0.x", `0.0.${randomUUID()}`];
    for (const startingAfter of unknown) {
      const refused = await admin.refused(method, { ...own, subscription: id, startingAfter });
      expect(refused).toBe("invalid_parameter starting_after");
    }
    expect(await admin.refused(method, { ...own, subscription: id, meter: "x" })).toBe(
      "invalid_parameter meter",
    );
    expect(await admin.refused(method, { ...own, subscription: id, limit: 101 })).toBe(
      "invalid_parameter limit",
    );
  }
  for (const unknown of ["theirs", "nobody's"]) {
    const named = { ...own, id: unknown };
    expect(await admin.refused("UsageService/GetUsageEvent", named)).toBe("usage_event_not_found");
    expect(await admin.refused(voidEvent, { ...named, reason: "x" })).toBe("usage_event_not_found");
  }
  expect((await admin.done(voidEvent, { ...own, id: "same", reason: "Ours" })).event.quantity).toBe(
    "1.0000",
  );
  expect(await eventsOf(organisation, id)).toEqual([]);
  expect(await eventsOf(other, others)).toEqual(["theirs", "same"]);
  expect(await usageOf(other, others)).toEqual(["0 api-calls open 2 5.0000 in time - -"]);
});

test("an event that is voided during billing is voided or billed, never both", async () => {
  const organisation = await sandbox();
  const ids: string[] = [];
  for (let index = 0; index < 50; index++) {
    const id = await fixture.subscribe(organisation, inApril);
    await report(organisation, id, [[`event ${id}`, "4", "2026-04-02T00:00:00Z"]]);
    ids.push(id);
  }
  ids.sort();
  await fixture.setClock(organisation, "2026-05-01");
  const voidOf = (id: string) =>
    admin.ask(voidEvent, { organisation, id: `event ${id}`, reason: "A race" });
  const answers: Answered[] = [];
  for (const [index, id] of ids.entries()) {
    // The chunk locks them in the order of their ids. In every other attempt it runs when the void
    // begins. In the others the void begins earlier, by a varying number of calls.
    let asked: Promise<Answered> | null = null;
    const ask = () => {
      asked ??= voidOf(id);
    };
    if (index % 2 === 0) {
      ask();
      for (let trips = 0; trips < index; trips++) await fixture.pool.query("SELECT 1");
    }
    await billChunk(fixture.pool, organisation, { size: 1, onLoaded: ask });
    assert(asked !== null);
    answers.push(await asked);
  }
  await fixture.bill(organisation);
  const { rows } = await fixture.pool.query<{
    id: string;
    voided: boolean;
    billed: boolean;
    lines: string;
  }>(
    `SELECT e.subscription_id AS id, e.voided_at IS NOT NULL AS voided,
    b.events IS NOT NULL AS billed,
      (SELECT count(*) FROM invoice_lines l JOIN invoices i ON i.id = l.invoice_id
        WHERE l.organisation_id = $1
        AND i.subscription_id = e.subscription_id AND l.kind = 'usage') AS lines
    FROM usage_events e
    LEFT JOIN usage_bills b ON b.organisation_id = $1 AND b.subscription_id = e.subscription_id
    WHERE e.organisation_id = $1 ORDER BY e.subscription_id`,
    [organisation],
  );
  const listed = answers.map((answer, index) => {
    const voided = answer.status === 200;
    if (!voided) expect(codeOf(answer)).toBe("invalid_state");
    return { id: ids[index], voided, billed: !voided, lines: voided ? "0" : "1" };
  });
  expect(rows).toEqual(listed.sort((left, right) => (left.id ?? "").localeCompare(right.id ?? "")));
  // Either outcome is correct if the void begins first. If the bill does, it stands.
  expect(listed.filter(({ billed }) => billed).length).toBeGreaterThanOrEqual(25);
});
