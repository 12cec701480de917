/** Removes an invoice: a draft is deleted, a posted one is cancelled by a counter-move. */
import { presenceOf } from "../../../domain/billing/document-presence.ts";
import type { BegunCall } from "../../port/call.ts";
import { refused } from "../../port/failures.ts";
import { checkRemoval } from "../../port/invoice-checks.ts";
import type { LedgerAnswer, LedgerInvoice, LedgerRemoval } from "../../port/ledger.ts";
import { noAmount } from "../wire/values.ts";
import type { TrytonWire } from "../wire/wire.ts";
import { changedDocument, documentModel, getDocument } from "./find-documents.ts";
import { removedNoteOf } from "./link.ts";
import { documentFields, invoiceOf } from "./read-document.ts";

/** Reads the invoice, then removes it. Tryton forgets what is deleted. */
export async function removeInvoice(
  wire: TrytonWire,
  call: BegunCall,
  id: string,
  which?: { readonly onlyUnsent: boolean },
): Promise<LedgerAnswer<LedgerRemoval>> {
  const checked = checkRemoval(await getDocument(wire, call, id, invoiceOf), which);
  if (checked.kind !== "removable") return checked;
  return checked.isIssued
    ? cancel(wire, call, checked.invoice)
    : remove(wire, call, checked.invoice);
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
