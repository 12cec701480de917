/**
 * Renews subscriptions, from due to ready for the ledger. Each renewal writes a period, an invoice
 * with its line and its ledger job, and moves the subscription on. 20 organisations, four at once,
 * as a worker performs them, but without the workflow engine, which a worker calls once in two
 * seconds. The floor writes the same rows by raw SQL without a decision.
 *
 * Aim: 5,000 a second, and a cost for each that does not grow with their number. INVARIANT-1
 */
import assert from "node:assert/strict";
import type pg from "pg";
import { type MeasuredDatabase, startMeasuredDatabase } from "./support/database.ts";
import { addDueSubscriptions } from "./support/due-subscriptions.ts";
import { median, printFigure } from "./support/figure.ts";
import { type Renewed, renewAll, renewByBilling, renewByFloor } from "./support/renewing.ts";
import { isShort } from "./support/short.ts";
import { measureTail, type Tail } from "./support/tail.ts";

const organisations = 20;

/** How many are due in each step, over all organisations. Each step adds to the ones before. */
const steps = [
  // Compiling and first plans do not count.
  { name: null, due: 2_000 },
  { name: "1k", due: 1_000 },
  { name: "10k", due: 10_000 },
  { name: "100k", due: 100_000 },
] as const;

/** Three times the same, for the median. */
const shortSteps = [
  { name: null, due: 2_000 },
  { name: "10k", due: 10_000 },
  { name: "10k", due: 10_000 },
  { name: "10k", due: 10_000 },
] as const;

/**
 * Rejects unless every subscription has one renewal: one period more, one invoice with a line and a
 * waiting ledger job, and a new renewal date.
 */
async function requireEachOnce(
  pool: pg.Pool,
  organisationIds: readonly string[],
  count: number,
): Promise<void> {
  const { rows } = await pool.query(
    `SELECT count(*)::int AS subscriptions,
      count(*) FILTER (WHERE r.invoices IS DISTINCT FROM 1 OR r.lines IS DISTINCT FROM 1
        OR r.operations IS DISTINCT FROM 1)::int AS wrong_invoices,
      count(*) FILTER (WHERE p.periods <> 2 OR s.current_period <> 1 OR s.due_at <= now()
        OR s.parked_attempts > 0)::int AS wrong_periods
    FROM subscriptions s
    LEFT JOIN (SELECT i.subscription_id, count(DISTINCT i.id) AS invoices,
      count(DISTINCT l.id) AS lines, count(DISTINCT o.id) AS operations
      FROM invoices i LEFT JOIN invoice_lines l ON l.organisation_id = i.organisation_id
        AND l.invoice_id = i.id
      LEFT JOIN ledger_jobs o ON o.organisation_id = i.organisation_id AND o.invoice_id = i.id
        AND o.state = 'ready'
      WHERE i.type = 'renewal' GROUP BY i.subscription_id) r ON r.subscription_id = s.id
    LEFT JOIN (SELECT subscription_id, count(*) AS periods FROM periods GROUP BY subscription_id) p
      ON p.subscription_id = s.id
    WHERE s.organisation_id = ANY ($1)`,
    [organisationIds],
  );
  assert.deepEqual(rows, [{ subscriptions: count, wrong_invoices: 0, wrong_periods: 0 }]);
  const numbers = await pool.query(
    `SELECT organisation_id FROM invoices WHERE type = 'renewal' AND organisation_id = ANY ($1)
      GROUP BY organisation_id
      HAVING count(DISTINCT number) <> count(*) OR max(substr(number, 5)::int) <> count(*)`,
    [organisationIds],
  );
  assert.deepEqual(numbers.rows, [], "numbers follow each other without a gap");
}

async function addOrganisations(
  database: MeasuredDatabase,
  kind: string,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let number = 0; number < organisations; number++)
    ids.push(await database.organisation(`${kind} ${number}`));
  return ids;
}

/** Everything measured of a step. */
interface Measured {
  readonly ours: Renewed[];
  readonly bare: Renewed[];
  readonly tails: Tail[];
}

function print(name: string, { ours, bare: floors, tails }: Measured): void {
  const middle = (of: readonly Renewed[], by: "perSecond" | "cpuMicroseconds") =>
    median(of.map((renewed) => renewed[by]));
  const perSecond = [middle(ours, "perSecond"), middle(floors, "perSecond")] as const;
  printFigure(`renewals_${name}`, perSecond[0], "renewals/s", perSecond[1]);
  const cost = [middle(ours, "cpuMicroseconds"), middle(floors, "cpuMicroseconds")] as const;
  printFigure(`renewals_${name}_cost`, cost[0], "cpu-us/renewal", cost[1]);
  const longest = (by: keyof Tail) => Math.max(...tails.map((tail) => tail[by]));
  printFigure(`renewals_${name}_longest_statement`, longest("statementMs"), "ms");
  printFigure(`renewals_${name}_longest_pause`, longest("pauseMs"), "ms");
}

/** Prints the figures. Rejects if a period was billed twice or not at all. */
export async function run(): Promise<void> {
  const database = await startMeasuredDatabase();
  try {
    const { pool } = database;
    const [measured, bare] = [
      await addOrganisations(database, "Measured"),
      await addOrganisations(database, "Floor"),
    ];
    const [renew, renewBare] = [renewByBilling(pool), renewByFloor(pool)];
    const measurements = new Map<string, Measured>();
    let total = 0;
    for (const { name, due } of isShort ? shortSteps : steps) {
      const each = due / organisations;
      for (const id of [...measured, ...bare]) await addDueSubscriptions(pool, id, each);
      // Autovacuum does this within the first minute. Without it, statements planned over empty
      // tables read whole tables.
      await pool.query({ text: "VACUUM ANALYZE", ...unlimited });
      const endTail = measureTail(pool);
      const renewed = await renewAll(renew, measured, due);
      const tail = endTail();
      const floor = await renewAll(renewBare, bare, due);
      total += due;
      if (name === null) continue;
      const of = measurements.get(name) ?? { ours: [], bare: [], tails: [] };
      measurements.set(name, of);
      of.ours.push(renewed);
      of.bare.push(floor);
      of.tails.push(tail);
    }
    for (const [name, of] of measurements) print(name, of);
    await requireEachOnce(pool, measured, total);
    printFigure("renewals_billed_once", total, "renewals");
  } finally {
    await database.stop();
  }
}

/** pg accepts a time limit for one query; its types lack it. */
const unlimited: { readonly query_timeout: number } = { query_timeout: 0 };
