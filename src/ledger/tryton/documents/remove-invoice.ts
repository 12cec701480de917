/** Removes an invoice: a draft is deleted, a posted one is cancelled by a counter-move. */
import { presenceOf } from "../../../domain/billing/document-presence.ts";
import { isUnsent } from "../../../domain/billing/issued-invoices.ts";
import type { BegunCall } from "../../port/http/begun-call.ts";
import type {
  LedgerAnswer,
  LedgerFailure,
  LedgerInvoice,
  LedgerRemoval,
} from "../../port/ledger.ts";
import { isMissing, refused } from "../wire/failure.ts";
import { noAmount } from "../wire/values.ts";
import type { TrytonWire } from "../wire/wire.ts";
import { documentModel } from "./create-documents.ts";
import { changedDocument, getDocument } from "./find-documents.ts";
import { removedNoteOf } from "./link.ts";
import { documentFields, invoiceOf } from "./read-document.ts";

/**
 * Reads the invoice, then removes it. One that is not there counts as removed: Tryton forgets what
 * is deleted. Money on it is refused before any change (LEDGER-3).
 */
export async function removeInvoice(
  wire: TrytonWire,
  call: BegunCall,
  id: string,
  { onlyUnsent } = { onlyUnsent: false },
): Promise<LedgerAnswer<LedgerRemoval>> {
  const current = await getDocument(wire, call, id, invoiceOf);
  if (isMissing(current)) return { kind: "ok", value: { outcome: "not_found", invoice: null } };
  if (current.kind !== "ok") return current;
  const invoice = current.value;
  if (presenceOf(invoice) === "nowhere")
    return { kind: "ok", value: { outcome: "already_removed", invoice } };
  const fault = refusedMoney(invoice);
  if (fault !== null) return fault;
  if (onlyUnsent && !isUnsent(invoice))
    return refused("wrong_status", `Invoice ${invoice.number} was approved or sent.`);
  const isIssued = invoice.status === "approved" || invoice.status === "paid";
  return isIssued ? cancel(wire, call, invoice) : remove(wire, call, invoice);
}

/** Returns the refusal of a change because of money on the invoice, or null. */
export function refusedMoney(invoice: LedgerInvoice): LedgerFailure | null {
  if (invoice.amountPaid === noAmount && invoice.amountCredited === noAmount) return null;
  const message = `Invoice ${invoice.number} has payments or credit notes allocated to it.`;
  return refused("has_payment_or_credit", message);
}

async function cancel(
  wire: TrytonWire,
  call: BegunCall,
  { id, status, lines, sourceUrl }: LedgerInvoice,
): Promise<LedgerAnswer<LedgerRemoval>> {
  // Without money on it, it is over nothing. Tryton pays that at once, and cancels nothing paid.
  if (status === "paid") {
    const line = { model: "account.invoice.line", id: lines[0]?.ledgerLineId ?? "" };
    const answer = await wire.update(call, line, { note: removedNoteOf(sourceUrl) }, ["note"]);
    if (answer.kind !== "ok") return answer;
    return removalOf(await getDocument(wire, call, id, invoiceOf));
  }
  const answer = await wire.act(call, { model: documentModel, id }, "cancel", documentFields);
  return removalOf(changedDocument(answer, invoiceOf));
}

function removalOf(invoice: LedgerAnswer<LedgerInvoice>): LedgerAnswer<LedgerRemoval> {
  if (invoice.kind !== "ok") return invoice;
  return presenceOf(invoice.value) === "nowhere"
    ? { kind: "ok", value: { outcome: "voided", invoice: invoice.value } }
    : refused("wrong_status", `Invoice ${invoice.value.number} cannot be cancelled in Tryton.`);
}

async function remove(
  wire: TrytonWire,
  call: BegunCall,
  invoice: LedgerInvoice,
): Promise<LedgerAnswer<LedgerRemoval>> {
  const object = { model: documentModel, id: invoice.id };
  if (invoice.status === "awaiting_approval") {
    const answer = await wire.act(call, object, "draft", ["state"]);
    if (answer.kind !== "ok") return answer;
  }
  const answer = await wire.remove(call, object);
  if (answer.kind !== "ok") return answer;
  const deleted = { ...invoice, status: "deleted", amountDue: noAmount } as const;
  return { kind: "ok", value: { outcome: "deleted", invoice: deleted } };
}
