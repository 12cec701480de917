/**
 * Lists what faults of earlier versions left of an organisation's money. Each row is gone once it
 * is put right. SQL: four kinds of facts are found and paged together. The fifth is priced by the
 * domain. ADMIN-16.
 */
import { Refusal } from "../../../domain/refusal.ts";
import { isId } from "../../database/ids.ts";
import type { Page, PageRequest } from "../../database/page.ts";
import type { Executor } from "../../database/prisma/client.ts";
import { arrayOf, numeric, type RowOf, text, uuid } from "../../database/sql/columns.ts";
import { joinSql, sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { counts } from "../../documents/document-presence.ts";
import { findUnbilledIncreases } from "./unbilled-increases.ts";

/**
 * `unbilled_amendment`: the ledger refused an amendment, units are moved, and nothing bills them.
 * `end_without_counterpart`: an end credited or charged back what the ledger does not have.
 * `removed_stands`: an end removed an invoice that the ledger then lost, so that it counted
 * again. `setup_mode_usage`: usage of a period that began in Setup Mode was billed.
 * `unbilled_increase`: units rose after a person had removed the next period's invoice, and nothing
 * bills the increase in that period.
 */
export type LeftoverKind =
  | "unbilled_amendment"
  | "end_without_counterpart"
  | "removed_stands"
  | "setup_mode_usage"
  | "unbilled_increase";

/** `objectId` is that of its invoice, line or subscription. */
const leftoverRow = {
  id: text,
  kind: text.as<LeftoverKind>(),
  objectId: uuid,
  subscriptionId: uuid,
  /** The numbers of its documents, the wrong one first. */
  numbers: arrayOf(text),
  /** What the customer is billed too little, or too much if it is negative. */
  amount: numeric,
  currency: text,
};

/** A leftover. */
export type Leftover = RowOf<typeof leftoverRow>;

/**
 * SQL: nothing bills the period of removed invoice `i`, although its subscription was restored
 * since.
 */
const isMissing = sql`(i.type IN ('renewal', 'first') AND EXISTS (SELECT FROM removals r
      JOIN terminations e ON e.organisation_id = $1 AND e.id = r.termination_id AND e.ended
      JOIN restorations m ON m.organisation_id = $1 AND m.subscription_id = i.subscription_id
        AND m.seq > e.seq
    WHERE r.organisation_id = $1 AND r.invoice_id = i.id AND r.state = 'removed'
      AND NOT r.reissued)
  AND NOT EXISTS (SELECT FROM periods p WHERE p.organisation_id = $1
    AND p.subscription_id = i.subscription_id AND p.index = i.period_index AND p.setup_mode)
  AND NOT EXISTS (SELECT FROM invoices b WHERE b.organisation_id = $1
    AND b.subscription_id = i.subscription_id AND b.type = i.type
    AND b.period_index = i.period_index AND b.seq > i.seq))`;

const unbilled = sql`
  SELECT
    'unbilled_amendment' AS kind,
    i.id AS object_id,
    i.subscription_id,
    ARRAY[i.number] AS numbers,
    coalesce(
      (
        SELECT sum(l.amount)
        FROM invoice_lines l
        WHERE
          l.organisation_id = $1
          AND l.invoice_id = i.id
          AND l.amending
          AND l.ledger_line_id IS NULL
          AND l.kind <> 'plan'
      ),
      0
    ) + coalesce(
      (
        SELECT l.amount - (i.amending_from ->> 'amount')::numeric
        FROM invoice_lines l
        WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND l.kind = 'plan'
      ),
      0
    ) AS amount,
    i.currency
  FROM invoices i
  WHERE
    i.organisation_id = $1
    AND i.id IN (
      SELECT o.invoice_id
      FROM ledger_jobs o
      WHERE o.organisation_id = $1 AND o.kind = 'amend_invoice' AND o.state = 'refused'
    )
    AND EXISTS (
      SELECT
      FROM invoice_lines l
      WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND l.amending
    )
    AND NOT EXISTS (
      SELECT
      FROM ledger_jobs o
      WHERE
        o.organisation_id = $1
        AND o.invoice_id = i.id
        AND o.kind = 'amend_invoice'
        AND o.state IN ('ready', 'sending', 'uncertain')
    )
`;

// A credit is charged back by an invoice, and then no longer points at what it reversed. A charge
// is credited back by a note that points at it.
const withoutCounterpart = sql`
  SELECT
    'end_without_counterpart',
    l.id,
    i.subscription_id,
    ARRAY[n.number, i.number],
    l.amount,
    i.currency
  FROM
    invoices i
    JOIN credit_notes n
      ON n.organisation_id = $1 AND n.subscription_id = i.subscription_id AND ${counts(sql`n`)}
    JOIN credit_note_lines l
      ON l.organisation_id = $1
      AND l.credit_note_id = n.id
      AND l.reversed_invoice_id = i.id
      AND l.meter_id IS NULL
  WHERE i.organisation_id = $1 AND i.status = 'not_in_external'
  UNION ALL
  SELECT
    'end_without_counterpart',
    l.id,
    n.subscription_id,
    ARRAY[i.number, n.number],
    -l.amount,
    n.currency
  FROM
    credit_notes n
    JOIN invoices i
      ON i.organisation_id = $1
      AND i.subscription_id = n.subscription_id
      AND i.type = 'change'
      AND ${counts(sql`i`)}
    JOIN invoice_lines l
      ON l.organisation_id = $1
      AND l.invoice_id = i.id
      AND l.kind = 'proration'
      AND l.description LIKE 'Reverses ' || n.number || ' for the period%'
  WHERE
    n.organisation_id = $1
    AND n.status = 'not_in_external'
    AND NOT EXISTS (
      SELECT
      FROM
        credit_notes b
        JOIN credit_note_lines c ON c.organisation_id = $1 AND c.credit_note_id = b.id
      WHERE
        b.organisation_id = $1
        AND b.subscription_id = i.subscription_id
        AND c.reversed_invoice_id = i.id
    )
`;

// The amount is lost if a restoration issued nothing for the period, because the invoice counted. A
// refused amendment of it is put right first, because its lines would be billed twice.
const removedStands = sql`
  SELECT
    'removed_stands',
    i.id,
    i.subscription_id,
    ARRAY[i.number],
    CASE
      WHEN ${isMissing} THEN i.subtotal
      ELSE 0
    END,
    i.currency
  FROM invoices i
  WHERE
    i.organisation_id = $1
    AND i.status = 'not_in_external'
    AND EXISTS (
      SELECT
      FROM removals r
      WHERE r.organisation_id = $1 AND r.invoice_id = i.id AND r.state = 'removed'
    )
    AND NOT EXISTS (
      SELECT
      FROM invoice_lines l
      WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND l.amending
    )
`;

// The entry of a switch has the clock of a sandbox, which stood still meanwhile. A switch at the
// very instant of the start came after it, because it first bills what is due (SETUP-4). Usage that
// costs nothing is on no invoice, and what is above zero is on one (the CHECK of `usage_bills`).
const setupModeUsage = sql`
  SELECT 'setup_mode_usage', s.id, s.id, u.numbers, -u.amount, s.currency
  FROM
    organisations o
    JOIN subscriptions s ON s.organisation_id = $1 AND s.status <> 'pending'
    JOIN periods p
      ON p.organisation_id = $1 AND p.subscription_id = s.id AND p.index = 0 AND NOT p.setup_mode
    CROSS JOIN LATERAL (SELECT p.start_date::timestamp AT TIME ZONE s.timezone AS instant) begun
    CROSS JOIN LATERAL (
      SELECT
        sum(b.amount) AS amount,
        array_agg(DISTINCT i.number) FILTER (WHERE i.id IS NOT NULL) AS numbers
      FROM
        usage_bills b
        LEFT JOIN invoices i ON i.organisation_id = $1 AND i.id = b.invoice_id
      WHERE b.organisation_id = $1 AND b.subscription_id = s.id AND b.period_index = 0
    ) u
  WHERE
    o.id = $1
    AND s.created_at < begun.instant
    AND u.amount > 0
    AND (
      SELECT a.after ->> 'setup_mode'
      FROM audit_log a
      WHERE
        a.target_id = o.id
        AND a.after ? 'setup_mode'
        AND coalesce((a.after ->> 'test_clock')::timestamptz, a.created_at) < begun.instant
      ORDER BY a.seq DESC
      LIMIT 1
    ) = 'true'
`;

const leftovers = sql`
  SELECT
    t.kind || '.' || t.object_id AS id,
    t.kind,
    t.object_id,
    t.subscription_id,
    t.numbers,
    t.amount::numeric(20, 4) AS amount,
    t.currency
  FROM (${joinSql([unbilled, withoutCounterpart, removedStands, setupModeUsage], " UNION ALL ")}) t
`;

const listAll = query({
  name: "list_leftovers",
  planned: "each time",
  text: sql`
    SELECT *
    FROM (${leftovers}) l
    WHERE $2::text IS NULL OR l.id > $2 COLLATE "C"
    ORDER BY l.id COLLATE "C"
    LIMIT $3
  `,
  row: leftoverRow,
});

const findOne = query({
  name: "find_leftover",
  planned: "each time",
  text: sql`${leftovers} WHERE t.kind = $2 AND t.object_id = $3::uuid`,
  row: leftoverRow,
});

/**
 * Returns a page, ordered by id. Refuses `invalid_parameter`, param `starting_after`, for text that
 * is no id of a leftover. One that is put right by now is a position like any other.
 */
export async function listLeftovers(
  executor: Executor,
  organisationId: string,
  { limit, startingAfter }: PageRequest,
): Promise<Page<Leftover>> {
  if (startingAfter !== null && readLeftoverId(startingAfter) === null) {
    const message = "starting_after is not the id of a leftover.";
    throw new Refusal("invalid_parameter", message, "starting_after");
  }
  const found = await listAll(executor, organisationId, startingAfter, limit + 1);
  const increases = (await findUnbilledIncreases(executor, organisationId))
    .map(({ leftover }) => leftover)
    .filter(({ id }) => startingAfter === null || id > startingAfter);
  const rows = [...found, ...increases].sort((left, right) => (left.id < right.id ? -1 : 1));
  return { data: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** Finds a leftover. Null if there is none with this id, or none any more. */
export async function findLeftover(
  executor: Executor,
  organisationId: string,
  id: string,
): Promise<Leftover | null> {
  const known = readLeftoverId(id);
  if (known === null) return null;
  if (known.kind === "unbilled_increase") {
    const increases = await findUnbilledIncreases(executor, organisationId);
    return increases.find(({ leftover }) => leftover.id === id)?.leftover ?? null;
  }
  const [leftover] = await findOne(executor, organisationId, known.kind, known.objectId);
  return leftover ?? null;
}

function readLeftoverId(id: string): { readonly kind: string; readonly objectId: string } | null {
  const [kind = "", objectId = "", ...rest] = id.split(".");
  return rest.length === 0 && isId(objectId) ? { kind, objectId } : null;
}
