/**
 * Records the outcome of a leased amendment with its invoice and lines. Each outcome is written
 * together with the job's state, and waiting callers are notified.
 */
import type { DocumentStatus } from "../../domain/billing/invoice.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { closeAmendment } from "./abandon-amendment.ts";
import { planAllocations } from "./credit-allocations.ts";
import {
  isUnwritable,
  type NamedLine,
  plain,
  recordOutcomes,
  type UndoneOutcome,
  unwritableAnswer,
} from "./document-outcomes.ts";
import { doneMark, outcomesChannel } from "./job-notifications.ts";

/**
 * The invoice as the ledger reported it. `not_in_external`: the ledger no longer has it, and its
 * amounts stay.
 */
export interface SyncedInvoice {
  readonly status: DocumentStatus;
  /** Sum of its lines in the ledger. Absent if the ledger did not report it. */
  readonly subtotal?: string;
  readonly total: string | null;
  readonly amountDue: string | null;
  readonly sent: boolean | null;
  /** The ledger's change time (ISO 8601). Absent if the ledger did not report it. */
  readonly updatedAt?: string;
}

/**
 * The outcome of a leased amendment. `done`: the ledger has the lines. `refused`: it does not, and
 * another amendment must send them. `closed`: the invoice accepts no lines any more, so other
 * documents bill them. `isRepriceable`: another amendment can still re-price its plan line.
 * `invoice` is null if the ledger reported nothing of it. Other kinds are as in `UndoneOutcome`.
 */
export type AmendmentOutcome =
  | { readonly kind: "done"; readonly invoice: SyncedInvoice; readonly lines: readonly NamedLine[] }
  | {
      readonly kind: "refused";
      readonly reason: string;
      readonly message: string;
      readonly invoice: SyncedInvoice | null;
    }
  | {
      readonly kind: "closed";
      readonly reason: string;
      readonly message: string;
      readonly invoice: SyncedInvoice;
      readonly isRepriceable: boolean;
    }
  | Extract<UndoneOutcome, { readonly kind: "again" | "uncertain" }>;

/** The amendment and the attempt whose outcome is recorded. */
export interface AmendmentAttempt {
  readonly id: string;
  readonly attempts: number;
  readonly subscription_id: string;
}

// Only the attempt that holds the lease records an outcome.
const closeJob = `UPDATE ledger_jobs o SET state = $4, reason = $5, message = coalesce($6, o.message),
    lease_until = NULL, finished_at = now()
  WHERE o.organisation_id = $1 AND o.id = $2 AND o.attempts = $3 AND o.state IN ('sending', 'uncertain')`;

const mirror = `status = coalesce($7, i.status), total = coalesce($8, i.total), amount_due = coalesce($9, i.amount_due),
    sent = coalesce($10, i.sent), ledger_subtotal = coalesce($13, i.ledger_subtotal), ledger_updated_at = coalesce($12, i.ledger_updated_at),
    ledger_reported_at = CASE WHEN $7::text IS NULL THEN i.ledger_reported_at ELSE now() END`;

const decideText = `
WITH op AS (
  ${closeJob} RETURNING o.id, o.state, o.invoice_id
), line AS (
  UPDATE invoice_lines l SET ledger_line_id = r.ledger_line_id, amending = false
  FROM op, jsonb_to_recordset($11) AS r(id uuid, ledger_line_id text)
  WHERE l.organisation_id = $1 AND l.invoice_id = op.invoice_id AND l.id = r.id
), invoice AS (
  UPDATE invoices i SET ${mirror}, sync_error = CASE WHEN op.state = 'refused' THEN $6 END,
    amending_from = CASE WHEN op.state = 'refused' THEN i.amending_from END
  FROM op WHERE i.organisation_id = $1 AND i.id = op.invoice_id
)
SELECT pg_notify('${outcomesChannel}', CASE WHEN op.state = 'done' THEN '${doneMark}' ELSE '' END || op.id) FROM op`;

/**
 * Records the outcome of a leased amendment. Writes nothing if another attempt has it by now. An
 * answer that does not fit the columns here is refused, so that an operator sees it. True if an
 * allocation of held credit was planned in the same transaction, because it had waited for the
 * amendment. The caller must start its workflow (DOCUMENT-4).
 */
export async function recordAmendment(
  pool: Pool,
  organisationId: string,
  amendment: AmendmentAttempt,
  settlement: AmendmentOutcome,
): Promise<boolean> {
  try {
    return await write(pool, organisationId, amendment, settlement);
  } catch (error) {
    if (!isUnwritable(error) || settlement.kind === "again" || settlement.kind === "uncertain")
      throw error;
    return write(pool, organisationId, amendment, {
      kind: "refused",
      ...unwritableAnswer,
      invoice: null,
    });
  }
}

async function write(
  pool: Pool,
  organisationId: string,
  amendment: AmendmentAttempt,
  settlement: AmendmentOutcome,
): Promise<boolean> {
  if (settlement.kind === "again" || settlement.kind === "uncertain") {
    await recordOutcomes(pool, organisationId, [settlement]);
    return false;
  }
  const { subscription_id: subscriptionId } = amendment;
  return inTransaction(pool, async (client) => {
    const isWritten =
      settlement.kind === "closed"
        ? await closeAmendment(client, organisationId, amendment, settlement)
        : await decide(client, organisationId, amendment, settlement);
    if (!isWritten) return false;
    const planned = await planAllocations(client, organisationId, [subscriptionId]);
    return planned.length > 0;
  });
}

async function decide(
  client: Transaction,
  organisationId: string,
  { id, attempts, subscription_id: subscriptionId }: AmendmentAttempt,
  settlement: AmendmentOutcome & { readonly kind: "done" | "refused" },
): Promise<boolean> {
  // A concurrent change of units waits, and then sees the complete outcome.
  await lockSubscriptions(client, organisationId, [subscriptionId]);
  const [reason, message, lines] =
    settlement.kind === "done"
      ? [null, null, settlement.lines]
      : [plain(settlement.reason), plain(settlement.message), []];
  const { rowCount } = await client.query({
    name: "record_amendment",
    text: decideText,
    values: [
      organisationId,
      id,
      attempts,
      settlement.kind,
      reason,
      message,
      ...syncValues(settlement.invoice),
      JSON.stringify(lines.map((line) => ({ id: line.id, ledger_line_id: line.ledgerLineId }))),
      settlement.invoice?.updatedAt ?? null,
      settlement.invoice?.subtotal ?? null,
    ],
  });
  return rowCount === 1;
}

function syncValues(invoice: SyncedInvoice | null): readonly [string | null, ...unknown[]] {
  return [
    invoice?.status ?? null,
    invoice?.total ?? null,
    invoice?.amountDue ?? null,
    invoice?.sent ?? null,
  ];
}
