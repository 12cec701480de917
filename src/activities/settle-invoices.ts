/** Waiting invoices to the ledger and its answers back: one call for up to fifty, each with an outcome of its own. */
import type { Ledger, LedgerFailure, LedgerInvoice, LedgerInvoiceDraft, LedgerLineDraft } from "../ledger/port.ts";
import type { InvoiceToSend, Settlement, Taken } from "../store/operations.ts";
import { settleFailedLookup, settleFailure } from "./ledger-call.ts";

/** How calls are made: `deadlineMs` for each, and where a document leads back to us (null: nowhere). */
export interface CallSettings {
  readonly deadlineMs: number;
  readonly publicUrl: string | null;
}

/** What a group came to: a settlement for each operation, and the failure of a whole call, which may pause the connection. */
export interface GroupOutcome {
  readonly settlements: readonly Settlement[];
  readonly failure: LedgerFailure | null;
}

/** The longest description that the ledger takes. Facts: facts-ledger section 1.3. */
const descriptionLimit = 4_000;

/** Sends what is ready and looks up what is uncertain. */
export async function settleInvoices(
  ledger: Ledger,
  taken: Taken<InvoiceToSend>,
  settings: CallSettings,
): Promise<GroupOutcome> {
  const unmapped = taken.ready.filter((invoice) => invoice.lines.some((line) => line.revenue_account === null));
  const sendable = taken.ready.filter((invoice) => !unmapped.includes(invoice));
  const refusals = unmapped.map(
    ({ id }): Settlement => ({
      kind: "refused",
      operationId: id,
      reason: "account_invalid",
      message: "No revenue account is mapped for a line of this invoice.",
    }),
  );
  const [sent, found] = await Promise.all([
    sendable.length === 0 ? nothing : sendInvoices(ledger, sendable, settings),
    taken.uncertain.length === 0 ? nothing : lookUpInvoices(ledger, taken.uncertain, settings),
  ]);
  return {
    settlements: [...refusals, ...sent.settlements, ...found.settlements],
    failure: sent.failure ?? found.failure,
  };
}

const nothing: GroupOutcome = { settlements: [], failure: null };

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
  const answer = await ledger.createInvoices(
    call,
    invoices.map((invoice) => draftOf(invoice, settings)),
  );
  if (answer.kind !== "ok") {
    return {
      settlements: invoices.map((invoice) => settleFailure(invoice, answer, settings.deadlineMs)),
      failure: answer,
    };
  }
  const settlements: Settlement[] = [];
  const taken: InvoiceToSend[] = [];
  for (const [index, invoice] of invoices.entries()) {
    const element = answer.value[index];
    if (element === undefined) throw new Error("the ledger's adapter left out an element");
    if (element.kind === "ok") settlements.push(done(invoice, element.value));
    // The number is taken: by our own earlier request whose answer was lost, or by somebody else.
    else if (element.kind === "refused" && element.reason === "duplicate_number") taken.push(invoice);
    else settlements.push(settleFailure(invoice, element, settings.deadlineMs));
  }
  if (taken.length === 0) return { settlements, failure: null };
  const found = await lookUpInvoices(ledger, taken, settings);
  return { settlements: [...settlements, ...found.settlements], failure: found.failure };
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
    return { settlements: invoices.map((invoice) => settleFailedLookup(invoice, answer)), failure: answer };
  }
  const byNumber = new Map(answer.value.map((invoice) => [invoice.number, invoice]));
  const settlements = invoices.map((invoice): Settlement => {
    const found = byNumber.get(invoice.number);
    if (found === undefined) {
      const reason = "not in the ledger: sent again";
      return { kind: "again", operationId: invoice.id, delayMs: 0, countsAsAttempt: true, reason };
    }
    if (isOurs(invoice, found, settings)) return done(invoice, found);
    const message = `The number ${invoice.number} is taken by another invoice in the ledger.`;
    return { kind: "refused", operationId: invoice.id, reason: "duplicate_number", message };
  });
  return { settlements, failure: null };
}

/** Ours leads back to us; where it cannot, it has our contact, currency, reference and sum. Facts: facts-ledger section 5.4. */
function isOurs(invoice: InvoiceToSend, found: LedgerInvoice, settings: CallSettings): boolean {
  const url = sourceUrl(invoice, settings);
  if (url !== null && found.sourceUrl !== null) return url === found.sourceUrl;
  return (
    found.contactId === invoice.contact_id &&
    found.currency === invoice.currency &&
    found.reference === invoice.reference &&
    found.subtotal === invoice.subtotal
  );
}

function done(invoice: InvoiceToSend, found: LedgerInvoice): Settlement {
  return {
    kind: "invoice_done",
    operationId: invoice.id,
    ledgerId: found.id,
    status: found.status,
    total: found.total,
    amountDue: found.amountDue,
    sent: found.sent,
  };
}

function sourceUrl({ invoice_id }: InvoiceToSend, { publicUrl }: CallSettings): string | null {
  return publicUrl === null ? null : `${publicUrl}/v1/invoices/${invoice_id}`;
}

function draftOf(invoice: InvoiceToSend, settings: CallSettings): LedgerInvoiceDraft {
  return {
    number: invoice.number,
    reference: invoice.reference,
    contactId: invoice.contact_id,
    currency: invoice.currency,
    issueDate: invoice.issue_date,
    dueDate: invoice.due_date,
    lineAmounts: "exclusive",
    status: invoice.first_status,
    sourceUrl: sourceUrl(invoice, settings),
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
