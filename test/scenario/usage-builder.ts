/**
 * What tests of usage share: meters with their prices on plans as rows, events, and reports over
 * REST.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { tables } from "../support/rows.ts";
import type { Answered } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import type { Json } from "./units-builder.ts";

/** How a plan prices a meter; bands are bound, unit price, flat price. */
interface TestMeterPrice {
  readonly type?: "per_unit" | "tiered" | "volume" | "stairstep";
  readonly price?: string;
  readonly tiers?: readonly (readonly [number | null, string | null, string | null])[];
}

/** What a meter of a test is; `plans` are the codes of those that have it. */
export interface TestMeter extends TestMeterPrice {
  readonly code?: string;
  readonly name?: string;
  readonly unitLabel?: string;
  readonly status?: "active" | "inactive";
  readonly plans?: readonly string[];
  readonly revenueAccount?: string | null;
  readonly taxType?: string | null;
}

/** Adds a meter, by default `api-calls` on plan `team` at 0.50 each. Returns its id. */
export async function addMeter(
  pool: pg.Pool,
  organisationId: string,
  meter: TestMeter = {},
): Promise<string> {
  const {
    code = "api-calls",
    name = "API calls",
    unitLabel = "call",
    status = "active",
    plans = ["team"],
  } = meter;
  const id = randomUUID();
  const { revenueAccount = null, taxType = null } = meter;
  await tables(pool).meter.create({
    data: { id, organisationId, code, name, unitLabel, status, revenueAccount, taxType },
  });
  for (const plan of plans) await priceMeter(pool, organisationId, plan, id, meter);
  return id;
}

/** Puts a meter on a plan, behind those that it has. */
async function priceMeter(
  pool: pg.Pool,
  organisationId: string,
  planCode: string,
  meterId: string,
  {
    type = "per_unit",
    price = type === "per_unit" ? "0.50" : "0",
    tiers = [],
  }: TestMeterPrice = {},
): Promise<void> {
  const { rows } = await pool.query<{ plan_id: string }>(
    `INSERT INTO plan_meters (organisation_id, plan_id, position, meter_id, type, price)
     SELECT p.organisation_id, p.id, (SELECT count(*) FROM plan_meters m
       WHERE m.organisation_id = $1 AND m.plan_id = p.id), $3, $4, $5
     FROM plans p WHERE p.organisation_id = $1 AND p.code = $2 RETURNING plan_id`,
    [organisationId, planCode, meterId, type, price],
  );
  for (const [position, tier] of tiers.entries()) {
    await pool.query("INSERT INTO plan_meter_tiers VALUES ($1, $2, $3, $4, $5, $6, $7)", [
      organisationId,
      rows[0]?.plan_id,
      meterId,
      position,
      ...tier,
    ]);
  }
}

/** Sets the status of a meter. */
export async function setMeterStatus(
  pool: pg.Pool,
  organisationId: string,
  code: string,
  status: "active" | "inactive",
): Promise<void> {
  await tables(pool).meter.updateMany({ where: { organisationId, code }, data: { status } });
}

/** An event as it is sent: by default one of the meter `api-calls`, with a unique id. */
export function usageEvent(subscription: string, timestamp: string, changes: object = {}): Json {
  return {
    event_id: randomUUID(),
    subscription,
    meter_code: "api-calls",
    quantity: "1",
    timestamp,
    ...changes,
  };
}

/** Reports usage over REST. */
export interface UsageBuilder {
  report(
    organisation: CreatedOrganisation,
    events: readonly unknown[],
    idempotencyKey?: string,
  ): Promise<Answered>;
  /** Reports events of which each is stored by this. */
  stored(organisation: CreatedOrganisation, events: readonly unknown[]): Promise<void>;
  /**
   * What became of each, in the order sent: `created`, `duplicate`, or the code by which it was
   * rejected.
   */
  verdicts(
    organisation: CreatedOrganisation,
    events: readonly unknown[],
  ): Promise<readonly string[]>;
}

/** The builder over an `ask`. */
export function usageBuilder(ask: Ask): UsageBuilder {
  const report: UsageBuilder["report"] = ({ apiKey }, events, idempotencyKey) =>
    ask("POST", "/v1/usage_events", {
      key: apiKey,
      body: { events },
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
  return {
    report,
    stored: async (organisation, events) => {
      const answer = await report(organisation, events);
      expect([answer.status, answer.json.created], answer.text).toEqual([200, events.length]);
    },
    verdicts: async (organisation, events) => {
      const answer = await report(organisation, events);
      expect([200, 207], answer.text).toContain(answer.status);
      return answer.json.results.map((result: Json) => result.error?.code ?? result.status);
    },
  };
}
