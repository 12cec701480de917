/** Converts previews to messages. Amounts get four places here (OBJECT-2). */
import { strict as assert } from "node:assert";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { prorationLine } from "../domain/billing/invoice-lines.ts";
import { amendedFacts } from "../domain/explanation/facts.ts";
import type { DocumentObject } from "../domain/explanation/named-facts.ts";
import { type PriceSheet, sheetText, showSheet } from "../domain/explanation/price-sheet.ts";
import type { DocumentToExplain } from "../domain/explanation/render.ts";
import type { CreditNoteDraft } from "../domain/model/credit-note.ts";
import type { Invoice, InvoiceAmendment, InvoiceLineDraft } from "../domain/model/invoice.ts";
import { formatDecimal, negate, sum } from "../domain/money/decimal.ts";
import {
  isAmending,
  isRepriced,
  type Preview,
  type PreviewedCreditNote,
  type PreviewedInvoice,
  type PreviewedRemoval,
} from "../domain/previews/preview.ts";
import type { Upcoming } from "../domain/previews/upcoming.ts";
import type { ExplanationSchema } from "../gen/proto/billing/v1/explanations_pb.ts";
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

type ExplanationMessage = MessageInitShape<typeof ExplanationSchema>;

/** A preview to show. `stored` are the stored invoices that it names, by id, with their facts. */
export interface ShownPreview {
  readonly preview: Preview;
  readonly stored: ReadonlyMap<string, Invoice>;
  /** The organisation's now. */
  readonly now: Date;
  readonly explain: (document: DocumentToExplain) => ExplanationMessage;
}

/** Returns a preview's message. `upcoming` is null if nothing is upcoming. */
export function presentPreview(
  shown: ShownPreview,
  upcoming: Upcoming | null,
): MessageInitShape<typeof SubscriptionPreviewSchema> {
  const { preview, stored } = shown;
  const { state, issued, amended, removed, creditNotes, assumptions } = preview;
  const { subscription, plan, organisation, deferred } = state;
  return {
    object: "subscription_preview",
    subscription: presentSubscription(subscription, plan),
    issuedInvoices: issued.map((one) => presentIssued(one, shown)),
    amendedInvoices: amended.flatMap((amendment) => {
      const invoice = stored.get(amendment.invoiceId);
      if (invoice === undefined || !isAmending(invoice, amendment)) return [];
      return [presentAmended(invoice, shown)];
    }),
    removedInvoices: removed.map((removal) => presentRemoval(removal, shown)),
    creditNotes: creditNotes.map((note) => presentCreditNote(note, shown)),
    deferredLines: deferred.map((line) => presentLine(prorationLine(plan, line, organisation))),
    ...(upcoming === null ? {} : { upcomingInvoice: presentUpcoming(shown, upcoming) }),
    assumptions: assumptions.map((assumption) => previewAssumptions[assumption]),
  };
}

/** Returns the message of an upcoming invoice, with the lines of one that was issued ahead. */
export function presentUpcoming(
  shown: ShownPreview,
  { date, period, ahead, invoices, creditNotes }: Upcoming,
): MessageInitShape<typeof UpcomingInvoiceSchema> {
  const { preview, stored } = shown;
  const { subscription } = preview.state;
  const issuedAhead = ahead === null ? [] : [linesOf(ahead.id, shown)];
  const linesOfEach = [...issuedAhead, ...invoices.map(({ lines }) => lines)];
  const all = linesOfEach.flat();
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
    explanations: [
      ...linesOfEach.map((lines) => explanationOf("invoice", lines, shown)),
      ...creditNotes.map(({ lines }) => explanationOf("credit_note", lines, shown)),
    ],
  };
}

/** A preview has neither ids nor numbers, also not of a stored invoice: its lines may be new. */
function explanationOf(
  object: DocumentObject,
  lines: readonly Pick<InvoiceLineDraft, "amount" | "facts">[],
  { preview, explain }: ShownPreview,
): ExplanationMessage {
  const { id: subscriptionId, currency } = preview.state.subscription;
  return explain({
    ...{ object, id: null, number: null, subscriptionId, currency },
    lines: lines.map(({ amount, facts }) => ({ id: null, amount, ...(facts && { facts }) })),
  });
}

/** Returns the lines of an invoice after the preview, also of one that it issues. */
function linesOf(id: string, shown: ShownPreview): readonly InvoiceLineDraft[] {
  const { issued, amended } = shown.preview;
  const own = issued.find((invoice) => invoice.id === id)?.draft.lines;
  const lines = own ?? shown.stored.get(id)?.lines;
  assert(lines, `invoice ${id} is new or stored`);
  const amendment = amended.find(({ invoiceId }) => invoiceId === id);
  return amendment === undefined ? lines : amendedLines(lines, amendment, shown);
}

/** A plan line keeps everything except its price: that is all that an amendment writes. */
function amendedLines(
  lines: readonly InvoiceLineDraft[],
  { planLine, added }: InvoiceAmendment,
  shown: ShownPreview,
): readonly InvoiceLineDraft[] {
  const repriced = lines.map((line) =>
    planLine !== null && isRepriced(line, planLine) ? repricedLine(line, planLine, shown) : line,
  );
  return [...repriced, ...added];
}

function repricedLine(
  { facts: before, ...line }: InvoiceLineDraft,
  { units, description, unitPrice, amount, facts }: InvoiceLineDraft,
  { preview, now: until }: ShownPreview,
): InvoiceLineDraft {
  const { id } = preview.state.subscription;
  const nameOf = (sheet: PriceSheet) => sheetText(showSheet(sheet, id));
  const was = before && { facts: before, amount: line.amount, until, nameOf };
  const amended = facts && was ? amendedFacts(facts, was) : facts;
  return { ...line, units, description, unitPrice, amount, ...(amended && { facts: amended }) };
}

/** An invoice that is overdue may be amended at once: it is shown as it would be afterwards. */
function presentIssued(
  { id, draft, isDue }: PreviewedInvoice,
  shown: ShownPreview,
): MessageInitShape<typeof PreviewInvoiceSchema> {
  const { reference } = draft;
  return {
    ...optional("reference", reference === "" ? null : reference),
    ...presentInvoice(draft, linesOf(id, shown), shown),
    overdue: isDue,
  };
}

function presentAmended(
  invoice: Invoice,
  shown: ShownPreview,
): MessageInitShape<typeof PreviewInvoiceSchema> {
  const { id, number, reference } = invoice;
  return {
    invoice: id,
    number,
    ...optional("reference", reference),
    ...presentInvoice(invoice, linesOf(id, shown), shown),
    overdue: false,
  };
}

type ShownInvoice = Pick<Invoice, "type" | "currency" | "issueDate" | "dueDate" | "period">;

/** Returns what an invoice shows whether it exists or not. */
function presentInvoice(
  { type, currency, issueDate, dueDate, period }: ShownInvoice,
  lines: readonly InvoiceLineDraft[],
  shown: ShownPreview,
) {
  return {
    type: invoiceTypes[type],
    currency,
    issueDate,
    ...optional("dueDate", dueDate),
    ...optional("period", period),
    lines: lines.map(presentLine),
    subtotal: formatDecimal(sum(lines.map((line) => line.amount))),
    explanation: explanationOf("invoice", lines, shown),
  };
}

function presentRemoval(
  { invoiceId, onlyUnsent }: PreviewedRemoval,
  shown: ShownPreview,
): MessageInitShape<typeof PreviewRemovalSchema> {
  const known = shown.stored.get(invoiceId);
  const removed = known ?? shown.preview.issued.find(({ id }) => id === invoiceId)?.draft;
  assert(removed, `invoice ${invoiceId} is new or stored`);
  return {
    ...(known === undefined ? {} : { invoice: known.id, number: known.number }),
    type: invoiceTypes[removed.type],
    subtotal: formatDecimal(removed.subtotal),
    onlyIfUnsent: onlyUnsent,
    lines: linesOf(invoiceId, shown).map(presentLine),
  };
}

function presentCreditNote(
  { draft, isDue }: PreviewedCreditNote,
  shown: ShownPreview,
): MessageInitShape<typeof PreviewCreditNoteSchema> {
  const { reference, currency, issueDate, subtotal } = draft;
  return {
    ...optional("reference", reference === "" ? null : reference),
    currency,
    creditNoteDate: startOf(issueDate),
    lines: presentCreditLines(draft),
    subtotal: formatDecimal(subtotal),
    overdue: isDue,
    explanation: explanationOf("credit_note", draft.lines, shown),
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
