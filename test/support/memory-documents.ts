/** The contacts and documents that a memory ledger has for one organisation. */
import { randomUUID } from "node:crypto";
import { decimalTextOf, divideRounded, scaledOf } from "../../src/ledger/port/decimal-text.ts";
import type {
  LedgerContact,
  LedgerCreditNote,
  LedgerCreditNoteDraft,
  LedgerInvoice,
  LedgerLine,
  LedgerLineDraft,
} from "../../src/ledger/port/ledger.ts";

/** The documents of one organisation. */
export interface MemoryDocuments {
  readonly contacts: Map<string, LedgerContact>;
  readonly invoices: Map<string, LedgerInvoice>;
  readonly notes: Map<string, LedgerCreditNote>;
  /** An instant after every earlier one of these documents. */
  now(): string;
}

/** The percents of each tax that sales can have. */
export const taxes: Readonly<Record<string, bigint>> = { NONE: 0n, GST: 15n };

/** Creates empty documents. */
export function createDocuments(): MemoryDocuments {
  let lastMs = 0;
  return {
    contacts: new Map(),
    invoices: new Map(),
    notes: new Map(),
    now: () => {
      lastMs = Math.max(Date.now(), lastMs + 1);
      return new Date(lastMs).toISOString();
    },
  };
}

/** What a person does there: pays an invoice in full. Returns it. */
export function payInvoice(documents: MemoryDocuments, id: string): LedgerInvoice {
  const invoice = documents.invoices.get(id);
  if (invoice === undefined) throw new Error(`there is no invoice ${id}`);
  return changeInvoice(documents, invoice, {
    amountPaid: minus(invoice.total, invoice.amountCredited),
  });
}

/** Saves a change of an invoice, with what is due after it. */
export function changeInvoice(
  documents: MemoryDocuments,
  invoice: LedgerInvoice,
  change: Partial<LedgerInvoice>,
): LedgerInvoice {
  const next = { ...invoice, ...change, updatedAt: documents.now() };
  const isOver = next.status === "voided";
  const due = isOver ? zero : minus(minus(next.total, next.amountPaid), next.amountCredited);
  const isPaid = !isOver && due === zero && next.total !== zero;
  const status = isPaid ? ("paid" as const) : next.status;
  const saved = { ...next, status, amountDue: due };
  documents.invoices.set(saved.id, saved);
  return saved;
}

/** The members that invoices and credit notes share, from their draft. */
export function documentOf(draft: LedgerCreditNoteDraft, updatedAt: string) {
  const { number, reference, contactId, currency, lineAmounts, issueDate, sourceUrl } = draft;
  const lines = draft.lines.map((line) => lineOf(line, null));
  return {
    ...{ id: randomUUID(), number, reference, contactId, currency, issueDate, sourceUrl },
    ...{ lineAmounts, status: "approved" as const, sent: false, lines, updatedAt },
    ...totalsOf(draft.lines, draft.lineAmounts),
  };
}

/** A line as the ledger has it. It has an amount in addition to its quantity and price. */
export function lineOf({ description, amount }: LedgerLineDraft, id: string | null): LedgerLine {
  return { ledgerLineId: id ?? randomUUID(), description, amount: text(scaledOf(amount, 4)) };
}

/** The totals of lines. Each line's tax is rounded to two places. */
export function totalsOf(
  lines: readonly Pick<LedgerLineDraft, "amount" | "taxType">[],
  lineAmounts: LedgerCreditNoteDraft["lineAmounts"],
) {
  let [net, tax] = [0n, 0n];
  for (const { amount, taxType } of lines) {
    const [own, percent] = [scaledOf(amount, 4), taxes[taxType ?? "NONE"] ?? 0n];
    const isInside = lineAmounts === "inclusive";
    const share = isInside
      ? divideRounded(own * percent, (100n + percent) * 100n)
      : divideRounded(own * percent, 10_000n);
    const ownTax = lineAmounts === "none" ? 0n : share * 100n;
    net += isInside ? own - ownTax : own;
    tax += ownTax;
  }
  return { subtotal: text(net), tax: text(tax), total: text(net + tax) };
}

/** Nothing, as an amount. */
export const zero = "0.0000";

/** Returns `left` − `right`. */
export function minus(left: string, right: string): string {
  return text(scaledOf(left, 4) - scaledOf(right, 4));
}

/** Returns true if `left` is more than `right`. */
export function isMore(left: string, right: string): boolean {
  return scaledOf(left, 4) > scaledOf(right, 4);
}

function text(scaled: bigint): string {
  return decimalTextOf(scaled, 4);
}
