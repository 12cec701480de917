/** Reads the reversal of an end that has no counterpart, with its period. SQL, as one read. */
import { columns } from "../../../gen/columns.ts";
import { bool, pick, text, uuid } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";

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
