/**
 * Finds increases of units that nothing bills in a period whose renewal invoice a person removed.
 * Earlier versions took such a period for one without an invoice: an increase was refused
 * `separate`, billed the current period alone, and began the next one as if that were billed. SQL:
 * one read compares the units of many documents. ADMIN-16.
 */
import {
  type UnbilledIncrease,
  wholeIncrease,
} from "../../../domain/billing/leftover-documents.ts";
import { civilDate } from "../../../domain/calendar/civil-date.ts";
import { compare, formatDecimal, ZERO } from "../../../domain/money/decimal.ts";
import { columns } from "../../../gen/columns.ts";
import {
  planJson,
  readSubscription,
  subscriptionColumns,
  subscriptionRow,
  subscriptionSource,
} from "../../billing/subscription-row.ts";
import { planRow, readPlan } from "../../catalogue/catalogue.ts";
import { day, int, jsonRow, type RowOf, uuid } from "../../database/sql/columns.ts";
import { literal, sql } from "../../database/sql/sql.ts";
import { type Executor, query } from "../../database/sql/statement.ts";
import { keepsPlace } from "../../documents/document-presence.ts";
import { answerLost } from "../../subscriptions/break-off.ts";
import type { Leftover } from "./list-leftovers.ts";

/** An increase, and what the list shows of it. */
export interface FoundIncrease {
  readonly leftover: Leftover;
  readonly increase: UnbilledIncrease;
}

const increaseRow = {
  ...subscriptionRow,
  plan: jsonRow(planRow),
  objectId: uuid,
  number: columns.invoice.number,
  index: columns.period.index,
  periodStart: day,
  periodEnd: day,
  fromUnits: int,
  toUnits: int,
};

// The last renewal invoice of its period, which a person removed. A credit does not say which units
// it was measured from, so that a period with one is left out.
const removed = sql`
  SELECT
    i.id, i.seq, i.number, i.subscription_id, p.index, p.start_date, p.end_date, p.billed_units,
    l.units, s.current_period, s.units AS units_now,
    p.start_date::timestamp AT TIME ZONE s.timezone AS start_instant,
    s.status = 'active'
    AND NOT s.cancel_at_period_end
    AND coalesce(s.renewal_date < s.end_date, true) AS will_renew
  FROM
    invoices i
    JOIN subscriptions s ON s.organisation_id = $1 AND s.id = i.subscription_id
    JOIN periods p
      ON p.organisation_id = $1
      AND p.subscription_id = s.id
      AND p.index = i.period_index
      AND NOT p.setup_mode
    JOIN invoice_lines l ON l.organisation_id = $1 AND l.invoice_id = i.id AND l.kind = 'plan'
  WHERE
    i.organisation_id = $1
    AND i.type = 'renewal'
    AND NOT ${keepsPlace(sql`i`)}
    AND NOT EXISTS (
      SELECT
      FROM removals r
      WHERE
        r.organisation_id = $1
        AND r.invoice_id = i.id
        AND (r.state = 'removed' OR r.reason = ${literal(answerLost)})
    )
    AND NOT EXISTS (
      SELECT
      FROM invoices b
      WHERE
        b.organisation_id = $1
        AND b.subscription_id = s.id
        AND b.type = 'renewal'
        AND b.period_index = i.period_index
        AND b.seq > i.seq
    )
    AND NOT EXISTS (
      SELECT
      FROM
        credit_notes n
        JOIN credit_note_lines c ON c.organisation_id = $1 AND c.credit_note_id = n.id
      WHERE
        n.organisation_id = $1
        AND n.subscription_id = s.id
        AND c.meter_id IS NULL
        AND c.effective_date >= p.start_date::timestamp AT TIME ZONE 'UTC'
        AND c.effective_date < p.end_date::timestamp AT TIME ZONE 'UTC'
    )
`;

// What is billed of the period from some units to more, whatever became of its document.
const steps = sql`
  SELECT r.id, l.from_units, l.to_units
  FROM
    removed r
    JOIN invoices i
      ON i.organisation_id = $1 AND i.subscription_id = r.subscription_id AND i.seq >= r.seq
    JOIN invoice_lines l
      ON l.organisation_id = $1
      AND l.invoice_id = i.id
      AND l.kind = 'proration'
      AND l.period_start >= r.start_date
      AND l.period_end = r.end_date
  WHERE l.from_units < l.to_units
  UNION ALL
  SELECT r.id, d.from_units, d.to_units
  FROM
    removed r
    JOIN deferred_lines d
      ON d.organisation_id = $1
      AND d.subscription_id = r.subscription_id
      AND d.period_index = r.index
`;

// A period that has begun since with the higher units as its billed ones: no document bills from
// the units of the renewal invoice, or of the last step, to those that follow.
const begunHigher = sql`
  SELECT
    e.units AS from_units,
    (
      SELECT min(f.units)
      FROM
        (
          SELECT t.from_units FROM steps t WHERE t.id = r.id
          UNION ALL
          SELECT r.billed_units
        ) f (units)
      WHERE f.units > e.units
    ) AS to_units
  FROM
    (
      SELECT r.units
      UNION
      SELECT t.to_units FROM steps t WHERE t.id = r.id
    ) e (units)
  WHERE
    r.index <= r.current_period
    AND e.units < r.billed_units
    AND NOT EXISTS (
      SELECT
      FROM steps t
      WHERE t.id = r.id AND t.from_units <= e.units AND t.to_units > e.units
    )
`;

// A period that is still to come, or has begun with the billed units that it had. Which changes
// came before its start is known of live organisations alone: changes have the database's time. A
// sandbox bills nobody.
const begunLower = sql`
  SELECT r.billed_units, u.units
  FROM
    (
      SELECT
        CASE
          WHEN r.index > r.current_period THEN r.units_now
          ELSE (
            SELECT c.to_units
            FROM unit_changes c
            WHERE
              c.organisation_id = $1
              AND c.subscription_id = r.subscription_id
              AND c.created_at < r.start_instant
            ORDER BY c.seq DESC
            LIMIT 1
          )
        END
    ) u (units)
  WHERE
    r.billed_units < u.units
    AND CASE
      WHEN r.index > r.current_period THEN r.will_renew
      ELSE (SELECT o.livemode FROM organisations o WHERE o.id = $1)
    END
`;

const find = query({
  name: "find_unbilled_increases",
  planned: "each time",
  text: sql`WITH removed AS (${removed}), steps AS (${steps})
    SELECT ${subscriptionColumns}, ${planJson} AS plan, r.id AS object_id, r.number, r.index,
      r.start_date AS period_start, r.end_date AS period_end, g.from_units, g.to_units
    FROM ${subscriptionSource} JOIN removed r ON r.subscription_id = t.id
      CROSS JOIN LATERAL (${begunHigher} UNION ALL ${begunLower} ORDER BY 1 LIMIT 1) g
    WHERE t.organisation_id = $1`,
  row: increaseRow,
});

/**
 * Finds the increases of an organisation, in any order. What costs nothing more, or less, is none:
 * nothing was billed too little.
 */
export async function findUnbilledIncreases(
  executor: Executor,
  organisationId: string,
): Promise<readonly FoundIncrease[]> {
  return (await find(executor, organisationId)).flatMap(readIncrease);
}

function readIncrease(row: RowOf<typeof increaseRow>): FoundIncrease[] {
  const { objectId, number, index, fromUnits, toUnits } = row;
  const period = { index, start: civilDate(row.periodStart), end: civilDate(row.periodEnd) };
  const increase = { period, fromUnits, toUnits };
  const subscription = readSubscription(row);
  const { amount } = wholeIncrease(readPlan(row.plan), subscription, increase);
  if (compare(amount, ZERO) <= 0) return [];
  const kind = "unbilled_increase";
  const leftover = {
    id: `${kind}.${objectId}`,
    kind,
    objectId,
    subscriptionId: subscription.id,
    numbers: [number],
    amount: formatDecimal(amount),
    currency: subscription.currency,
  } as const;
  return [{ leftover, increase }];
}
