/**
 * Parses Xero's contacts, invoices and credit notes into the port's values. An element without an
 * id, with an unknown status or an unreadable amount is undefined. The caller then treats the
 * answer as unreadable.
 */
import { decimalTextOf, isDecimalText, scaledOf } from "../../port/decimal-text.ts";
import {
  type ExactJson,
  type ExactObject,
  filledTextOf,
  objectOf,
  objectsOf,
  textOf,
} from "../../port/exact-json.ts";
import type {
  LedgerAllocation,
  LedgerContact,
  LedgerCreditNote,
  LedgerInvoice,
  LedgerInvoiceStatus,
  LedgerLine,
  LedgerLineAmounts,
} from "../../port/ledger.ts";

const documentStatuses: ReadonlyMap<string, LedgerInvoiceStatus> = new Map([
  ["DRAFT", "draft"],
  ["SUBMITTED", "awaiting_approval"],
  ["AUTHORISED", "approved"],
  ["PAID", "paid"],
  ["VOIDED", "voided"],
  ["DELETED", "deleted"],
]);

const lineAmounts: ReadonlyMap<string, LedgerLineAmounts> = new Map([
  ["Exclusive", "exclusive"],
  ["Inclusive", "inclusive"],
  ["NoTax", "none"],
]);

const contactStatuses: ReadonlyMap<string, LedgerContact["status"]> = new Map([
  ["ACTIVE", "active"],
  ["ARCHIVED", "archived"],
  ["GDPRREQUEST", "erased"],
]);

// The id that Xero returns for an element that it did not create.
const emptyId = "00000000-0000-0000-0000-000000000000";

// All amounts of the port have four places.
const amountPlaces = 4;
const noAmount = "0.0000";

/** Returns a contact, or undefined if the element is incomplete. */
export function readContact(element: ExactObject): LedgerContact | undefined {
  const id = idOf(element.ContactID);
  const name = filledTextOf(element.Name);
  const status = contactStatuses.get(filledTextOf(element.ContactStatus) ?? "ACTIVE");
  const updatedAt = instantOf(element.UpdatedDateUTC);
  if (id === undefined || name === undefined || status === undefined || updatedAt === undefined)
    return undefined;
  return {
    id,
    code: filledTextOf(element.ContactNumber) ?? null,
    name,
    firstName: filledTextOf(element.FirstName) ?? null,
    lastName: filledTextOf(element.LastName) ?? null,
    email: filledTextOf(element.EmailAddress) ?? null,
    status,
    mergedInto: idOf(element.MergedToContactID) ?? null,
    isCustomer: element.IsCustomer === true,
    isSupplier: element.IsSupplier === true,
    updatedAt,
  };
}

/** Returns a sales invoice, or undefined if the element is incomplete. */
export function readInvoice(element: ExactObject): LedgerInvoice | undefined {
  const id = idOf(element.InvoiceID);
  const number = filledTextOf(element.InvoiceNumber);
  const amountDue = amountOf(element.AmountDue);
  const document = readDocument(element);
  if (id === undefined || number === undefined || amountDue === undefined || !document)
    return undefined;
  return {
    id,
    number,
    ...document,
    dueDate: dateOf(element.DueDateString, element.DueDate) ?? null,
    amountDue,
    // The answer to a create omits amounts that cannot exist yet.
    amountPaid: amountOf(element.AmountPaid) ?? noAmount,
    amountCredited: amountOf(element.AmountCredited) ?? noAmount,
    sourceUrl: filledTextOf(element.Url) ?? null,
  };
}

/**
 * Returns a sales credit note with its allocations, or undefined if the element is incomplete. The
 * remaining credit and the allocations decide whether money is spent twice.
 */
export function readCreditNote(element: ExactObject): LedgerCreditNote | undefined {
  const id = idOf(element.CreditNoteID);
  const number = filledTextOf(element.CreditNoteNumber);
  const remainingCredit = amountOf(element.RemainingCredit);
  const document = readDocument(element);
  if (id === undefined || number === undefined || remainingCredit === undefined || !document)
    return undefined;
  const standing = objectsOf(element.Allocations).filter(
    (allocation) => allocation.IsDeleted !== true,
  );
  const allocations = standing.map(readAllocation).filter((allocation) => allocation !== undefined);
  if (allocations.length < standing.length) return undefined;
  // Xero keeps no link of a credit note.
  return { id, number, ...document, sourceUrl: null, remainingCredit, allocations };
}

/** Returns a line of a document. A line with only a description has the amount zero. */
export function readLine(element: ExactObject): LedgerLine {
  return {
    ledgerLineId: idOf(element.LineItemID) ?? "",
    description: textOf(element.Description) ?? "",
    amount: amountOf(element.LineAmount) ?? noAmount,
  };
}

/**
 * Returns `/Date(1540000000000+0000)/` as an ISO instant in UTC of the years 1 to 9999. Other
 * values are undefined.
 */
export function instantOf(value: ExactJson | undefined): string | undefined {
  const milliseconds = /^\/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\/$/.exec(
    filledTextOf(value) ?? "",
  )?.[1];
  if (milliseconds === undefined) return undefined;
  const instant = new Date(Number(milliseconds)).toISOString();
  return /^(?!0000)\d{4}-/.test(instant) ? instant : undefined;
}

/**
 * Returns a civil date: the plain form (`2026-04-24T00:00:00`) if there is one, else the UTC day of
 * `/Date(ms)/`.
 */
export function dateOf(
  plain: ExactJson | undefined,
  milliseconds: ExactJson | undefined,
): string | undefined {
  const day = /^(\d{4}-\d{2}-\d{2})(?:T|$)/.exec(filledTextOf(plain) ?? "")?.[1];
  return day ?? instantOf(milliseconds)?.slice(0, 10);
}

// The members that invoices and credit notes share.
function readDocument(element: ExactObject) {
  const contactId = idOf(objectOf(element.Contact)?.ContactID);
  const status = documentStatuses.get(filledTextOf(element.Status) ?? "");
  const currency = filledTextOf(element.CurrencyCode);
  const issueDate = dateOf(element.DateString, element.Date);
  const updatedAt = instantOf(element.UpdatedDateUTC);
  const subtotal = amountOf(element.SubTotal);
  const tax = amountOf(element.TotalTax);
  const total = amountOf(element.Total);
  if (contactId === undefined || status === undefined || currency === undefined) return undefined;
  if (issueDate === undefined || updatedAt === undefined) return undefined;
  if (subtotal === undefined || tax === undefined || total === undefined) return undefined;
  return {
    reference: textOf(element.Reference) ?? "",
    contactId,
    status,
    currency,
    lineAmounts: lineAmounts.get(filledTextOf(element.LineAmountTypes) ?? "") ?? null,
    issueDate,
    subtotal,
    tax,
    total,
    sent: element.SentToContact === true,
    lines: objectsOf(element.LineItems).map(readLine),
    updatedAt,
  };
}

// Older answers of Xero have no AllocationID.
function readAllocation(element: ExactObject): LedgerAllocation | undefined {
  const invoiceId = idOf(objectOf(element.Invoice)?.InvoiceID);
  const amount = amountOf(element.Amount);
  const date = dateOf(element.DateString, element.Date);
  if (invoiceId === undefined || amount === undefined || date === undefined) return undefined;
  return { id: idOf(element.AllocationID) ?? "", invoiceId, amount, date };
}

function amountOf(value: ExactJson | undefined): string | undefined {
  const text = filledTextOf(value);
  return text !== undefined && isDecimalText(text)
    ? decimalTextOf(scaledOf(text, amountPlaces), amountPlaces)
    : undefined;
}

function idOf(value: ExactJson | undefined): string | undefined {
  const id = filledTextOf(value);
  return id === emptyId ? undefined : id;
}
