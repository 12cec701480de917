/** Writes a new document for Tryton. What its books would refuse is refused before a call. */
import { scaledOf } from "../../port/decimal-text.ts";
import { numberToken } from "../../port/exact-json.ts";
import { refused } from "../../port/failures.ts";
import type {
  LedgerAnswer,
  LedgerCreditNoteDraft,
  LedgerFailure,
  LedgerInvoiceDraft,
  LedgerLineDraft,
} from "../../port/ledger.ts";
import { type ExactLine, exactLine } from "../../port/lines/exact-line.ts";
import { type Books, noTaxCode, periodOf } from "../books.ts";
import { trytonTraits } from "../wire/connection.ts";
import { dateValue, decimalValue } from "../wire/values.ts";
import { idValue } from "../wire/wire.ts";
import { noteOf } from "./link.ts";

/** The party of a document: its address, an own receivable account, whether it is archived. */
export interface DocumentParty {
  readonly addressId: string | null;
  readonly accountId: string | null;
  readonly isActive: boolean;
}

/** A draft of either kind. Credit notes are due at once. */
export type Draft = LedgerCreditNoteDraft & Partial<Pick<LedgerInvoiceDraft, "dueDate">>;

const { maxDescriptionLength } = trytonTraits.documents;

/**
 * Returns the values of an unfinished document, or the refusal that Tryton's books show. `sign` is
 * -1 for a credit note, whose quantities are below zero.
 */
export function writeDocument(
  books: Books,
  companyId: number,
  party: DocumentParty | undefined,
  draft: Draft,
  sign: 1 | -1,
): LedgerAnswer<object> {
  const fault = documentFaultOf(books, party, draft);
  if (fault !== null) return fault;
  const lines: object[] = [];
  for (const [index, line] of draft.lines.entries()) {
    const taxed = draft.lineAmounts === "none" ? { ...line, taxType: noTaxCode } : line;
    const written = writeLine(books, taxed, sign);
    if (written.kind !== "ok") return written;
    const note = index === 0 ? { note: noteOf(draft.sourceUrl, true) } : {};
    const { taxIds, ...content } = written.value;
    const taxes = [["add", taxIds.map(idValue)]];
    lines.push({ ...content, ...note, taxes, company: companyId });
  }
  const { addressId, accountId } = party ?? {};
  return {
    kind: "ok",
    value: {
      type: "out",
      company: companyId,
      party: idValue(draft.contactId),
      invoice_address: idValue(addressId ?? ""),
      account: idValue(accountId ?? books.receivable ?? ""),
      journal: idValue(books.salesJournal ?? ""),
      currency: idValue(books.currencyId),
      reference: draft.number,
      description: draft.reference,
      invoice_date: dateValue(draft.issueDate),
      // The day in the books. Tryton may number the document on a later day.
      accounting_date: dateValue(draft.issueDate),
      ...(draft.dueDate === undefined ? {} : { payment_term_date: dateValue(draft.dueDate) }),
      lines: [["create", lines]],
    },
  };
}

/** The values of a line, without its company. A change of a line writes its taxes otherwise. */
interface WrittenLine extends Readonly<Record<string, unknown>> {
  readonly taxIds: readonly string[];
}

/** Returns the values of a line, or the refusal that the books show. */
export function writeLine(
  books: Books,
  line: LedgerLineDraft,
  sign: 1 | -1,
): LedgerAnswer<WrittenLine> {
  const { accounts, taxes, currencyId } = books;
  const account = accounts.find(
    ({ code, isOpen, isRevenue }) => code === line.accountCode && isOpen && isRevenue,
  );
  if (account === undefined) {
    const message = `Account ${line.accountCode} is no open revenue account of the company.`;
    return refused("account_invalid", message);
  }
  const { taxType } = line;
  const tax = taxes.find(({ id, isActive, isSale }) => id === taxType && isActive && isSale);
  if (taxType !== null && taxType !== noTaxCode && tax === undefined)
    return refused("tax_invalid", `Tax ${taxType} is no active tax on sales of the company.`);
  const taxIds = taxType === null ? account.taxes : tax === undefined ? [] : [tax.id];
  const { description, quantity, unitAmount } = exactOf(line);
  return {
    kind: "ok",
    value: {
      type: "line",
      currency: idValue(currencyId),
      description,
      quantity: numberToken(sign < 0 ? negated(quantity) : quantity),
      unit_price: decimalValue(unitAmount),
      account: idValue(account.id),
      taxIds,
    },
  };
}

/** Returns the description under which Tryton gets a line. */
export function descriptionOf(line: LedgerLineDraft): string {
  return exactOf(line).description;
}

// A quantity is a double there, which holds whole numbers exactly.
function exactOf(line: LedgerLineDraft): ExactLine {
  return exactLine(line, maxDescriptionLength, (quantity) => /^-?\d{1,15}(\.0*)?$/.test(quantity));
}

function negated(quantity: string): string {
  if (scaledOf(quantity, 4) === 0n) return quantity;
  return quantity.startsWith("-") ? quantity.slice(1) : `-${quantity}`;
}

function documentFaultOf(
  books: Books,
  party: DocumentParty | undefined,
  { currency, lineAmounts, lines, issueDate, contactId }: Draft,
): LedgerFailure | null {
  if (lines.length === 0) return refused("validation", "A document needs at least one line.");
  if (lineAmounts === "inclusive")
    return refused("validation", "Amounts that contain tax cannot be sent to Tryton.");
  if (currency !== books.currency) {
    const message = `The company keeps its books in ${books.currency}, not in ${currency}.`;
    return refused("currency_not_enabled", message);
  }
  if (lines.some(({ amount }) => scaledOf(amount, 4) % 10n ** BigInt(4 - books.places) !== 0n)) {
    const message = `${currency} has ${books.places} decimal places in Tryton; an amount has more.`;
    return refused("currency_not_enabled", message);
  }
  if (periodOf(books, issueDate) === undefined) {
    const message = `The company has no open period for the document's date ${issueDate}.`;
    return refused("period_locked", message);
  }
  if (party === undefined) return refused("not_found", `Tryton has no party ${contactId}.`);
  if (!party.isActive) return refused("contact_inactive", "The party is archived in Tryton.");
  if (party.addressId === null)
    return refused("validation", "The party has no address in Tryton, which a document needs.");
  return party.accountId === null && books.receivable === null
    ? refused("account_invalid", "The party has no receivable account in Tryton.")
    : null;
}
