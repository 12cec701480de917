/**
 * Loads an amendment whose invoice can no longer be edited: the lines that it adds, and its
 * re-pricing. SQL, because it sums lines.
 */

import { strict as assert } from "node:assert";
import { civilDate } from "../../../domain/calendar/civil-date.ts";
import { parseDecimal } from "../../../domain/money/decimal.ts";
import type { ClosedAmendment } from "../../../domain/subscriptions/abandoned-amendment.ts";
import type { Period } from "../../../gen/prisma/client.ts";
import type { Transaction } from "../../database/pool.ts";

/** The reason of a done amendment that new documents bill. */
export const movedReason = "moved";

/**
 * SQL: ids of subscription `$2`'s unit changes that invoice `$3` should bill but lacks in the
 * ledger, all since its last successful amendment.
 */
export const lackingChanges = `SELECT change.id FROM (
    SELECT c.id, o.seq, o.state = 'refused' OR o.reason = '${movedReason}' AS is_lacking,
      max(o.seq) FILTER (WHERE o.state = 'done' AND o.reason IS NULL) OVER () AS done_seq
    FROM unit_changes c JOIN ledger_jobs o ON o.organisation_id = $1 AND o.id = ANY (c.job_ids)
    WHERE c.organisation_id = $1 AND c.subscription_id = $2
      AND $3::uuid IN (c.invoice_id, c.renewal_invoice_id)
      AND o.invoice_id = $3 AND o.kind = 'amend_invoice'
  ) change WHERE change.is_lacking AND change.seq > coalesce(change.done_seq, 0)`;

/**
 * SQL: invoice line `l` is one to add. An amendment only re-prices a plan line and never adds one.
 */
export const isAddedLine = "l.amending AND l.ledger_line_id IS NULL AND l.kind <> 'plan'";

/**
 * The invoice's period, the sum of the lines to add as decimal text, the units of its plan line
 * before and after the re-pricing. Dates are `YYYY-MM-DD`.
 */
interface ClosedRow
  extends Pick<
    Period,
    "index" | "billedUnits" | "setupMode" | "prorationClosed" | "billedSeparately"
  > {
  readonly start: string;
  readonly end: string;
  readonly now: Date;
  readonly added: string | null;
  readonly isUsage: boolean | null;
  readonly fromUnits: number | null;
  readonly toUnits: number | null;
}

const closedText = `
SELECT p.index, p.start_date AS start, p.end_date AS "end", p.billed_units AS "billedUnits",
  p.setup_mode AS "setupMode", p.proration_closed AS "prorationClosed",
  p.billed_separately AS "billedSeparately", coalesce(o.test_clock, now()) AS now,
  (i.amending_from->>'billed_units')::int AS "fromUnits", plan.units AS "toUnits",
  (SELECT sum(l.amount)::text FROM invoice_lines l
    WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND ${isAddedLine}) AS added,
  (SELECT bool_and(l.kind = 'usage') FROM invoice_lines l
    WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND ${isAddedLine}) AS "isUsage"
FROM invoices i
  JOIN periods p ON p.organisation_id = $1 AND p.subscription_id = i.subscription_id
    AND p.index = i.period_index
  JOIN organisations o ON o.id = $1
  LEFT JOIN invoice_lines plan ON plan.organisation_id = $1 AND plan.invoice_id = i.id
    AND plan.kind = 'plan'
WHERE i.organisation_id = $1 AND i.id = $2`;

/**
 * Loads the amendment's content and the organisation's now. Without a re-pricing if another
 * amendment can still send it (`isRepriceable`).
 */
export async function loadClosed(
  client: Transaction,
  organisationId: string,
  invoiceId: string,
  { isRepriceable, stands }: { readonly isRepriceable: boolean; readonly stands: boolean },
): Promise<{ readonly closed: ClosedAmendment; readonly now: Date }> {
  const { rows } = await client.query<ClosedRow>({
    name: "load_closed_amendment",
    text: closedText,
    values: [organisationId, invoiceId],
  });
  assert(rows[0], "an amended invoice is there");
  const { start, end, now, added, isUsage, fromUnits, toUnits, ...period } = rows[0];
  const isRepriced = !isRepriceable && fromUnits !== null && toUnits !== null;
  return {
    closed: {
      period: { ...period, start: civilDate(start), end: civilDate(end) },
      added: added === null ? null : parseDecimal(added),
      isUsage: isUsage ?? false,
      repricing: isRepriced ? { fromUnits, toUnits } : null,
      stands,
    },
    now,
  };
}
