/** Usage that is reported while periods are closed is billed, each event once. USAGE-11. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { ReportedUsage } from "../../../src/domain/usage/ingest.ts";
import { instantOf, readQuantity } from "../../../src/domain/usage/parse.ts";
import { billChunk } from "../../../src/store/billing/billing-run.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { seeded } from "../../support/seeded.ts";
import { until } from "../../support/system.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { expectSumsOfEvents } from "../../support/usage-sums.ts";
import { usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";

const closes = 50;
const reporters = 3;
const batchSize = 12;
const dayMs = 86_400_000;

/** Noon of the first day of the period with this index, from 1 March 2026 on. */
const instantAt = (index: number): Date => new Date(Date.UTC(2026, 2 + index, 1, 12));

/** Performs what is due until nothing is, by two workers at once. */
async function bill(fixture: UsageFixture, organisation: string): Promise<number> {
  let performed = 0;
  const work = async () => {
    for (;;) {
      const {
        claimed,
        performed: own,
        parked,
      } = await billChunk(fixture.pool, organisation, { size: 3 });
      expect(parked).toEqual([]);
      if (claimed === 0) return;
      performed += own;
    }
  };
  await Promise.all([work(), work()]);
  return performed;
}

test(`${closes} closes, ${reporters} reporters: all accepted usage is billed`, async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-01");
  await fixture.meter(organisation);
  await fixture.meter(organisation, {
    code: "storage",
    type: "volume",
    tiers: [
      [40, "2", null],
      [null, "1", null],
    ],
  });
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) ids.push(await fixture.subscribe(organisation));
  const { usage } = createStore(fixture.pool).tenant(organisation, instantAt(0));
  const accepted = new Map(ids.map((id) => [id, 0n]));
  let now = instantAt(0);
  let batches = 0;
  let isOver = false;

  const below = seeded();
  const someEvent = (): ReportedUsage => {
    // Mostly current, sometimes half a minute ahead, or as late as three periods.
    const awayMs = [0, 0, 0, 30_000, -3 * dayMs, -(1 + below(94)) * dayMs][below(6)] ?? 0;
    const quantity = readQuantity(String(1 + below(49)));
    if (quantity === null) throw new Error("no quantity");
    const meter = { by: "code", value: below(2) === 0 ? "api-calls" : "storage" } as const;
    const subscription = ids[below(ids.length)] ?? "";
    return {
      eventId: randomUUID(),
      subscription,
      meter,
      quantity,
      occurredAt: instantOf(new Date(now.getTime() + awayMs)),
    };
  };
  const report = async () => {
    while (!isOver) {
      const events = Array.from({ length: batchSize }, someEvent);
      const verdicts = await usage.report(events, now);
      for (const [index, { status }] of verdicts.entries()) {
        const event = events[index];
        if (status !== "created" || event === undefined) continue;
        accepted.set(
          event.subscription,
          (accepted.get(event.subscription) ?? 0n) + BigInt(event.quantity.replace(".", "")),
        );
      }
      batches += 1;
    }
  };
  const reporting = Promise.all(Array.from({ length: reporters }, report));

  try {
    for (let index = 1; index <= closes; index += 1) {
      // More than were on their way, so one of them began after the last close.
      const enough = batches + reporters + 1;
      await until("more is reported", async () => batches >= enough);
      const next = instantAt(index);
      await fixture.setClock(organisation, next.toISOString());
      now = next;
      expect(await bill(fixture, organisation)).toBe(ids.length);
    }
    for (const subscriptionId of ids) {
      const request = {
        when: "now",
        deleteUnsentInvoices: false,
        voidApprovedInvoices: false,
      } as const;
      await tenantWrites(fixture.pool, organisation).end({ id: subscriptionId, now }, request);
    }
  } finally {
    isOver = true;
  }
  await reporting;
  await fixture.setClock(organisation, new Date(now.getTime() + dayMs).toISOString());
  await bill(fixture, organisation);

  await expectSumsOfEvents(fixture);
  const { rows: sums } = await fixture.pool.query(
    `SELECT s.id, (SELECT sum(e.quantity) FROM usage_events e
      WHERE e.subscription_id = s.id) AS stored,
        (SELECT sum(b.quantity) FROM usage_bills b WHERE b.subscription_id = s.id) AS billed,
        (SELECT count(DISTINCT b.bill)::int FROM usage_bills b
          WHERE b.subscription_id = s.id) AS bills
      FROM subscriptions s WHERE s.organisation_id = $1`,
    [organisation],
  );
  const totals = sums.map(({ id, stored, billed }) => [
    id,
    BigInt(stored.replace(".", "")),
    BigInt(billed.replace(".", "")),
  ]);
  expect(new Map(totals.map(([id, stored]) => [id, stored]))).toEqual(accepted);
  for (const [, stored, billed] of totals) expect(billed).toBe(stored);
  const bills = sums.reduce((whole, one) => whole + one.bills, 0);
  expect(bills, "every close had something to bill").toBeGreaterThan(closes);
  const { rows: faults } = await fixture.pool.query(
    `SELECT * FROM (SELECT subscription_id, bill, period_index, meter_id, count(*) AS events,
      sum(quantity) AS quantity
        FROM usage_events WHERE organisation_id = $1 GROUP BY 1, 2, 3, 4) e
      FULL JOIN (SELECT * FROM usage_bills
        WHERE organisation_id = $1) b USING (subscription_id, bill, period_index, meter_id)
      WHERE (e.events, e.quantity) IS DISTINCT FROM (b.events, b.quantity)`,
    [organisation],
  );
  expect(faults).toEqual([]);
  // Every amount is on a document: a line of an invoice or of a credit note.
  const { rows: amounts } = await fixture.pool.query(
    `SELECT (SELECT sum(amount) FROM usage_bills WHERE organisation_id = $1) AS billed,
      (SELECT sum(amount) FROM invoice_lines WHERE organisation_id = $1 AND kind = 'usage')
        - (SELECT coalesce(sum(amount), 0) FROM credit_note_lines
          WHERE organisation_id = $1) AS documents`,
    [organisation],
  );
  expect(amounts[0].documents).toBe(amounts[0].billed);
});
