/** Has invoices that are paid in part read once a day. SQL: it chooses among many. */
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";

/** How often partly paid invoices are read: the ledger does not report that one was e-mailed. */
const partPaidEvery = sql`interval '1 day'`;

/** The most of them at once, which takes five calls. If there are more, they are random. */
const maxPartPaid = 200;

/**
 * An invoice's change time may not move if it is e-mailed when partly paid. Lists and webhooks do
 * not report it then (LEDGER-18).
 */
export const notifyPartPaid = command({
  name: "notify_part_paid",
  text: sql`
    WITH
      due AS (
        UPDATE ledger_sync_cursors
        SET part_paid_checked_at = now()
        WHERE
          organisation_id = $1
          AND (part_paid_checked_at IS NULL OR part_paid_checked_at < now() - ${partPaidEvery})
        RETURNING organisation_id
      ),
      picked AS (
        SELECT i.ledger_invoice_id AS ledger_id
        FROM
          invoices i
          JOIN due ON due.organisation_id = i.organisation_id
        WHERE
          i.organisation_id = $1
          AND i.status = 'approved'
          AND NOT i.sent
          AND i.amount_due > 0
          AND i.amount_due < i.total
          AND i.ledger_invoice_id IS NOT NULL
        ORDER BY random()
        LIMIT ${maxPartPaid}
      )
    INSERT INTO ledger_notifications (organisation_id, kind, ledger_id)
    SELECT $1, 'invoices', ledger_id FROM picked ORDER BY ledger_id
    ON CONFLICT DO NOTHING
  `,
});
