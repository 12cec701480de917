/** SQL of the kinds of leftovers that one statement finds. ADMIN-16. */
import { columns } from "../../../gen/columns.ts";
import { bool, pick, text, uuid } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { counts } from "../../documents/document-presence.ts";

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

/** Amendments that the ledger refused, whose units have moved. */
export const unbilled = sql`
  SELECT
    'unbilled_amendment' AS kind,
    i.id AS object_id, i.subscription_id,
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

/**
 * A credit is charged back by an invoice, and then no longer points at what it reversed. A charge
 * is credited back by a note that points at it.
 */
export const withoutCounterpart = sql`
  SELECT
    'end_without_counterpart',
    l.id, i.subscription_id,
    ARRAY[n.number, i.number],
    l.amount, i.currency
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
    l.id, n.subscription_id,
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

/**
 * The amount is lost if a restoration issued nothing for the period, because the invoice counted. A
 * refused amendment of it is put right first, because its lines would be billed twice.
 */
export const removedStands = sql`
  SELECT
    'removed_stands',
    i.id, i.subscription_id,
    ARRAY[i.number],
    CASE WHEN ${isMissing} THEN i.subtotal ELSE 0 END,
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

/**
 * The entry of a switch has the clock of a sandbox, which stood still meanwhile. A switch at the
 * very instant of the start came after it, because it first bills what is due (SETUP-4). Usage that
 * costs nothing is on no invoice, and what is above zero is on one (the CHECK of `usage_bills`).
 */
export const setupModeUsage = sql`
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

const lineColumns = sql`l.name, l.amount, l.revenue_account, l.tax_type, p.index,
  p.start_date AS start, p.end_date AS "end", p.billed_units`;

/**
 * A credit counts from the start of its period. A charge has the days of its period.
 */
export const loadReversal = query({
  name: "load_reversal_without_counterpart",
  text: sql`
    SELECT true AS is_credit, n.id AS document_id, n.number, i.number AS reversed, ${lineColumns}
    FROM
      credit_note_lines l
      JOIN credit_notes n ON n.organisation_id = $1 AND n.id = l.credit_note_id
      JOIN invoices i ON i.organisation_id = $1 AND i.id = l.reversed_invoice_id
      JOIN periods p
        ON p.organisation_id = $1
        AND p.subscription_id = n.subscription_id
        AND p.start_date = (l.effective_date AT TIME ZONE 'UTC')::date
    WHERE l.organisation_id = $1 AND l.id = $2
    UNION ALL
    SELECT false, i.id, i.number, n.number, ${lineColumns}
    FROM
      invoice_lines l
      JOIN invoices i ON i.organisation_id = $1 AND i.id = l.invoice_id
      JOIN credit_notes n ON n.organisation_id = $1 AND n.number = $3
      JOIN periods p
        ON p.organisation_id = $1
        AND p.subscription_id = i.subscription_id
        AND p.start_date = l.period_start
    WHERE l.organisation_id = $1 AND l.id = $2
  `,
  row: {
    isCredit: bool,
    documentId: uuid,
    number: text,
    reversed: text,
    ...pick(columns.invoiceLine, "name", "amount", "revenueAccount", "taxType"),
    index: columns.period.index,
    start: columns.period.startDate,
    end: columns.period.endDate,
    billedUnits: columns.period.billedUnits,
  },
});
