/** Usage in the world of the billing run: meters on its plans, events stored as a report stores them, and what bills took of them. */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import type { UsageVerdict } from "../../../src/domain/usage/ingest.ts";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { addMeter, type TestMeter } from "../../scenario/usage-builder.ts";
import { type BillingFixture, billingFixture } from "./billing-fixture.ts";

/** An event in short: how much, when (a bare date is noon UTC), and of which meter, `api-calls` where left out. */
export type Use = readonly [quantity: string, at: string, meterCode?: string];

/** The world with usage. */
export interface UsageFixture extends BillingFixture {
  /** A meter, `api-calls` on plan `team` at 0.50 each where nothing else is said. Its id. */
  meter(organisationId: string, meter?: TestMeter): Promise<string>;
  /** Reports by the organisation's clock, in one batch; what became of each. */
  report(
    organisationId: string,
    subscriptionId: string,
    uses: readonly Use[],
  ): Promise<readonly UsageVerdict[]>;
  /** Reports what is stored. */
  use(organisationId: string, subscriptionId: string, ...uses: readonly Use[]): Promise<void>;
  /** What bills took, oldest first: `0: 2 of 5.0000 in 0, 2.5000 on INV-0002`. */
  bills(subscriptionId: string): Promise<readonly string[]>;
}

/** A world of its own. */
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
    report,
    use: async (organisationId, subscriptionId, ...uses) => {
      const verdicts = await report(organisationId, subscriptionId, uses);
      expect(verdicts).toEqual(uses.map(() => ({ status: "created" })));
    },
    bills: async (subscriptionId) => {
      const { rows } = await fixture.pool.query<{ told: string }>(
        `SELECT format('%s: %s of %s in %s, %s on %s', b.bill, b.events, b.quantity, b.period_index, b.amount,
            coalesce(i.number, c.number, 'nothing')) AS told
          FROM usage_bills b LEFT JOIN invoices i ON i.id = b.invoice_id LEFT JOIN credit_notes c ON c.id = b.credit_note_id
          WHERE b.subscription_id = $1 ORDER BY b.bill, b.period_index, b.meter_id`,
        [subscriptionId],
      );
      return rows.map(({ told }) => told);
    },
  };
}

/** A pool whose statements are told before they are sent; everything else is the pool's. */
export function listeningPool(
  pool: pg.Pool,
  onStatement: (statement: pg.QueryConfig) => void,
): pg.Pool {
  const connect = async () => {
    const client = await pool.connect();
    return new Proxy(client, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "query") return value.bind(target);
        return (statement: string | pg.QueryConfig) => {
          onStatement(typeof statement === "string" ? { text: statement } : statement);
          return target.query(statement);
        };
      },
    });
  };
  return { connect } as unknown as pg.Pool;
}
