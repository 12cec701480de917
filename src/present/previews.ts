/** Converts previews to messages. Amounts get four places here (OBJECT-2). */
import { strict as assert } from "node:assert";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { prorationLine } from "../domain/billing/invoice-lines.ts";
import type { CreditNoteDraft } from "../domain/model/credit-note.ts";
import type { Invoice, InvoiceAmendment, InvoiceLineDraft } from "../domain/model/invoice.ts";
import { formatDecimal, negate, sum } from "../domain/money/decimal.ts";
import type {
  Preview,
  PreviewedCreditNote,
  PreviewedInvoice,
  PreviewedRemoval,
} from "../domain/previews/preview.ts";
import type { Upcoming } from "../domain/previews/upcoming.ts";
import type {
  PreviewCreditLineSchema,
  PreviewCreditNoteSchema,
  PreviewInvoiceSchema,
  PreviewLineSchema,
  PreviewRemovalSchema,
  UpcomingInvoiceSchema,
} from "../gen/proto/billing/v1/previews_pb.ts";
import type { SubscriptionPreviewSchema } from "../gen/proto/billing/v1/subscriptions_pb.ts";
import { invoiceTypes, lineKinds, previewAssumptions } from "./enums.ts";
import { amount, optional, presentSubscription } from "./objects.ts";

/** The stored invoices that a preview shows, by id. */
type StoredInvoices = ReadonlyMap<string, Invoice>;

/** Returns a preview's message. `upcoming` is null if nothing is upcoming. */
export function presentPreview(
  preview: Preview,
  upcoming: Upcoming | null,
  stored: StoredInvoices,
): MessageInitShape<typeof SubscriptionPreviewSchema> {
  const { state, issued, amended, removed, creditNotes, assumptions } = preview;
  const { subscription, plan, organisation, deferred } = state;
  return {
    object: "subscription_preview",
    subscription: presentSubscription(subscription, plan),
    issuedInvoices: issued.map((one) => presentIssued(one, preview, stored)),
    amendedInvoices: amended.flatMap(({ invoiceId }) => {
      const invoice = stored.get(invoiceId);
      if (invoice === undefined || !isChanged(invoice, preview, stored)) return [];
      return [presentAmended(invoice, preview, stored)];
    }),
    removedInvoices: removed.map((removal) => presentRemoval(removal, preview, stored)),
    creditNotes: creditNotes.map(presentCreditNote),
    deferredLines: deferred.map((line) => presentLine(prorationLine(plan, line, organisation))),
    ...(upcoming === null ? {} : { upcomingInvoice: presentUpcoming(preview, upcoming, stored) }),
    assumptions: assumptions.map((assumption) => previewAssumptions[assumption]),
  };
}

/** Returns the message of an upcoming invoice, with the lines of one that was issued ahead. */
export function presentUpcoming(
  preview: Preview,
  { date, period, ahead, lines, creditNotes }: Upcoming,
  stored: StoredInvoices,
): MessageInitShape<typeof UpcomingInvoiceSchema> {
  const { subscription } = preview.state;
  const all = [...(ahead === null ? [] : linesOf(ahead.id, preview, stored)), ...lines];
  const credits = creditNotes.map(({ subtotal }) => negate(subtotal));
  return {
    object: "upcoming_invoice",
    subscription: subscription.id,
    currency: subscription.currency,
    renewalDate: date,
    ...optional("period", period),
    issued: ahead !== null,
    ...optional("invoice", ahead !== null && stored.has(ahead.id) ? ahead.id : null),
    lines: all.map(presentLine),
    credits: creditNotes.flatMap(presentCreditLines),
    subtotal: formatDecimal(sum([...all.map(({ amount }) => amount), ...credits])),
  };
}

/** Returns the lines of an invoice after the preview, also of one that it issues. */
function linesOf(
  id: string,
  { issued, amended }: Preview,
  stored: StoredInvoices,
): readonly InvoiceLineDraft[] {
  const own = issued.find((invoice) => invoice.id === id)?.draft.lines;
  const lines = own ?? stored.get(id)?.lines;
  assert(lines, `invoice ${id} is new or stored`);
  const amendment = amended.find(({ invoiceId }) => invoiceId === id);
  return amendment === undefined ? lines : amendedLines(lines, amendment);
}

/** A plan line keeps everything except its price: that is all that an amendment writes. */
function amendedLines(
  lines: readonly InvoiceLineDraft[],
  { planLine, added }: InvoiceAmendment,
): readonly InvoiceLineDraft[] {
  const repriced = lines.map((line): InvoiceLineDraft => {
    if (line.kind !== "plan" || planLine === null) return line;
    const { units, description, unitPrice, amount } = planLine;
    return { ...line, units, description, unitPrice, amount };
  });
  return [...repriced, ...added];
}

/** An invoice that is overdue may be amended at once: it is shown as it would be afterwards. */
function presentIssued(
  { id, draft, isDue }: PreviewedInvoice,
  preview: Preview,
  stored: StoredInvoices,
): MessageInitShape<typeof PreviewInvoiceSchema> {
  const { reference } = draft;
  return {
    ...optional("reference", reference === "" ? null : reference),
    ...presentInvoice(draft, linesOf(id, preview, stored)),
    overdue: isDue,
  };
}

/** An amendment to the units that an invoice bills already changes nothing. */
function isChanged({ id, lines }: Invoice, preview: Preview, stored: StoredInvoices): boolean {
  return linesOf(id, preview, stored).some((line, index) => {
    const before = lines[index];
    return before === undefined || textOf(line) !== textOf(before);
  });
}

/** What an amendment may change of a line. */
function textOf({ units, description, unitPrice, amount: of }: InvoiceLineDraft): string {
  return [units, description, amount(unitPrice), formatDecimal(of)].join(" ");
}

function presentAmended(
  invoice: Invoice,
  preview: Preview,
  stored: StoredInvoices,
): MessageInitShape<typeof PreviewInvoiceSchema> {
  const { id, number, reference } = invoice;
  return {
    invoice: id,
    number,
    ...optional("reference", reference),
    ...presentInvoice(invoice, linesOf(id, preview, stored)),
    overdue: false,
  };
}

type ShownInvoice = Pick<Invoice, "type" | "currency" | "issueDate" | "dueDate" | "period">;

/** Returns what an invoice shows whether it exists or not. */
function presentInvoice(
  { type, currency, issueDate, dueDate, period }: ShownInvoice,
  lines: readonly InvoiceLineDraft[],
) {
  return {
    type: invoiceTypes[type],
    currency,
    issueDate,
    ...optional("dueDate", dueDate),
    ...optional("period", period),
    lines: lines.map(presentLine),
    subtotal: formatDecimal(sum(lines.map((line) => line.amount))),
  };
}

function presentRemoval(
  { invoiceId, onlyUnsent }: PreviewedRemoval,
  preview: Preview,
  stored: StoredInvoices,
): MessageInitShape<typeof PreviewRemovalSchema> {
  const known = stored.get(invoiceId);
  const removed = known ?? preview.issued.find(({ id }) => id === invoiceId)?.draft;
  assert(removed, `invoice ${invoiceId} is new or stored`);
  return {
    ...(known === undefined ? {} : { invoice: known.id, number: known.number }),
    type: invoiceTypes[removed.type],
    subtotal: formatDecimal(removed.subtotal),
    onlyIfUnsent: onlyUnsent,
    lines: linesOf(invoiceId, preview, stored).map(presentLine),
  };
}

function presentCreditNote({
  draft,
  isDue,
}: PreviewedCreditNote): MessageInitShape<typeof PreviewCreditNoteSchema> {
  const { reference, currency, issueDate, subtotal } = draft;
  return {
    ...optional("reference", reference === "" ? null : reference),
    currency,
    creditNoteDate: startOf(issueDate),
    lines: presentCreditLines(draft),
    subtotal: formatDecimal(subtotal),
    overdue: isDue,
  };
}

function presentCreditLines({
  lines,
}: CreditNoteDraft): MessageInitShape<typeof PreviewCreditLineSchema>[] {
  return lines.map(({ name, description, amount, effectiveDate, reversedInvoiceId }) => ({
    name,
    description,
    amount: formatDecimal(amount),
    effectiveDate: startOf(effectiveDate),
    ...optional("creditedInvoice", reversedInvoiceId ?? null),
  }));
}

function presentLine(line: InvoiceLineDraft): MessageInitShape<typeof PreviewLineSchema> {
  return {
    kind: lineKinds[line.kind],
    name: line.name,
    description: line.description,
    ...optional("units", line.units),
    ...optional("quantity", amount(line.quantity)),
    ...optional("unitPrice", amount(line.unitPrice)),
    amount: formatDecimal(line.amount),
    ...optional("period", line.period),
    ...optional("proration", line.proration),
  };
}

/** The day's start in UTC, as a credit note shows it. */
function startOf(date: string): string {
  return `${date}T00:00:00.000Z`;
}
