/**
 * Removes one invoice in the ledger and interprets the answer. A repeat is always safe, since the
 * invoice is read first (LEDGER-3). Only a refusal that still holds after a second read stops an
 * end.
 */
import { presenceOf } from "../../../domain/billing/document-presence.ts";
import { isUnsent } from "../../../domain/billing/issued-invoices.ts";
import type {
  Ledger,
  LedgerCall,
  LedgerFailure,
  LedgerInvoice,
} from "../../../ledger/port/ledger.ts";
import type {
  RemovalRefused,
  Removed,
  ReportedInvoice,
} from "../../../store/subscriptions/end-lease.ts";
import type { TerminationTask } from "../../../store/subscriptions/end-removals.ts";
import { reasonOf } from "./ledger-call.ts";

/** A leased invoice that is to be removed. */
export type RemovalRequest = TerminationTask & { readonly kind: "remove" };

/**
 * The outcome. `kept`: only an unsent invoice was to be removed, and it is approved or sent in the
 * ledger. `again`: nothing is decided. `failure` is that of a call, which may pause the connection.
 */
type RemovalAnswer =
  | { readonly kind: "removed"; readonly removed: Removed }
  | { readonly kind: "refused"; readonly refused: RemovalRefused }
  | { readonly kind: "kept"; readonly invoice: ReportedInvoice }
  | { readonly kind: "again"; readonly reason: string; readonly failure: LedgerFailure | null };

/**
 * How long a refusal is retried that names a status which the invoice does not have. The invoice
 * was changed at the same moment.
 */
const statusPatienceMs = 5_000;

/** Removes the invoice: one call, and a read after a refusal, each with `deadlineMs`. */
export async function requestRemoval(
  ledger: Ledger,
  task: RemovalRequest,
  deadlineMs: number,
): Promise<RemovalAnswer> {
  const call: LedgerCall = { deadlineMs, jobKeys: [], isBackground: !task.isAwaited };
  const answer = await ledger.removeInvoice(call, task.ledgerId, { onlyUnsent: task.isOnlyUnsent });
  if (answer.kind === "refused") return checkRefused(ledger, task, answer, call);
  if (answer.kind !== "ok") return again(answer);
  const { outcome, invoice } = answer.value;
  if (outcome === "not_found") return findLostInvoice(ledger, task, call);
  if (!isRemoved(invoice))
    return { kind: "again", reason: "the ledger still has the invoice", failure: null };
  return { kind: "removed", removed: { outcome, invoice: reported(invoice) } };
}

/**
 * Reads the invoice after a refusal. It may have money on it now. A person or our own earlier
 * attempt may also have changed or removed it since it was read.
 */
async function checkRefused(
  ledger: Ledger,
  { ledgerId, triedMs, isOnlyUnsent }: RemovalRequest,
  refusal: LedgerFailure & { readonly kind: "refused" },
  call: LedgerCall,
): Promise<RemovalAnswer> {
  const answer = await ledger.getInvoice(call, ledgerId);
  if (answer.kind !== "ok") return again(answer);
  const invoice = answer.value;
  if (isRemoved(invoice)) {
    return { kind: "removed", removed: { outcome: "already_removed", invoice: reported(invoice) } };
  }
  if (isOnlyUnsent && !isUnsent(invoice)) return { kind: "kept", invoice: reported(invoice) };
  const isPassing =
    refusal.reason === "stale" ||
    refusal.reason === "not_found" ||
    refusal.reason === "wrong_status";
  if (isPassing && triedMs < statusPatienceMs) {
    return { kind: "again", reason: "changed in the ledger meanwhile", failure: null };
  }
  const message = refusal.messages.join(" ") || "Refused.";
  return {
    kind: "refused",
    refused: { reason: refusal.reason, message, invoice: reported(invoice) },
  };
}

/**
 * Finds an invoice by its number after its address was not found. Only if the number is not
 * found either, the ledger has lost it.
 */
async function findLostInvoice(
  ledger: Ledger,
  { ledgerId, number }: RemovalRequest,
  call: LedgerCall,
): Promise<RemovalAnswer> {
  const answer = await ledger.findInvoices(call, { numbers: [number] });
  if (answer.kind !== "ok") return again(answer);
  if (answer.value.some(({ id }) => id === ledgerId)) {
    return { kind: "again", reason: "not found by its id", failure: null };
  }
  return { kind: "removed", removed: { outcome: "not_found", invoice: null } };
}

function isRemoved(invoice: LedgerInvoice): boolean {
  return presenceOf(invoice) === "nowhere";
}

function reported({ status, total, amountDue, sent, updatedAt }: LedgerInvoice): ReportedInvoice {
  return { status, total, amountDue, sent, updatedAt };
}

function again(failure: LedgerFailure): RemovalAnswer {
  return { kind: "again", reason: reasonOf(failure), failure };
}
