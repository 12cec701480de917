/**
 * Records the outcome of a leased amendment with its invoice and lines. SQL, because one statement
 * ends the job, writes its invoice and many lines, and notifies waiting callers.
 */

import type { DocumentStatus } from "../../../domain/model/invoice.ts";
import type { LedgerJob } from "../../../gen/prisma/client.ts";
import { lockSubscriptions } from "../../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../../database/pool.ts";
import { sql } from "../../database/sql/sql.ts";
import { command } from "../../database/sql/statement.ts";
import type { ObservedIdentity } from "../../documents/ledger-drift.ts";
import { planAllocations } from "../credit-allocations.ts";
import {
  isUnwritable,
  type JobAttempt,
  lineRecord,
  type NamedLine,
  plain,
  reportedValues,
  type UndoneOutcome,
  unwritableAnswer,
} from "../document-outcomes.ts";
import { endJob, notifyCallers } from "../job-lease.ts";
import { saveAttempts } from "../ledger-attempts.ts";
import { recordOutcomes } from "../record-outcomes.ts";
import { closeAmendment } from "./abandon-amendment.ts";

/**
 * The invoice as the ledger reported it. `not_in_external`: the ledger no longer has it, and its
 * amounts stay.
 */
export interface SyncedInvoice extends ObservedIdentity {
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
export type AmendmentOutcome = Pick<JobAttempt, "answered"> &
  (
    | {
        readonly kind: "done";
        readonly invoice: SyncedInvoice;
        readonly lines: readonly NamedLine[];
      }
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
    | Extract<UndoneOutcome, { readonly kind: "again" | "uncertain" }>
  );

/** The amendment and the attempt whose outcome is recorded. */
export interface AmendmentAttempt extends Pick<LedgerJob, "id" | "attempts"> {
  readonly subscriptionId: string;
}

const recordOutcome = command({
  name: "record_amendment",
  text: sql`
WITH job AS (
  ${endJob} RETURNING t.id, t.state, t.invoice_id
), line AS (
  UPDATE invoice_lines l SET ledger_line_id = r.ledger_line_id, amending = false
  FROM job, jsonb_to_recordset($12) AS r(id uuid, ledger_line_id text)
  WHERE l.organisation_id = $1 AND l.invoice_id = job.invoice_id AND l.id = r.id
), invoice AS (
  UPDATE invoices i SET status = coalesce($7, i.status), total = coalesce($8, i.total),
    amount_due = coalesce($9, i.amount_due), sent = coalesce($10, i.sent),
    ledger_subtotal = coalesce($13, i.ledger_subtotal),
    ledger_updated_at = coalesce($11, i.ledger_updated_at),
    ledger_reported_at = CASE WHEN $7::text IS NULL THEN i.ledger_reported_at ELSE now() END,
    sync_error = CASE WHEN job.state = 'refused' THEN $6 END,
    amending_from = CASE WHEN job.state = 'refused' THEN i.amending_from END
  FROM job WHERE i.organisation_id = $1 AND i.id = job.invoice_id
)
${notifyCallers}`,
});

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
  outcome: AmendmentOutcome,
): Promise<boolean> {
  try {
    return await write(pool, organisationId, amendment, outcome);
  } catch (error) {
    if (!isUnwritable(error) || outcome.kind === "again" || outcome.kind === "uncertain")
      throw error;
    const refused = { kind: "refused", ...unwritableAnswer, invoice: null } as const;
    return write(pool, organisationId, amendment, refused);
  }
}

async function write(
  pool: Pool,
  organisationId: string,
  amendment: AmendmentAttempt,
  outcome: AmendmentOutcome,
): Promise<boolean> {
  if (outcome.kind === "again" || outcome.kind === "uncertain") {
    await recordOutcomes(pool, organisationId, [outcome]);
    return false;
  }
  const { subscriptionId } = amendment;
  return inTransaction(pool, async (client) => {
    const isWritten =
      outcome.kind === "closed"
        ? await closeAmendment(client, organisationId, amendment, outcome)
        : await record(client, organisationId, amendment, outcome);
    if (!isWritten) return false;
    const kind = outcome.kind === "closed" ? "refused" : outcome.kind;
    const job = { jobId: amendment.id, attempt: amendment.attempts };
    await saveAttempts(client, organisationId, [{ ...outcome, ...job, kind }]);
    const planned = await planAllocations(client, organisationId, [subscriptionId]);
    return planned.length > 0;
  });
}

async function record(
  client: Transaction,
  organisationId: string,
  { id, attempts, subscriptionId }: AmendmentAttempt,
  outcome: AmendmentOutcome & { readonly kind: "done" | "refused" },
): Promise<boolean> {
  // A concurrent change of units waits, and then sees the complete outcome.
  await lockSubscriptions(client, organisationId, [subscriptionId]);
  const [reason, message, lines] =
    outcome.kind === "done"
      ? [null, null, outcome.lines]
      : [plain(outcome.reason), plain(outcome.message), []];
  const ended = [outcome.kind, reason, message];
  const observed = [
    ...reportedValues(outcome.invoice),
    JSON.stringify(lines.map(lineRecord)),
    outcome.invoice?.subtotal ?? null,
  ];
  const recorded = await recordOutcome(client, organisationId, id, attempts, ...ended, ...observed);
  return recorded === 1;
}
