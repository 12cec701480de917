/**
 * Has invoices read whose changes the ledger reports in no list (LEDGER-18, LEDGER-25). SQL: it
 * chooses among many.
 */
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";

/** How often partly paid invoices are read: the ledger does not report that one was e-mailed. */
const partPaidEvery = sql`interval '1 day'`;

/** The most invoices of a look, which takes five calls. */
const maxLooked = 200;

/**
 * An invoice's change time may not move if it is e-mailed when partly paid. Lists and webhooks do
 * not report it then (LEDGER-18). If there are too many, they are random.
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
        LIMIT ${maxLooked}
      )
    INSERT INTO ledger_notifications (organisation_id, kind, ledger_id)
    SELECT $1, 'invoices', ledger_id FROM picked ORDER BY ledger_id
    ON CONFLICT DO NOTHING
  `,
});

/**
 * A ledger that forgets deleted drafts reports no deletion. Each look takes the next drafts in the
 * order of their creation, and begins again after the last one (LEDGER-25).
 */
export const notifyDrafts = command({
  name: "notify_drafts",
  text: sql`
    WITH
      picked AS (
        SELECT i.ledger_invoice_id AS ledger_id, i.seq
        FROM
          invoices i
          JOIN ledger_sync_cursors s ON s.organisation_id = i.organisation_id
        WHERE
          i.organisation_id = $1
          AND i.status IN ('draft', 'awaiting_approval')
          AND i.seq > s.drafts_checked_to
        ORDER BY i.seq
        LIMIT ${maxLooked}
      ),
      moved AS (
        UPDATE ledger_sync_cursors
        SET drafts_checked_to = (
          SELECT
            CASE WHEN count(*) < ${maxLooked} THEN 0 ELSE max(seq) END
          FROM picked
        )
        WHERE organisation_id = $1
      )
    INSERT INTO ledger_notifications (organisation_id, kind, ledger_id)
    SELECT $1, 'invoices', ledger_id FROM picked ORDER BY ledger_id
    ON CONFLICT DO NOTHING
  `,
});
