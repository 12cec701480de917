/** What becomes of taken operations and of the documents that they are about, written in one statement. */
import pg from "pg";
import { doneMark, outcomesChannel } from "./outcomes.ts";

/** Which taken operation, and by which attempt: only the round that holds it may settle it. */
export interface Held {
  readonly operationId: string;
  readonly attempt: number;
}

/** What becomes of a taken operation. Times are from now. */
export type Settlement = Held &
  (
    | {
        readonly kind: "invoice_done";
        readonly ledgerId: string;
        readonly status: string;
        readonly total: string;
        readonly amountDue: string;
        readonly sent: boolean;
      }
    | { readonly kind: "contact_done"; readonly ledgerId: string }
    | { readonly kind: "refused"; readonly reason: string; readonly message: string }
    /** Nothing was sent, or it is known that nothing was made: to be sent again after `delayMs`. */
    | {
        readonly kind: "again";
        readonly delayMs: number;
        readonly countsAsAttempt: boolean;
        readonly reason: string;
      }
    /** The answer was lost: to be looked up after `delayMs`, when the first request can no longer take effect. */
    | { readonly kind: "uncertain"; readonly delayMs: number; readonly reason: string }
  );

const settleText = `
WITH result AS (
  SELECT * FROM jsonb_to_recordset($2) AS r(operation_id uuid, attempt int, state text, reason text, message text, delay_ms bigint,
    uncount int, ledger_id text, status text, total numeric, amount_due numeric, sent boolean)
), op AS (
  UPDATE operations o SET state = r.state, reason = r.reason, message = coalesce(r.message, o.message),
    attempts = o.attempts - r.uncount,
    not_before = CASE WHEN r.state = 'ready' THEN now() + r.delay_ms * interval '1 millisecond' ELSE o.not_before END,
    lease_until = CASE WHEN r.state = 'uncertain' THEN now() + r.delay_ms * interval '1 millisecond' END,
    settled_at = CASE WHEN r.state IN ('done', 'refused') THEN now() END
  FROM result r
  WHERE o.organisation_id = $1 AND o.id = r.operation_id AND o.state IN ('sending', 'uncertain') AND o.attempts = r.attempt
  RETURNING o.id, o.kind, o.invoice_id, o.customer_id, r.state, r.message, r.ledger_id, r.status, r.total, r.amount_due, r.sent
), invoice AS (
  UPDATE invoices i SET status = coalesce(op.status, 'not_in_external'), ledger_invoice_id = coalesce(op.ledger_id, i.ledger_invoice_id),
    total = coalesce(op.total, i.total), amount_due = coalesce(op.amount_due, i.amount_due), sent = coalesce(op.sent, i.sent),
    sync_error = CASE WHEN op.state = 'refused' THEN op.message END
  FROM op WHERE i.organisation_id = $1 AND i.id = op.invoice_id AND op.state IN ('done', 'refused') AND i.status = 'scheduled'
), customer AS (
  UPDATE customers c SET ledger_contact_id = op.ledger_id
  FROM op WHERE c.organisation_id = $1 AND c.id = op.customer_id AND op.state = 'done'
), dropped AS (
  DELETE FROM customers c USING op
  WHERE c.organisation_id = $1 AND c.id = op.customer_id AND op.state = 'refused' AND c.ledger_contact_id IS NULL
)
SELECT pg_notify('${outcomesChannel}', string_agg(CASE WHEN state = 'done' THEN '${doneMark}' ELSE '' END || id, ',')) FROM op HAVING count(*) > 0`;

/**
 * Writes what became of taken operations and their documents, in one statement, and tells those who wait. What another round
 * has taken meanwhile is left to it. Where one cannot be written, the others are, each on its own; a document that the ledger
 * has and no record fits is refused, so that an operator sees it.
 */
export async function settleOperations(
  pool: pg.Pool,
  organisationId: string,
  settlements: readonly Settlement[],
): Promise<void> {
  if (settlements.length === 0) return;
  try {
    const records = JSON.stringify(settlements.map(settlementRecord));
    await pool.query({ name: "settle_operations", text: settleText, values: [organisationId, records] });
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    const [only] = settlements;
    if (settlements.length > 1) {
      for (const settlement of settlements) await settleOperations(pool, organisationId, [settlement]);
    } else if (only !== undefined && (only.kind === "invoice_done" || only.kind === "contact_done")) {
      await settleOperations(pool, organisationId, [unwritable(only)]);
    } else throw error;
  }
}

/** A value or a constraint was hit (SQLSTATE classes 22 and 23): trying again changes nothing. */
export function isUnwritable(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? "");
}

function unwritable({ kind, operationId, attempt }: Settlement): Settlement {
  const [reason, message] =
    kind === "contact_done"
      ? ["already_imported", "The contact is a customer already."]
      : ["validation", "The ledger's answer fits no record here."];
  return { kind: "refused", operationId, attempt, reason, message };
}

function settlementRecord(settlement: Settlement): object {
  const { operationId, attempt } = settlement;
  const record = { operation_id: operationId, attempt, delay_ms: 0, uncount: 0 };
  switch (settlement.kind) {
    case "invoice_done": {
      const { ledgerId, status, total, amountDue, sent } = settlement;
      return { ...record, state: "done", ledger_id: ledgerId, status, total, amount_due: amountDue, sent };
    }
    case "contact_done":
      return { ...record, state: "done", ledger_id: settlement.ledgerId };
    case "refused":
      return { ...record, state: "refused", reason: plain(settlement.reason), message: plain(settlement.message) };
    case "again":
      return {
        ...record,
        state: "ready",
        reason: plain(settlement.reason),
        delay_ms: settlement.delayMs,
        uncount: settlement.countsAsAttempt ? 0 : 1,
      };
    case "uncertain":
      return { ...record, state: "uncertain", reason: plain(settlement.reason), delay_ms: settlement.delayMs };
  }
}

/** Another system's words, without what PostgreSQL cannot store. */
export function plain(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
