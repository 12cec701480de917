/**
 * Loads an amendment whose invoice can no longer be edited: the lines that it adds, and its
 * re-pricing. SQL, because it sums lines.
 */

import { strict as assert } from "node:assert";
import { parseDecimal } from "../../../domain/money/decimal.ts";
import type { ClosedAmendment } from "../../../domain/subscriptions/abandoned-amendment.ts";
import { periodRow, readPeriod } from "../../billing/billing-state-row.ts";
import type { Transaction } from "../../database/pool.ts";
import { bool, instant, int, numeric, text } from "../../database/sql/columns.ts";
import { columnsOf, literal, sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";

/** The reason of a done amendment that new documents bill. */
export const movedReason = sql`moved`;

/**
 * SQL: ids of subscription `$2`'s unit changes that invoice `$3` should bill but lacks in the
 * ledger, all since its last successful amendment.
 */
export const lackingChanges = sql`
  SELECT change.id
  FROM
    (
      SELECT
        c.id, o.seq,
        o.state = 'refused' OR o.reason = ${literal(movedReason)} AS is_lacking,
        max(o.seq) FILTER (WHERE o.state = 'done' AND o.reason IS NULL) OVER () AS done_seq
      FROM
        unit_changes c
        JOIN ledger_jobs o ON o.organisation_id = $1 AND o.id = ANY (c.job_ids)
      WHERE
        c.organisation_id = $1
        AND c.subscription_id = $2
        AND $3::uuid IN (c.invoice_id, c.renewal_invoice_id)
        AND o.invoice_id = $3
        AND o.kind = 'amend_invoice'
    ) change
  WHERE change.is_lacking AND change.seq > coalesce(change.done_seq, 0)
`;

/**
 * SQL: invoice line `l` is one to add. An amendment only re-prices a plan line and never adds one.
 */
export const isAddedLine = sql`l.amending AND l.ledger_line_id IS NULL AND l.kind <> 'plan'`;

const load = query({
  name: "load_closed_amendment",
  text: sql`
    SELECT
      ${columnsOf(sql`p`, periodRow)},
      coalesce(o.test_clock, now()) AS now,
      (i.amending_from ->> 'billed_units')::int AS from_units,
      i.amending_from ->> 'billed_by' AS from_billed_by,
      plan.units AS to_units,
      plan.facts::json ->> 'c' AS change_id,
      (
        SELECT sum(l.amount)
        FROM invoice_lines l
        WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND ${isAddedLine}
      ) AS added,
      (
        SELECT bool_and(l.kind = 'usage')
        FROM invoice_lines l
        WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND ${isAddedLine}
      ) AS is_usage
    FROM
      invoices i
      JOIN periods p
        ON p.organisation_id = $1
        AND p.subscription_id = i.subscription_id
        AND p.index = i.period_index
      JOIN organisations o ON o.id = $1
      LEFT JOIN invoice_lines plan
        ON plan.organisation_id = $1 AND plan.invoice_id = i.id AND plan.kind = 'plan'
    WHERE i.organisation_id = $1 AND i.id = $2
  `,
  row: {
    ...periodRow,
    now: instant,
    /** The sum of the lines to add. Null without any. */
    added: numeric.orNull(),
    isUsage: bool.orNull(),
    /** The units of the plan line before the re-pricing. */
    fromUnits: int.orNull(),
    /** They and what set them. */
    fromBilledBy: text.orNull(),
    /** Its units after the re-pricing. */
    toUnits: int.orNull(),
    /** The change of units that re-priced it. */
    changeId: text.orNull(),
  },
});

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
  const [row] = await load(client, organisationId, invoiceId);
  assert(row, "an amended invoice is there");
  const { now, added, isUsage, fromUnits, fromBilledBy: billedBy, toUnits, ...rest } = row;
  const { changeId, ...period } = rest;
  const isRepriced = !isRepriceable && fromUnits !== null && toUnits !== null;
  return {
    closed: {
      period: readPeriod(period),
      added: added === null ? null : parseDecimal(added),
      isUsage: isUsage ?? false,
      repricing: isRepriced
        ? { fromUnits, billedBy, toUnits, ...(changeId !== null && { changeId }) }
        : null,
      stands,
    },
    now,
  };
}
