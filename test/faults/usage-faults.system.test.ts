/**
 * SIGKILL between every two steps of a report of usage and of its billing, lost answers of the
 * ledger, and reports during billing: every reported event is stored once, and every stored event
 * is billed once. USAGE-3, INVARIANT-4.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { createStartWork } from "../../src/worker/temporal/start-work.ts";
import { defaultTaskQueue } from "../../workflows/contract.ts";
import { aloneTest } from "../scenario/fixtures.ts";
import type { LifeBuilder } from "../scenario/life-builder.ts";
import type { Json } from "../scenario/units-builder.ts";
import { addMeter, type UsageBuilder, usageEvent } from "../scenario/usage-builder.ts";
import type { BillingRuns } from "../support/billing.ts";
import { amendmentCrashPoints, billingCrashPoints } from "../support/crash-points.ts";
import { perFile } from "../support/file-fixture.ts";
import { type TestSystem, until } from "../support/system.ts";
import { expectUsageBilledOnce, usageSums } from "./billed-usage.ts";
import { dieOf, type Post, postUntil, postUntilDecided, startApiProcess } from "./processes.ts";

const test = aloneTest
  // What a killed worker had taken is free after three times this.
  .extend("settings", perFile, { env: { LEDGER_CALL_SECONDS: "1" } });

/**
 * A sandbox that takes usage of calls at 0.50 each, and of storage at 10 each, from the eleventh on
 * all at 8.
 */
async function metered(
  system: TestSystem,
  builder: LifeBuilder,
  changes: Record<string, unknown> = {},
): Promise<CreatedOrganisation> {
  const own = await builder.sandbox({ usage_allowed: true, ...changes });
  await addMeter(system.pool, own.organisationId);
  const bands = {
    type: "volume",
    tiers: [[10, "10", null] as const, [null, "8", null] as const],
  } as const;
  await addMeter(system.pool, own.organisationId, {
    code: "storage",
    name: "Storage",
    unitLabel: "GB",
    ...bands,
  });
  return own;
}

const calls = (id: string, timestamp: string, quantity: string) =>
  usageEvent(id, timestamp, { quantity });
const storage = (id: string, timestamp: string, quantity: string) =>
  usageEvent(id, timestamp, { quantity, meter_code: "storage" });

/** An invoice as its type and its lines. */
const shown = ({ type, lines }: Json) => [
  type,
  ...lines.map(({ kind, amount }: Json) => `${kind} ${amount}`),
];

describe.concurrent("an API killed at a step of a report leaves every event stored once:", () => {
  let own: CreatedOrganisation;
  let id = "";

  test.beforeAll(async ({ system, builder }) => {
    own = await metered(system, builder);
    ({ id } = await builder.subscribe(own, { start_date: "2026-04-01" }));
  });

  test.for([
    ["admitted", null, "created"],
    ["usage_stored", null, "duplicate"],
    ["key_begun", "begun", "created"],
    ["usage_stored", "stored", "duplicate"],
    ["key_completed", "completed", "created"],
  ] as const)("%s, with the Idempotency-Key %s: a repeat gets %s", async ([point, key, verdict], {
    system,
  }) => {
    const events = ["1", "2.5", "3"].map((quantity) => calls(id, "2026-04-01T11:00:00Z", quantity));
    const keyed = key === null ? {} : { idempotencyKey: key };
    const what: Post = { path: "/v1/usage_events", key: own.apiKey, body: { events }, ...keyed };
    await dieOf(system, point, what);
    const { json, text, headers } = await postUntil(system.baseUrl, what, 200);
    expect(json.results.map(({ status }: Json) => status)).toEqual([verdict, verdict, verdict]);
    expect(headers.get("idempotent-replayed")).toBe(point === "key_completed" ? "true" : null);
    const again = await postUntil(system.baseUrl, what, 200);
    if (key === null) expect(again.json.duplicates).toBe(3);
    else expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([text, "true"]);
    const ids = events.map(({ event_id }) => event_id);
    const { rows } = await system.pool.query(
      `SELECT count(*)::int, sum(quantity), min(bill) AS bill FROM usage_events
        WHERE event_id = ANY ($1) AND subscription_id = $2`,
      [ids, id],
    );
    expect(rows).toEqual([{ count: 3, sum: "6.5000", bill: 0 }]);
  });
});

/**
 * Three subscriptions whose usage is billed by 15 May, on each kind of document: on the draft that
 * was issued ahead; on a usage invoice, because it completes; and on a renewal with a credit note,
 * because late usage reduced the previous period to a cheaper band.
 */
async function dueOnEachKind(
  system: TestSystem,
  builder: LifeBuilder,
  reports: UsageBuilder,
  runs: BillingRuns,
) {
  const own = await metered(system, builder, { invoice_create_days: 5 });
  const late = (await builder.subscribe(own, { start_date: "2026-03-15" })).id;
  const joining = (await builder.subscribe(own, { start_date: "2026-04-01" })).id;
  const ended = (await builder.subscribe(own, { start_date: "2026-04-01" })).id;
  await reports.stored(own, [storage(late, "2026-03-20T00:00:00Z", "10")]);
  await builder.ended(own, ended, { when: "period_end" });
  for (const day of ["2026-04-15", "2026-04-27"]) {
    await builder.setClock(own, day);
    await runs.untilDone(own.organisationId);
  }
  await builder.posted(own);
  await reports.stored(own, [
    ...[calls(joining, "2026-04-20T00:00:00Z", "4"), calls(joining, "2026-04-02T00:00:00Z", "3")],
    ...[calls(ended, "2026-04-26T00:00:00Z", "9"), storage(late, "2026-04-20T00:00:00Z", "3")],
    storage(late, "2026-03-31T00:00:00Z", "1"),
  ]);
  return { own, late, joining, ended };
}

/** Asserts that all of it is billed, each event once, here and in the ledger. */
async function expectBilled(
  system: TestSystem,
  builder: LifeBuilder,
  { own, late, joining, ended }: Awaited<ReturnType<typeof dueOnEachKind>>,
): Promise<void> {
  await builder.expectEqualDocuments(own);
  await expectUsageBilledOnce(system, own);
  const sums = await usageSums(system, own);
  expect(sums.map(({ code, billed, open, amount }) => [code, billed, open, amount])).toEqual([
    ["storage", "14.0000", "0.0000", "118.0000"],
    ["api-calls", "7.0000", "0.0000", "3.5000"],
    ["api-calls", "9.0000", "0.0000", "4.5000"],
  ]);
  const plan = "plan 100.0000";
  expect((await builder.invoices(own, joining)).map(shown)).toEqual([
    ["renewal", plan, "usage 3.5000"],
    ["first", plan],
  ]);
  expect((await builder.invoices(own, ended)).map(shown)).toEqual([
    ["usage", "usage 4.5000"],
    ["first", plan],
  ]);
  expect((await builder.invoices(own, late)).map(shown)).toEqual([
    ["renewal", plan, "usage 30.0000"],
    ["renewal", plan, "usage 100.0000"],
    ["first", plan],
  ]);
  expect(await builder.creditNotes(own, late)).toMatchObject([
    { subtotal: "12.0000", ledger: { sync_status: "synced" } },
  ]);
  const { rows } = await system.pool.query(
    "SELECT sub_total::text FROM demo_ledger.credit_notes WHERE tenant_id = $1",
    [own.tenantId],
  );
  expect(rows).toEqual([{ sub_total: "12.00" }]);
}

test("workers killed at each step of billing usage bill every event once", async ({
  system,
  builder,
  reports,
  runs,
}) => {
  const due = await Promise.all(
    billingCrashPoints.map(() => dueOnEachKind(system, builder, reports, runs)),
  );
  await system.worker.stop();
  const { startBilling } = createStartWork(runs.client, defaultTaskQueue, () => false);
  const die = async (point: string): Promise<void> => {
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    await system.worker.exited();
  };
  // Each finds an organisation that was not due before. What they leave undone, the next ones and
  // the last one meet too.
  for (const [index, point] of billingCrashPoints.entries()) {
    const own = due[index]?.own as CreatedOrganisation;
    await builder.setClock(own, "2026-05-15");
    await until("its billing is started", () => startBilling(own.organisationId));
    await die(point);
  }
  for (const point of amendmentCrashPoints) await die(point);
  await system.worker.start();
  for (const { own } of due) await runs.untilDone(own.organisationId);
  for (const one of due) await expectBilled(system, builder, one);
});

const amendments = "POST /api.xro/2.0/Invoices/";

/**
 * The fault of the first call that sends a line of usage to the ledger, each on another draft. The
 * system's calls may take a second.
 */
const lost = [
  { kind: "drop_before" },
  { kind: "drop_after" },
  { kind: "slow_after", delayMs: 1_500 },
  { kind: "slow_before", delayMs: 1_300 },
  { kind: "status", status: 503 },
  { kind: "status", status: 500, body: "{}" },
  { kind: "rate_limit", retryAfterSeconds: 2 },
] as const;

test("lost answers of the ledger leave each line of usage once, on drafts only", async ({
  system,
  builder,
  reports,
  runs,
}) => {
  const own = await metered(system, builder, { invoice_create_days: 5 });
  const ids: string[] = [];
  for (const _ of [...lost, "approved"])
    ids.push((await builder.subscribe(own, { start_date: "2026-04-01" })).id);
  const quantities = ids.map((_, index) => String(2 * index + 2));
  await builder.setClock(own, "2026-04-27");
  await reports.stored(
    own,
    ids.map((id, index) => calls(id, "2026-04-02T00:00:00Z", quantities[index] ?? "")),
  );
  await runs.untilDone(own.organisationId);
  await builder.posted(own);
  for (const [index, id] of ids.entries()) {
    const [{ number, ledger }] = (await builder.invoices(own, id)) as [Json];
    const fault = lost[index];
    if (fault !== undefined)
      await system.fault({
        ...fault,
        match: amendments + ledger.invoice_id,
        tenantId: own.tenantId,
      });
    else {
      const text = `UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1
          AND number = $2`;
      expect((await system.pool.query(text, [own.tenantId, number])).rowCount).toBe(1);
    }
  }
  await builder.setClock(own, "2026-05-01");
  await runs.untilDone(own.organisationId);
  await builder.expectEqualDocuments(own);
  const left = (await (await fetch(`${system.demoUrl}/demo/faults`)).json()) as Json;
  expect(left, "each has happened").toEqual({ left: 0 });
  await expectUsageBilledOnce(system, own);
  for (const [index, id] of ids.entries()) {
    const plan = "plan 100.0000";
    const used = `usage ${index + 1}.0000`;
    const invoices = (await builder.invoices(own, id)).map(shown);
    if (index < lost.length)
      expect(invoices).toEqual([
        ["renewal", plan, used],
        ["first", plan],
      ]);
    else
      expect(invoices).toEqual([
        ["usage", used],
        ["renewal", plan],
        ["first", plan],
      ]);
  }
});

/** The verdicts that clients of a load got, and the requests that they send next. */
interface Load {
  /** The organisation's clock, or a little before it. */
  now: Date;
  isOver: boolean;
  sent: number;
  /** The ids of the events that were reported as stored. */
  readonly stored: Map<string, Json>;
}

/**
 * Reports batches of usage of the last 35 days, one after the other, every second one to two
 * processes at once.
 */
async function reportOn(
  load: Load,
  own: CreatedOrganisation,
  ids: readonly string[],
  urls: readonly string[],
): Promise<void> {
  while (!load.isOver) {
    const events = Array.from({ length: 5 * ids.length }, (_, place) => {
      const seed = load.sent++;
      const index = place % ids.length;
      const started = Date.UTC(2026, 3, 2 + index);
      const timestamp = new Date(
        Math.max(started, load.now.getTime() - (seed % 35) * 86_400_000),
      ).toISOString();
      const report = place % 5 === 0 ? storage : calls;
      return report(ids[index] ?? "", timestamp, String(1 + (seed % 7)));
    });
    const what: Post = { path: "/v1/usage_events", key: own.apiKey, body: { events } };
    const targets = (load.sent / events.length) % 2 === 0 ? urls : urls.slice(0, 1);
    // A connection may be closed as it is used again, or the database not be reached in time: then
    // the batch is sent once more.
    const answers = await Promise.all(targets.map((url) => postUntilDecided(url, what)));
    for (const { status: answered, text, json } of answers) {
      expect([200, 207], text).toContain(answered);
      for (const [place, { status, error }] of (json.results as Json[]).entries()) {
        // Of those that are over, whose end is not known here.
        if (status === "rejected")
          expect([place % ids.length < 2, error.code]).toEqual([true, "after_subscription_end"]);
        else load.stored.set(events[place].event_id, events[place]);
      }
    }
  }
}

test("usage taken by two processes at a period's end is billed or open, never both", async ({
  system,
  builder,
  runs,
}) => {
  const own = await metered(system, builder, {
    invoice_create_days: 5,
    test_clock: "2026-04-06T12:00:00Z",
  });
  const ids: string[] = [];
  for (let day = 1; day <= 6; day += 1)
    ids.push((await builder.subscribe(own, { start_date: `2026-04-0${day}` })).id);
  const [ended = "", completing = ""] = ids;
  await builder.ended(own, completing, { when: "period_end" });
  const second = await startApiProcess(system);
  const load: Load = {
    now: new Date("2026-04-26T00:00:00Z"),
    isOver: false,
    sent: 0,
    stored: new Map(),
  };
  await builder.setClock(own, load.now.toISOString());
  const urls = [system.baseUrl, second.baseUrl];
  const clients = Array.from({ length: 8 }, (_, index) =>
    reportOn(load, own, ids, index % 2 === 0 ? urls : urls.toReversed()),
  );
  let end: Promise<unknown> = Promise.resolve();
  try {
    // At midnight in Paris a renewal invoice is issued ahead, or a period ends; in June several of
    // them.
    for (const [month, days] of [[4, [-3, 1, 2, 3, 4, 5, 6]] as const, [5, [-3, 3, 6]] as const]) {
      for (const day of days) {
        const now = new Date(Date.UTC(2026, month, day, -1));
        await builder.setClock(own, now.toISOString());
        load.now = now;
        await runs.untilDone(own.organisationId);
        await expectUsageBilledOnce(system, own);
        for (const { stored, billed, open } of await usageSums(system, own)) {
          expect(Number(billed) + Number(open)).toBe(Number(stored));
        }
      }
      // While its renewal invoice is being amended it is refused, and an invoice that is removed
      // with it may take its time.
      const isEnded = async () => {
        await builder.end(own, ended, { when: "now" });
        return (await builder.subscription(own, ended)).status === "ended";
      };
      if (month === 4) end = until("it has ended", isEnded);
    }
  } finally {
    load.isOver = true;
    await Promise.all([...clients, end]).finally(() => second.stop());
  }
  await builder.setClock(own, "2026-07-20");
  await runs.untilDone(own.organisationId);
  await builder.expectEqualDocuments(own);
  await expectUsageBilledOnce(system, own);
  const sums = await usageSums(system, own);
  expect(sums).toHaveLength(12);
  for (const { subscription_id: id, code, stored, billed, amount } of sums) {
    const shown = [...load.stored.values()].filter(
      (one) => one.subscription === id && one.meter_code === code,
    );
    expect(Number(stored)).toBe(shown.reduce((sum, { quantity }) => sum + Number(quantity), 0));
    expect(billed).toBe(stored);
    if (code === "api-calls") expect(Number(amount)).toBe(Number(stored) / 2);
  }
});
