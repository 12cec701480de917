/**
 * An organisation with as many subscriptions and invoices as wanted, inserted set-based by SQL. The
 * first rows are inserted under all constraints and triggers, the rest, which differ in nothing but
 * ids, without them: otherwise a million rows would take hours.
 */
import assert from "node:assert/strict";
import pg from "pg";
import type { MeasuredSystem } from "../system.ts";
import { addMeters } from "../usage-meters.ts";
import type { Template } from "./paced-load.ts";
import { withoutIndexes } from "./without-indexes.ts";
import { publishAll } from "./worker-work.ts";

/**
 * Inserts running subscriptions with $3 months and $4 usage events, and for each month what the
 * service leaves: an invoice with a line, a finished job and a published snapshot. Ids are ordered
 * by time as the service's are. Those of subscriptions (IDEMPOTENCY-7), of the ledger and of usage
 * events are random.
 */
const growText = `
WITH day AS (
  SELECT date_trunc('month', now() AT TIME ZONE 'Pacific/Auckland')::date AS start
), customer AS (
  INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
  SELECT uuidv7(), $1, 'OLD-' || uuidv7(), 'Customer ' || n, n || '@old.example',
    'active', gen_random_uuid()
  FROM generate_series(1, ($2::int + 9) / 10) n RETURNING id, seq
), customers AS (
  SELECT id, row_number() OVER (ORDER BY seq) AS place FROM customer
), subscription AS (
  INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone, start_date, billing_day, current_period, renewal_date,
    units, minimum_units, discount_percent, due_at, request_hash, usage_bill, usage_billed)
  SELECT gen_random_uuid(), $1, c.id, p.id, 'active', 'NZD', 'month', 1, 'Pacific/Auckland',
    day.start - ($3::int - 1) * interval '1 month', 1, $3 - 1, day.start + interval '1 month',
    10, 1, 0, '2100-01-01', '\\x00', $3 - 1, $3 - 1
  FROM generate_series(1, $2::int) n JOIN customers c ON c.place = 1 + (n - 1) / 10, day, plans p
  WHERE p.organisation_id = $1 AND p.code = 'team'
  RETURNING id, customer_id, start_date
), month AS (
  SELECT n, s.id, s.customer_id, (s.start_date + n * interval '1 month')::date AS start,
    (s.start_date + (n + 1) * interval '1 month')::date AS end
  FROM subscription s, generate_series(0, $3::int - 1) n
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units)
  SELECT $1, id, n, nullif(n, 0) - 1, start, "end", 10 FROM month
), invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, type, status,
    currency, subtotal, total, amount_due, issue_date, due_date, period_index, period_start,
    period_end, ledger_invoice_id)
  SELECT uuidv7(), $1, customer_id, id, 'OLD-' || uuidv7(),
    CASE n WHEN 0 THEN 'first' ELSE 'renewal' END, CASE n WHEN $3 - 1 THEN 'approved' ELSE 'paid'
    END, 'NZD', 125, 125, CASE n WHEN $3 - 1 THEN 125 ELSE 0 END, start, start + 14, n, start,
    "end", gen_random_uuid()
  FROM month ORDER BY n RETURNING id, subscription_id, period_start, period_end
), job AS (
  INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, attempts,
    first_sent_at, finished_at)
  SELECT uuidv7(), $1, 'create_invoice', 'done', subscription_id, id, 1, now(), now() FROM invoice
), snapshot AS (
  INSERT INTO published_snapshots (organisation_id, object_kind, object_id, sequence, object)
  SELECT $1, 'invoice', id, 1, '{}' FROM invoice UNION ALL
  SELECT $1, 'subscription', id, 1, '{}' FROM subscription
), usage AS (
  INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
    bill, quantity, occurred_at)
  SELECT $1, gen_random_uuid()::text, m.id, p.meter_id, $3 - 1, $3 - 1, 1 + n,
    m.start::timestamp AT TIME ZONE 'Pacific/Auckland' + k * interval '1 second'
  FROM month m, generate_series(1, $4::int) k, (SELECT id AS meter_id FROM meters
    WHERE organisation_id = $1 ORDER BY seq LIMIT 1) p WHERE n = $3 - 1
)
INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind, name, description,
  units, unit_price, amount, period_start, period_end, revenue_account, tax_type)
SELECT uuidv7(), $1, id, 0, 'plan', 'Team', '10 × 12.50', 10, 12.5, 125, period_start,
  period_end, '200', 'OUTPUT2' FROM invoice`;

/** Subscriptions in one statement. */
const batch = 2_000;

/**
 * While rows are inserted, PostgreSQL seldom writes all changed pages to their files. Afterwards it
 * would log each page again that a random id touches.
 */
const insertSettings = { max_wal_size: "8GB", checkpoint_timeout: "1h" } as const;

/** The tables that get many rows. */
const grownTables = [
  "customers",
  "subscriptions",
  "periods",
  "invoices",
  "invoice_lines",
  "ledger_jobs",
  "published_snapshots",
  "usage_events",
] as const;

/** So many are inserted under all rules. */
const checked = 50;

/** The invoices of each subscription. */
export const invoicesOfEach = 10;

/** An organisation that is measured, with its keys and the requests to it. */
export interface GrownTenant {
  readonly organisationId: string;
  readonly keys: readonly string[];
  /** Adds subscriptions until there are so many. */
  growTo(subscriptions: number): Promise<void>;
  /** Returns the requests of each kind, over at most so many of the subscriptions. */
  requests(most: number): Promise<Requests>;
}

/** The requests of each kind. */
export type Requests = Readonly<Record<RequestKind, readonly Template[]>>;

/** The kinds of requests, in the order in which they are measured. */
export const requestKinds = ["list", "create", "units", "usage_single", "usage_batch100"] as const;

/** A kind of request. */
export type RequestKind = (typeof requestKinds)[number];

/** The usage events of each subscription, unless a measurement is about more. */
const eventsOfEachByDefault = 10;

/** Returns the kinds with these names, or all if there is none. Throws for another name. */
export function kindsNamed(names: readonly string[]): readonly RequestKind[] {
  const kinds = requestKinds.filter((kind) => names.length === 0 || names.includes(kind));
  assert(kinds.length >= names.length, `kinds are ${requestKinds.join(", ")}`);
  return kinds;
}

/** Creates the organisation without subscriptions. */
export async function createTenant(
  system: MeasuredSystem,
  name: string,
  keyCount: number,
  eventsOfEach: number = eventsOfEachByDefault,
): Promise<GrownTenant> {
  const { pool } = system;
  const { organisationId } = await system.organisation(name);
  await addMeters(pool, organisationId);
  const keys = await system.addKeys(organisationId, keyCount);
  let count = 0;
  const add = async (client: pg.Pool | pg.Client, wanted: number) => {
    await client.query(growText, [organisationId, wanted, invoicesOfEach, eventsOfEach]);
    count += wanted;
  };
  return {
    organisationId,
    keys,
    async growTo(subscriptions) {
      if (count === 0) {
        await add(pool, Math.min(checked, subscriptions));
        // Otherwise the relay could insert a snapshot again while no index prevents it.
        await publishAll(system);
      }
      await withoutTimeLimit(system.databaseUrl, async (client) => {
        for (const [name, value] of Object.entries(insertSettings))
          await client.query(`ALTER SYSTEM SET ${name} = '${value}'`);
        await client.query("SELECT pg_reload_conf()");
        await client.query("SET session_replication_role = replica");
        await withoutIndexes(client, grownTables, async () => {
          while (count < subscriptions) await add(client, Math.min(batch, subscriptions - count));
        });
        await client.query("VACUUM ANALYZE");
        for (const name of Object.keys(insertSettings))
          await client.query(`ALTER SYSTEM RESET ${name}`);
        await client.query("SELECT pg_reload_conf()");
        await client.query("CHECKPOINT");
      });
    },
    requests: (most) => requestsOf(pool, organisationId, most),
  };
}

/** Not by the pool: its statements are limited to ten seconds. */
async function withoutTimeLimit(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

async function requestsOf(pool: pg.Pool, organisationId: string, most: number): Promise<Requests> {
  const { rows } = await pool.query<{ id: string; today: string }>(
    `SELECT id, (now() AT TIME ZONE 'Pacific/Auckland')::date::text AS today FROM subscriptions
      WHERE organisation_id = $1 AND due_at = '2100-01-01' AND current_period = $2
      ORDER BY seq LIMIT $3`,
    [organisationId, invoicesOfEach - 1, most],
  );
  assert(rows.length > 0, "the organisation has subscriptions");
  const rise = { units: "%units%", prorate: true, effective_date: rows[0]?.today };
  // The number rises with each: 20 to 29, 210 to 299 and so on.
  const change = JSON.stringify(rise).replace(`"%units%"`, "2%count%");
  const ids = rows.map(({ id }) => id);
  const post = (path: string, body: string): Template => ({ method: "POST", path, body });
  const creation = { customer_code: "ACME", plan_code: "team", units: 10 };
  const report = (count: number) => (_: string, from: number) =>
    post("/v1/usage_events", `{"events":[${eventsOf(ids, from, count)}]}`);
  return {
    list: [{ method: "GET", path: "/v1/invoices?limit=25", body: null }],
    create: [post("/v1/subscriptions", JSON.stringify(creation))],
    units: ids.map((id) => post(`/v1/subscriptions/${id}/units`, change)),
    usage_single: ids.map(report(1)),
    usage_batch100: ids.slice(0, 50).map(report(100)),
  };
}

function eventsOf(ids: readonly string[], from: number, count: number): string {
  // An hour ago: more than any clock difference, and in the current month except on its first day.
  const timestamp = new Date(Date.now() - 3_600_000).toISOString();
  const events = Array.from({ length: count }, (_, place) => {
    const subscription = ids[(from + place) % ids.length];
    return (
      `{"event_id":"%uuid%","subscription":"${subscription}","meter_code":"api-calls",` +
      `"quantity":${1 + (place % 40)},"timestamp":"${timestamp}"}`
    );
  });
  return events.join(",");
}
