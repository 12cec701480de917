/**
 * The cost of a list of 25 invoices with their lines. It is read over REST, by many organisations
 * under the real rate limit. The floor is the same statement by raw pg with the same concurrency.
 *
 * Aim: 3,000 lists a second, and 99 % within 30 ms. OBJECT-3
 */
import assert from "node:assert/strict";
import type pg from "pg";
import { listPage } from "../src/store/database/page.ts";
import { invoiceListing } from "../src/store/documents/invoices.ts";
import { cpuSecondsUsed } from "./support/cpu.ts";
import { median, printFigure } from "./support/figure.ts";
import { type HttpLoad, type LoadResult, startHttpLoad } from "./support/http-load.ts";
import { addPlatforms, keysOfEach } from "./support/platforms.ts";
import { publishAll } from "./support/publish-all.ts";
import { type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";

/** Enough to keep both cores busy. */
const connections = 32;
const batchMs = 4_000;
/** Service and floor alternate, so that other work on the machine affects both. */
const repetitions = 3;

const subscriptions = 10;
const invoicesOfEach = 20;
/** Pages that each key reads: the newest, and others throughout the list. */
const pages = 5;
const pageSize = 25;

/**
 * Inserts an organisation's invoices with two lines each. Most of them are paid and long in the
 * ledger.
 */
const seedText = `
WITH subscription AS (
  INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone,
    start_date, billing_day, current_period, renewal_date, units, minimum_units, discount_percent,
      due_at, request_hash)
  SELECT gen_random_uuid(), $1, (SELECT id FROM customers WHERE organisation_id = $1
    ORDER BY seq OFFSET n % 3 LIMIT 1), p.id,
    'active', 'NZD', 'month', 1, 'Pacific/Auckland', '2024-03-01', 1, $3 - 1,
      '2024-03-01'::date + $3 * interval '1 month',
    10, 1, 0, '2100-01-01', '\\x00'
  FROM generate_series(1, $2::int) n, plans p WHERE p.organisation_id = $1 AND p.code = 'team'
  RETURNING id, customer_id
), month AS (
  SELECT n, ('2024-03-01'::date + n * interval '1 month')::date AS start,
    ('2024-03-01'::date + (n + 1) * interval '1 month')::date AS end
  FROM generate_series(0, $3::int - 1) n
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units)
  SELECT $1, s.id, m.n, nullif(m.n, 0) - 1, m.start, m.end, 10 FROM subscription s, month m
), invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, reference, type,
    status, currency, subtotal,
    total, amount_due, issue_date, due_date, period_index, period_start, period_end,
      ledger_invoice_id)
  SELECT gen_random_uuid(), $1, s.customer_id, s.id, 'INV-' || row_number() OVER (ORDER BY n, s.id),
    'PO-' || n,
    CASE n WHEN 0 THEN 'first' ELSE 'renewal' END, CASE WHEN n < $3 - 2 THEN 'paid'
      ELSE 'draft' END, 'NZD', 164.9, 189.635,
    CASE WHEN n < $3 - 2 THEN 0 ELSE 189.635 END, m.start, m.start + 14, n, m.start, m.end,
      gen_random_uuid()
  FROM subscription s, month m ORDER BY n, s.id
  RETURNING id, period_start, period_end
)
INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind, name, description,
  units, unit_price, amount,
  period_start, period_end, charge_id, revenue_account, tax_type)
SELECT gen_random_uuid(), $1, i.id, l.position, l.kind, l.name, l.description, l.units, l.price,
  l.amount,
  CASE l.position WHEN 0 THEN i.period_start END, CASE l.position WHEN 0 THEN i.period_end END,
  CASE l.position WHEN 1 THEN c.id END, '200', 'OUTPUT2'
FROM invoice i, charges c, (VALUES (0, 'plan', 'Team', 'Team, 10 seats x 12.50', 10, 12.5, 125),
  (1, 'charge', 'Hardware key', 'Hardware key, 1 x 39.90', 1, 39.9, 39.9)) l (position, kind, name,
    description, units, price, amount)
WHERE c.organisation_id = $1 AND c.code = 'hardware-key'`;

interface Seeded {
  readonly organisationId: string;
  readonly keys: readonly string[];
  /** The positions where pages begin. Null is the newest. */
  readonly positions: readonly (string | null)[];
}

async function seed(system: MeasuredSystem): Promise<readonly Seeded[]> {
  const { pool } = system;
  const seeded: Seeded[] = [];
  for (const { organisationId, keys } of await addPlatforms(system, "Organisation")) {
    await pool.query(seedText, [organisationId, subscriptions, invoicesOfEach]);
    const { rows } = await pool.query<{ id: string }>(
      `SELECT id FROM (SELECT id, row_number() OVER (ORDER BY seq DESC) AS place FROM invoices
        WHERE organisation_id = $1) i
        WHERE place % ($2::int / $3::int) = 0 ORDER BY place LIMIT $3::int - 1`,
      [organisationId, subscriptions * invoicesOfEach, pages],
    );
    assert.equal(rows.length, pages - 1);
    const positions = [null, ...rows.map(({ id }) => id)];
    seeded.push({ organisationId, keys, positions });
  }
  return seeded;
}

/** Takes the keys in turn, so that all have the same load. */
function requestsOf(seeded: readonly Seeded[]): readonly string[] {
  return Array.from({ length: pages }, (_, page) => page).flatMap((page) =>
    Array.from({ length: keysOfEach }, (_, key) => key).flatMap((key) =>
      seeded.map(({ keys, positions }) => {
        const after = positions[page] ? `&starting_after=${positions[page]}` : "";
        const path = `/v1/invoices?limit=${pageSize}${after}`;
        const authorization = `Authorization: Bearer ${keys[key]}`;
        return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}\r\n\r\n`;
      }),
    ),
  );
}

/** Records the statements that the service sends for these lists. They are never answered. */
function statementsOf(seeded: readonly Seeded[]): readonly pg.QueryConfig[] {
  const sent: pg.QueryConfig[] = [];
  const query = (config: pg.QueryConfig) => {
    sent.push(config);
    return new Promise(() => undefined);
  };
  const spy = { query } as unknown as pg.Pool;
  for (let page = 0; page < pages; page++) {
    for (const { organisationId, positions } of seeded) {
      const startingAfter = positions[page] ?? null;
      void listPage(spy, organisationId, invoiceListing, [], { limit: pageSize, startingAfter });
    }
  }
  return sent;
}

/** The speed of one batch, per second of the clock and of processor time. */
interface Speed {
  readonly perSecond: number;
  /**
   * Of all processes except the load generator: PostgreSQL's and the service's, or the floor's
   * client's.
   */
  readonly perCpuSecond: number;
}

async function measure(load: HttpLoad, work: () => Promise<number>): Promise<Speed> {
  const cpuBefore = cpuSecondsUsed(load.pid);
  const began = performance.now();
  const answers = await work();
  const seconds = (performance.now() - began) / 1_000;
  return {
    perSecond: answers / seconds,
    perCpuSecond: answers / (cpuSecondsUsed(load.pid) - cpuBefore),
  };
}

/**
 * Sends the statements by raw pg, with as many connections as the load has to the service. Returns
 * the number of answers.
 */
async function sendStatements(
  pool: pg.Pool,
  statements: readonly pg.QueryConfig[],
): Promise<number> {
  const endMs = performance.now() + batchMs;
  let sent = 0;
  let answers = 0;
  const one = async () => {
    while (performance.now() < endMs) {
      const statement = statements[sent++ % statements.length];
      assert(statement);
      const { rows } = await pool.query(statement);
      assert.equal(rows.length, pageSize + 1);
      answers++;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  return answers;
}

/**
 * Prints lists a second against the floor, and their durations. Rejects if a list was not answered
 * with 200.
 */
export async function run(): Promise<void> {
  const system = await startMeasuredSystem();
  const load = startHttpLoad();
  try {
    const seeded = await seed(system);
    await publishAll(system);
    await system.pool.query("VACUUM ANALYZE");
    const requests = requestsOf(seeded);
    const statements = statementsOf(seeded);
    const port = Number(new URL(system.baseUrl).port);
    const results: LoadResult[] = [];
    const speeds: { lists: Speed[]; floor: Speed[] } = { lists: [], floor: [] };
    // The first batch warms up the compilers and the database's cache.
    for (let repetition = 0; repetition <= repetitions; repetition++) {
      const lists = await measure(load, async () => {
        const parameters = {
          port,
          requests,
          status: 200,
          connections,
          durationMs: batchMs,
          sleeps: true,
        };
        const result = await load.run(parameters);
        assert.equal(result.failures, 0, "every list is answered");
        results.push(result);
        return result.answers;
      });
      const floor = await measure(load, () => sendStatements(system.pool, statements));
      speeds.lists.push(lists);
      speeds.floor.push(floor);
    }
    const middle = (of: Speed[], by: keyof Speed) => median(of.slice(1).map((speed) => speed[by]));
    for (const [name, unit, by] of [
      ["lists_25_invoices", "lists/s", "perSecond"],
      ["lists_25_invoices_cpu", "lists/cpu-s", "perCpuSecond"],
    ] as const) {
      printFigure(name, middle(speeds.lists, by), unit, middle(speeds.floor, by));
    }
    printFigure("lists_p50", median(results.slice(1).map(({ p50Ms }) => p50Ms)), "ms");
    printFigure("lists_p99", median(results.slice(1).map(({ p99Ms }) => p99Ms)), "ms");
  } finally {
    load.stop();
    await system.stop();
  }
}
