/**
 * Reads a document of Tryton as an invoice, or as a credit note if its total is below zero: Tryton
 * has one kind for both. A document that misses a member is undefined.
 */
import {
  type ExactJson,
  type ExactObject,
  filledTextOf,
  objectOf,
  objectsOf,
} from "../../port/exact-json.ts";
import type {
  LedgerAllocation,
  LedgerCreditNote,
  LedgerInvoice,
  LedgerInvoiceStatus,
} from "../../port/ledger.ts";
import { amountText, dateOf, idOf, instantOf, scaledAmountOf } from "../wire/values.ts";
import { readNote } from "./link.ts";

const settlements = ["payment_lines", "reconciliation_lines"] as const;

const settlementFields = [
  "debit",
  "credit",
  "date",
  "move_state",
  "reconciliation",
  "move.origin",
  "move.lines.id",
  "move.lines.debit",
  "move.lines.credit",
  "move.lines.invoice_payment",
];

/** The fields of a document that the readers need. */
export const documentFields: readonly string[] = [
  "number",
  "reference",
  "description",
  "state",
  "party",
  "currency.code",
  "invoice_date",
  "accounting_date",
  "payment_term_date",
  "untaxed_amount",
  "tax_amount",
  "total_amount",
  "amount_to_pay",
  "cancel_move",
  "create_date",
  "write_date",
  "lines.type",
  "lines.description",
  "lines.amount",
  "lines.note",
  "lines.taxes",
  ...settlements.flatMap((name) => settlementFields.map((field) => `${name}.${field}`)),
];

/** A document as it is read, before it is an invoice or a credit note of the port. */
export interface TrytonDocument {
  readonly isCreditNote: boolean;
  /** It is not in the status yet that it is to have. Nobody sees it but its creation. */
  readonly isUnfinished: boolean;
  readonly element: ExactObject;
  readonly shared: Omit<LedgerCreditNote, "remainingCredit" | "allocations">;
  readonly due: bigint;
}

/** Reads a document, or undefined if a member is missing. */
export function readDocument(element: ExactObject): TrytonDocument | undefined {
  const untaxed = scaledAmountOf(element.untaxed_amount);
  const tax = scaledAmountOf(element.tax_amount);
  const total = scaledAmountOf(element.total_amount);
  if (untaxed === undefined || tax === undefined || total === undefined) return undefined;
  const isCreditNote = total < 0n || (total === 0n && untaxed < 0n);
  const sign = isCreditNote ? -1n : 1n;
  const ledgerNumber = filledTextOf(element.number) ?? null;
  const lines = objectsOf(element.lines).filter(({ type }) => type === "line");
  const note = readNote(lines.map((line) => filledTextOf(line.note) ?? "").find(Boolean) ?? "");
  const state =
    note.isRemoved && total === 0n ? "voided" : statusOf(filledTextOf(element.state), ledgerNumber);
  const due = dueOf(element, state, total);
  // Tryton calls it paid once its lines are reconciled, which is only a matter of form.
  const status = state === "approved" && due === 0n ? "paid" : state;
  const issueDate = dateOf(element.accounting_date) ?? dateOf(element.invoice_date);
  const updatedAt = instantOf(element.write_date) ?? instantOf(element.create_date);
  const [id, contactId] = [idOf(element), idOf(element.party)];
  const currency = filledTextOf(objectOf(element.currency)?.code);
  if (id === undefined || contactId === undefined || status === undefined) return undefined;
  if (updatedAt === undefined || currency === undefined) return undefined;
  return {
    isCreditNote,
    isUnfinished: note.isUnfinished && status === "draft",
    element,
    due: due * sign,
    shared: {
      id,
      number: filledTextOf(element.reference) ?? ledgerNumber ?? "",
      ledgerNumber,
      reference: filledTextOf(element.description) ?? "",
      contactId,
      lineAmounts: "exclusive",
      status,
      currency,
      // A draft of a person may have no date.
      issueDate: issueDate ?? updatedAt.slice(0, 10),
      subtotal: amountText(sign * untaxed),
      tax: amountText(sign * tax),
      total: amountText(sign * total),
      sent: false,
      sourceUrl: note.sourceUrl,
      lines: lines.map((line) => ({
        ledgerLineId: idOf(line) ?? "",
        description: filledTextOf(line.description) ?? "",
        amount: amountText(sign * (scaledAmountOf(line.amount) ?? 0n)),
      })),
      updatedAt,
    },
  };
}

/** Returns the document as an invoice. Undefined for a credit note and an unfinished document. */
export function invoiceOf(document: TrytonDocument): LedgerInvoice | undefined {
  const { element, shared, due, isCreditNote, isUnfinished } = document;
  if (isCreditNote || isUnfinished) return undefined;
  const total = scaledAmountOf(element.total_amount) ?? 0n;
  const isIssued = shared.status === "approved" || shared.status === "paid";
  const covered = isIssued ? total - due : 0n;
  const credit = settlementLines(element).map((line) => creditOf(line, shared.id));
  const credited = partOf(
    covered,
    credit.reduce((sum, one) => sum + one, 0n),
  );
  return {
    ...shared,
    dueDate: dateOf(element.payment_term_date) ?? null,
    amountDue: amountText(due),
    amountCredited: amountText(credited),
    amountPaid: amountText(covered - credited),
  };
}

/** Returns the document as a credit note. Undefined for an invoice and an unfinished document. */
export function creditNoteOf(document: TrytonDocument): LedgerCreditNote | undefined {
  const { element, shared, due, isCreditNote, isUnfinished } = document;
  if (!isCreditNote || isUnfinished) return undefined;
  const isIssued = shared.status === "approved" || shared.status === "paid";
  let left = isIssued ? -(scaledAmountOf(element.total_amount) ?? 0n) - due : 0n;
  const allocations = settlementLines(element).flatMap((line) => {
    return allocationsOf(line, shared.id).flatMap(({ given, ...allocation }) => {
      const amount = partOf(left, given);
      left -= amount;
      return amount > 0n ? [{ ...allocation, amount: amountText(amount) }] : [];
    });
  });
  return { ...shared, remainingCredit: amountText(due), allocations };
}

/** A person may reconcile several documents and payments at once: at most `whole` is of one. */
function partOf(whole: bigint, amount: bigint): bigint {
  return amount < whole ? amount : whole;
}

// A draft is open with its whole total, as in other ledgers. Tryton says so once it is posted. It
// counts a payment that is a draft itself, which pays nothing yet.
function dueOf(
  element: ExactObject,
  status: LedgerInvoiceStatus | undefined,
  total: bigint,
): bigint {
  if (status === "draft" || status === "awaiting_approval") return total;
  if (status !== "approved") return 0n;
  const drafts = openPayments(element).filter(({ move_state }) => move_state === "draft");
  const due = scaledAmountOf(element.amount_to_pay) ?? 0n;
  return drafts.reduce((sum, line) => sum - balanceOf(line), due);
}

// A draft that is cancelled had no number. It can be made a draft again, and counts as deleted.
function statusOf(
  state: string | undefined,
  number: string | null,
): LedgerInvoiceStatus | undefined {
  switch (state) {
    case "draft":
      return "draft";
    case "validated":
      return "awaiting_approval";
    case "posted":
      return "approved";
    case "paid":
      return "paid";
    case "cancelled":
      return number === null ? "deleted" : "voided";
    default:
      return undefined;
  }
}

/** Those that no entry takes back, and that are not reconciled with the document either. */
function openPayments(element: ExactObject): readonly ExactObject[] {
  return objectsOf(element.payment_lines).filter(
    ({ reconciliation }) => idOf(reconciliation) === undefined,
  );
}

/** The lines of the receivable account that pay the document, of payments and of credit. */
function settlementLines(element: ExactObject): readonly ExactObject[] {
  const lines = [...openPayments(element), ...objectsOf(element.reconciliation_lines)];
  const posted = lines.filter(({ move_state }) => move_state === "posted");
  return [...new Map(posted.map((line) => [idOf(line), line])).values()];
}

/** The invoice or credit note that a move belongs to. */
function documentIdOf(origin: ExactJson | undefined): string | undefined {
  const named = filledTextOf(objectOf(origin)?.__name__);
  if (named === "account.invoice") return idOf(origin);
  return /^account\.invoice,(\d+)$/.exec(filledTextOf(origin) ?? "")?.[1];
}

function balanceOf(line: ExactObject): bigint {
  return (scaledAmountOf(line.debit) ?? 0n) - (scaledAmountOf(line.credit) ?? 0n);
}

/** How much of a line is the credit of a note: its move belongs to another document. */
function creditOf(line: ExactObject, invoiceId: string): bigint {
  const origin = documentIdOf(objectOf(line.move)?.origin);
  const credit = -balanceOf(line);
  return origin === undefined || origin === invoiceId || credit < 0n ? 0n : credit;
}

/**
 * The invoices to which a line of a note's settlement gives credit, and how much at most. Our own
 * move has a line for the note and one for the invoice. A person reconciles the note with the line
 * of the invoice itself.
 */
function allocationsOf(
  line: ExactObject,
  noteId: string,
): readonly (Omit<LedgerAllocation, "amount"> & { readonly given: bigint })[] {
  const move = objectOf(line.move);
  const origin = documentIdOf(move?.origin);
  const date = dateOf(line.date) ?? "";
  const id = idOf(line) ?? "";
  if (origin !== noteId) {
    const given = balanceOf(line);
    return origin === undefined || given < 0n ? [] : [{ id, invoiceId: origin, given, date }];
  }
  return objectsOf(move?.lines).flatMap((other) => {
    const invoiceId = idOf(other.invoice_payment);
    if (invoiceId === undefined || invoiceId === noteId || idOf(other) === id) return [];
    return [{ id, invoiceId, given: -balanceOf(other), date }];
  });
}
