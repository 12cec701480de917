/** Waiting invoices to the ledger and its answers back: one call for up to fifty, each with an outcome of its own. */
import type { Ledger, LedgerInvoice, LedgerInvoiceDraft, LedgerLineDraft } from "../ledger/port.ts";
import type { InvoiceToSend, Taken } from "../store/operations.ts";
import type { Settlement } from "../store/settle-operations.ts";
import {
  type GroupOutcome,
  groupCalls,
  held,
  joinOutcomes,
  settleFailedLookup,
  settleFailure,
  settleLater,
  settleMissing,
  settleRefusal,
} from "./ledger-call.ts";

/** How calls are made: `deadlineMs` for each, and where a document leads back to us (null: nowhere). */
export interface CallSettings {
  readonly deadlineMs: number;
  readonly publicUrl: string | null;
}

/** The longest description that the ledger takes. Facts: facts-ledger section 1.3. */
const descriptionLimit = 4_000;

/** Sends what is ready and looks up what is uncertain. */
export async function settleInvoices(
  ledger: Ledger,
  taken: Taken<InvoiceToSend>,
  settings: CallSettings,
): Promise<GroupOutcome> {
  const judged = taken.ready.map((invoice) => ({ invoice, fault: preflight(invoice) }));
  const refusals = judged.flatMap(({ invoice, fault }): Settlement[] =>
    fault === null ? [] : [{ ...held(invoice), kind: "refused", ...fault }],
  );
  const { calls, later } = groupCalls(judged.filter(({ fault }) => fault === null).map(({ invoice }) => invoice));
  const uncertain = taken.uncertain.length === 0 ? [] : [lookUpInvoices(ledger, taken.uncertain, settings)];
  const outcomes = await Promise.all([...calls.map((call) => sendInvoices(ledger, call, settings)), ...uncertain]);
  return joinOutcomes([{ settlements: [...refusals, ...later.map(settleLater)], failures: [] }, ...outcomes]);
}

/** What we can say ourselves, and for free. The ledger counts in hundredths. Facts: facts-ledger sections 1.3 and 4. */
function preflight({ lines }: InvoiceToSend): { readonly reason: string; readonly message: string } | null {
  if (lines.some((line) => line.revenue_account === null)) {
    return { reason: "account_invalid", message: "No revenue account is mapped for a line of this invoice." };
  }
  if (lines.some(({ amount }) => !/^\d+(?:\.\d{1,2}0*)?$/.test(amount))) {
    return { reason: "currency_not_enabled", message: "The ledger keeps two decimal places; an amount has more." };
  }
  return null;
}

async function sendInvoices(
  ledger: Ledger,
  invoices: readonly InvoiceToSend[],
  settings: CallSettings,
): Promise<GroupOutcome> {
  const call = {
    deadlineMs: settings.deadlineMs,
    operationKeys: invoices.map(({ id }) => id),
    // Whatever is sent a second time has been looked up before: a remembered internal error must not answer again.
    variant: String(Math.max(...invoices.map(({ attempts }) => attempts))),
  };
  const drafts = invoices.map((invoice) => draftOf(invoice, settings));
  const answer = await ledger.createInvoices(call, drafts);
  if (answer.kind !== "ok") {
    const isAlone = invoices.length === 1;
    const settlements = invoices.map((invoice) => settleFailure(invoice, answer, settings.deadlineMs, isAlone));
    return { settlements, failures: [answer] };
  }
  const settlements: Settlement[] = [];
  const numberTaken: InvoiceToSend[] = [];
  for (const [index, invoice] of invoices.entries()) {
    const element = answer.value[index];
    if (element === undefined) throw new Error("the ledger's adapter left out an element");
    if (element.kind === "ok") settlements.push(done(invoice, element.value));
    // By our own earlier request whose answer was lost, or by somebody else.
    else if (element.kind === "refused" && element.reason === "duplicate_number") numberTaken.push(invoice);
    else if (element.kind === "refused") settlements.push(settleRefusal(invoice, element));
    else settlements.push(settleFailure(invoice, element, settings.deadlineMs, true));
  }
  const looked = numberTaken.length === 0 ? [] : [await lookUpInvoices(ledger, numberTaken, settings)];
  return joinOutcomes([{ settlements, failures: [] }, ...looked]);
}

/** Looks invoices up by the numbers that we reserved: ours is adopted, somebody else's is a refusal, none is sent again. */
async function lookUpInvoices(
  ledger: Ledger,
  invoices: readonly InvoiceToSend[],
  settings: CallSettings,
): Promise<GroupOutcome> {
  const call = { deadlineMs: settings.deadlineMs, operationKeys: [] };
  const answer = await ledger.findInvoices(call, { numbers: invoices.map(({ number }) => number) });
  if (answer.kind !== "ok") {
    return { settlements: invoices.map((invoice) => settleFailedLookup(invoice, answer)), failures: [answer] };
  }
  const byNumber = new Map(answer.value.map((invoice) => [invoice.number, invoice]));
  const settlements = invoices.map((invoice): Settlement => {
    const found = byNumber.get(invoice.number);
    if (found === undefined) return settleMissing(invoice);
    if (isOurs(invoice, found)) return done(invoice, found);
    const message = `The number ${invoice.number} is taken by another invoice in the ledger.`;
    return { ...held(invoice), kind: "refused", reason: "duplicate_number", message };
  });
  return { settlements, failures: [] };
}

/**
 * One that leads back to us is ours, and one that leads elsewhere is not. One that leads nowhere is ours where we may have sent
 * it before (on a first attempt nothing was), and everything about it is as we asked, and nobody has put money on it.
 * Facts: facts-ledger section 5.4.
 */
function isOurs(invoice: InvoiceToSend, found: LedgerInvoice): boolean {
  if (found.sourceUrl !== null) return found.sourceUrl.endsWith(sourcePath(invoice));
  return (
    invoice.attempts > 1 &&
    found.contactId === invoice.contact_id &&
    found.currency === invoice.currency &&
    found.reference === invoice.reference &&
    found.issueDate === invoice.issue_date &&
    found.dueDate === invoice.due_date &&
    found.subtotal === invoice.subtotal &&
    found.lines.map(({ amount }) => amount).join() === invoice.lines.map(({ amount }) => amount).join() &&
    isUntouched(found)
  );
}

/** No payment and no credit. One over nothing is paid by itself. */
function isUntouched({ amountPaid, amountCredited }: LedgerInvoice): boolean {
  return [amountPaid, amountCredited].every((amount) => /^0(?:\.0*)?$/.test(amount));
}

function done(invoice: InvoiceToSend, found: LedgerInvoice): Settlement {
  return {
    ...held(invoice),
    kind: "invoice_done",
    ledgerId: found.id,
    status: found.status,
    total: found.total,
    amountDue: found.amountDue,
    sent: found.sent,
  };
}

/** Without the host: the address under which we are known may change between two attempts. */
function sourcePath({ invoice_id }: InvoiceToSend): string {
  return `/v1/invoices/${invoice_id}`;
}

function draftOf(invoice: InvoiceToSend, { publicUrl }: CallSettings): LedgerInvoiceDraft {
  return {
    number: invoice.number,
    reference: invoice.reference,
    contactId: invoice.contact_id,
    currency: invoice.currency,
    issueDate: invoice.issue_date,
    dueDate: invoice.due_date,
    lineAmounts: "exclusive",
    status: invoice.first_status,
    sourceUrl: publicUrl === null ? null : `${publicUrl}${sourcePath(invoice)}`,
    lines: invoice.lines.map(lineOf),
  };
}

/** The description carries the arithmetic; where it does not fit, its end is cut and the amount still stands. */
function lineOf(line: InvoiceToSend["lines"][number]): LedgerLineDraft {
  const text = line.description === "" ? line.name : `${line.name}: ${line.description}`;
  const isPriced = line.units !== null && line.unit_price !== null;
  return {
    description: [...text].slice(0, descriptionLimit).join(""),
    quantity: isPriced ? String(line.units) : "1",
    unitAmount: isPriced ? String(line.unit_price) : line.amount,
    amount: line.amount,
    accountCode: line.revenue_account ?? "",
    taxType: line.tax_type,
  };
}
