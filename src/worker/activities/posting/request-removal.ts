/**
 * Asks the ledger to take one invoice out of its books, and says what its answer means. Asking again is always safe, since the invoice
 * is read first; so only a no that still holds when the invoice is looked at once more stops an end. Facts: facts-ledger section 5.3.
 */
import { isUnsent } from "../../../domain/billing/invoice.ts";
import type { Ledger, LedgerCall, LedgerFailure, LedgerInvoice } from "../../../ledger/port/ledger.ts";
import type { ReportedInvoice, RemovalRefused, Removed } from "../../../store/subscriptions/end-lease.ts";
import type { TerminationTask } from "../../../store/subscriptions/end-removals.ts";

/** An invoice that is to be removed, as it is held. */
export type RemovalToAsk = TerminationTask & { readonly kind: "remove" };

/**
 * What came of it. `kept`: it was asked for as never sent, and is approved or sent in the ledger. `again`: nothing is decided; `failure` is
 * that of a call, which may pause the connection.
 */
export type RemovalAnswer =
  | { readonly kind: "removed"; readonly removed: Removed }
  | { readonly kind: "refused"; readonly refused: RemovalRefused }
  | { readonly kind: "kept"; readonly invoice: ReportedInvoice }
  | { readonly kind: "again"; readonly reason: string; readonly failure: LedgerFailure | null };

/** For so long a refusal is not believed that names a status which the invoice does not have: it was changed at the same moment. */
const statusPatienceMs = 5_000;

/** Removes the invoice: a call, and where that brings a no a look, each with `deadlineMs`. */
export async function askForRemoval(ledger: Ledger, task: RemovalToAsk, deadlineMs: number): Promise<RemovalAnswer> {
  const call: LedgerCall = { deadlineMs, jobKeys: [], isBackground: !task.isAwaited };
  const answer = await ledger.removeInvoice(call, task.ledgerId, { onlyUnsent: task.isOnlyUnsent });
  if (answer.kind === "refused") return lookAtRefused(ledger, task, answer, call);
  if (answer.kind !== "ok") return again(answer);
  const { outcome, invoice } = answer.value;
  if (outcome === "not_found") return lookForMissing(ledger, task, call);
  if (!isRemoved(invoice)) return { kind: "again", reason: "it stands there still", failure: null };
  return { kind: "removed", removed: { outcome, invoice: told(invoice) } };
}

/** Money may have come on it, or it was changed or removed since it was read: by a person, or by our request of an earlier attempt. */
async function lookAtRefused(
  ledger: Ledger,
  { ledgerId, triedMs, isOnlyUnsent }: RemovalToAsk,
  refusal: LedgerFailure & { readonly kind: "refused" },
  call: LedgerCall,
): Promise<RemovalAnswer> {
  const answer = await ledger.getInvoice(call, ledgerId);
  if (answer.kind !== "ok") return again(answer);
  const invoice = answer.value;
  if (isRemoved(invoice)) {
    return { kind: "removed", removed: { outcome: "already_removed", invoice: told(invoice) } };
  }
  if (isOnlyUnsent && !isUnsent(invoice)) return { kind: "kept", invoice: told(invoice) };
  const isPassing = refusal.reason === "stale" || refusal.reason === "not_found" || refusal.reason === "wrong_status";
  if (isPassing && triedMs < statusPatienceMs) {
    return { kind: "again", reason: "changed in the ledger meanwhile", failure: null };
  }
  const message = refusal.messages.join(" ") || "Refused.";
  return { kind: "refused", refused: { reason: refusal.reason, message, invoice: told(invoice) } };
}

/** An address that is not there says nothing of the invoice: only where its number is not found either, the ledger has lost it. */
async function lookForMissing(
  ledger: Ledger,
  { ledgerId, number }: RemovalToAsk,
  call: LedgerCall,
): Promise<RemovalAnswer> {
  const answer = await ledger.findInvoices(call, { numbers: [number] });
  if (answer.kind !== "ok") return again(answer);
  if (answer.value.some(({ id }) => id === ledgerId)) {
    return { kind: "again", reason: "not found by its id", failure: null };
  }
  return { kind: "removed", removed: { outcome: "not_found", invoice: null } };
}

function isRemoved({ status }: LedgerInvoice): boolean {
  return status === "voided" || status === "deleted";
}

function told({ status, total, amountDue, sent, updatedAt }: LedgerInvoice): ReportedInvoice {
  return { status, total, amountDue, sent, updatedAt };
}

/** Reasons only: messages may name somebody. */
function again(failure: LedgerFailure): RemovalAnswer {
  switch (failure.kind) {
    case "refused":
      return { kind: "again", reason: `looking was refused: ${failure.reason}`, failure };
    case "rate_limited":
      return { kind: "again", reason: `rate limit of the ledger: ${failure.scope}`, failure };
    case "unauthorised":
      return { kind: "again", reason: `the ledger does not let us in: ${failure.why}`, failure };
    case "high_volume":
      return { kind: "again", reason: failure.message, failure };
    case "unavailable":
      return { kind: "again", reason: failure.cause, failure };
  }
}
