/**
 * Usage for tests of the billing run: meters on plans, events stored as a report stores them, and
 * what was billed of them.
 */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { UsageVerdict } from "../../../src/domain/usage/ingest.ts";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { addMeter, type TestMeter } from "../../scenario/usage-builder.ts";
import { expectExplained } from "../../support/explained-documents.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { lockWaits } from "../../support/rows.ts";
import { type BillingFixture, billingFixture } from "./billing-fixture.ts";

/**
 * An event in short: its quantity, its instant (a bare date is noon UTC) and its meter, by default
 * `api-calls`.
 */
type ReportedUse = readonly [quantity: string, at: string, meterCode?: string];

/** The billing fixture with usage. */
export interface UsageFixture extends BillingFixture {
  /** Creates a meter, by default `api-calls` on plan `team` at 0.50 each. Returns its id. */
  meter(organisationId: string, meter?: TestMeter): Promise<string>;
  /** Creates a sandbox with the meter `api-calls` and a subscription to `team` from 10 March on. */
  metered(
    changes?: Record<string, unknown>,
  ): Promise<readonly [organisationId: string, subscriptionId: string]>;
  /** Reports events in one batch, by the organisation's clock. Returns a verdict for each. */
  report(
    organisationId: string,
    subscriptionId: string,
    uses: readonly ReportedUse[],
  ): Promise<readonly UsageVerdict[]>;
  /** Reports events and expects that each is stored. */
  use(
    organisationId: string,
    subscriptionId: string,
    ...uses: readonly ReportedUse[]
  ): Promise<void>;
  /** The billed usage, oldest bill first: `0: 2 of 5.0000 in 0, 2.5000 on INV-0002`. */
  bills(subscriptionId: string): Promise<readonly string[]>;
}

/** A fixture in a new database. */
export async function usageFixture(): Promise<UsageFixture> {
  const fixture = await billingFixture();
  const store = createStore(fixture.pool);
  const report: UsageFixture["report"] = async (organisationId, subscription, uses) => {
    const { rows } = await fixture.pool.query<{ now: Date }>(
      "SELECT coalesce(test_clock, now()) AS now FROM organisations WHERE id = $1",
      [organisationId],
    );
    const events = uses.map(([quantity, at, meterCode = "api-calls"]) => {
      const [read, occurredAt] = [
        readQuantity(quantity),
        readTimestamp(at.includes("T") ? at : `${at}T12:00:00Z`),
      ];
      if (read === null || occurredAt === null) throw new Error(`no event of ${quantity} at ${at}`);
      const meter = { by: "code", value: meterCode } as const;
      return { eventId: randomUUID(), subscription, meter, quantity: read, occurredAt };
    });
    const now = rows[0]?.now ?? new Date();
    return store.tenant(organisationId, now).usage.report(events, now);
  };
  return {
    ...fixture,
    meter: (organisationId, meter) => addMeter(fixture.pool, organisationId, meter),
    metered: async (changes) => {
      const organisationId = await fixture.sandbox("2026-03-10", changes);
      await addMeter(fixture.pool, organisationId);
      return [organisationId, await fixture.subscribe(organisationId)];
    },
    report,
    use: async (organisationId, subscriptionId, ...uses) => {
      const verdicts = await report(organisationId, subscriptionId, uses);
      expect(verdicts).toEqual(uses.map(() => ({ status: "created" })));
    },
    bills: async (subscriptionId) => {
      const { rows } = await fixture.pool.query<{ bill: string }>(
        `SELECT format('%s: %s of %s in %s, %s on %s',
            b.bill, b.events, b.quantity, b.period_index, b.amount,
            coalesce(i.number, c.number, 'nothing')) AS bill
          FROM usage_bills b LEFT JOIN invoices i ON i.id = b.invoice_id
            LEFT JOIN credit_notes c ON c.id = b.credit_note_id
          WHERE b.subscription_id = $1 ORDER BY b.bill, b.period_index, b.meter_id`,
        [subscriptionId],
      );
      return rows.map(({ bill }) => bill);
    },
  };
}

/** Tests on sandboxes with usage in a new database. */
export const usageTest = test.extend(
  "fixture",
  perFile,
  started(usageFixture, (fixture) => expectExplained(fixture.pool).finally(() => fixture.drop())),
);

/** Whether a statement in the database waits for a lock. */
export async function isWaiting(fixture: UsageFixture): Promise<boolean> {
  return (await lockWaits(fixture.pool)) > 0;
}
