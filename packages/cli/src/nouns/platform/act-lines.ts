/**
 * What a person reads after an act on a subscription: what became of its documents, by comparing
 * them before and after.
 */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { CreditNoteService } from "../../../../../src/gen/proto/billing/admin/v1/credit_notes_pb.ts";
import { InvoiceService } from "../../../../../src/gen/proto/billing/admin/v1/invoices_pb.ts";
import { SubscriptionService } from "../../../../../src/gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { callJson } from "../../call-json.ts";
import { RefusedError } from "../../failures.ts";
import type { Work } from "../../noun.ts";
import { layText } from "../../output/document.ts";
import type { Json } from "../../output/message-json.ts";
import { capital, differenceOf, listOf } from "../../output/words.ts";
import { invoiceTable } from "./document-lines.ts";
import { type Amended, effectsText } from "./effects.ts";
import type { ShownCreditNote, ShownInvoice, ShownSubscription, Upcoming } from "./shown.ts";
import { planOf, subscriptionText } from "./subscription-lines.ts";

/** The newest documents of a subscription. An act concerns no older ones. */
interface Documents {
  readonly invoices: readonly ShownInvoice[];
  readonly notes: readonly ShownCreditNote[];
}

const none: Documents = { invoices: [], notes: [] };

/** Reads the documents before an act. A new subscription has none. */
export async function documentsBefore(work: Work): Promise<Documents> {
  const { id } = work.request;
  return typeof id === "string" ? documentsOf(work, id) : none;
}

/** Returns the lines after an act: what it did, the subscription, and the invoices concerned. */
export async function actLines(
  json: Json,
  work: Work,
  before: unknown,
): Promise<readonly string[]> {
  const subscription = json as unknown as ShownSubscription;
  const { terminal } = work;
  const { invoices, notes } = (before ?? none) as Documents;
  const [after, plan, upcoming] = await Promise.all([
    documentsOf(work, subscription.id),
    planOf(work, subscription.plan),
    upcomingOf(work, subscription.id),
  ]);
  const earlier = new Map(invoices.map((invoice) => [invoice.id, invoice]));
  const issued = after.invoices.filter(({ id }) => !earlier.has(id)).reverse();
  const amended = after.invoices.flatMap((invoice): (ShownInvoice & Amended)[] => {
    const { subtotal } = earlier.get(invoice.id) ?? invoice;
    const by = differenceOf(invoice.subtotal, subtotal);
    return subtotal === invoice.subtotal ? [] : [{ ...invoice, by }];
  });
  const removed = after.invoices.filter(
    (invoice) => isRemoved(invoice) && !isRemoved(earlier.get(invoice.id) ?? invoice),
  );
  const credited = after.notes.filter(({ id }) => !notes.some((note) => note.id === id));
  const effects = effectsText({ issued, amended, removed, credited, deferred: [], upcoming });
  return [
    ...layText(terminal, `${capital(effects)}. ${subscriptionText(subscription, plan)}`),
    ...issued.flatMap((one) => ["", ...invoiceTable(work, one, `Issued: ${titleOf(one)}`)]),
    ...amended.flatMap((one) => ["", ...invoiceTable(work, one, `Amended: ${titleOf(one)}`)]),
    "",
    `subscription ${subscription.id}`,
  ];
}

/** Reads an invoice. */
export async function readInvoice(
  { connection, request: { organisation = "" } }: Work,
  id: string,
): Promise<ShownInvoice> {
  const json = await callJson(connection, InvoiceService.method.getInvoice, { organisation, id });
  return json as unknown as ShownInvoice;
}

async function documentsOf(work: Work, subscription: string): Promise<Documents> {
  const [invoices, notes] = await Promise.all([
    newest(work, InvoiceService.method.listInvoices, subscription),
    newest(work, CreditNoteService.method.listCreditNotes, subscription),
  ]);
  return { invoices, notes } as unknown as Documents;
}

async function newest(
  { connection, request: { organisation = "" } }: Work,
  method: DescMethodUnary,
  subscription: string,
): Promise<readonly Json[]> {
  const { data } = await callJson(connection, method, { organisation, subscription, limit: 100 });
  return listOf(data);
}

/** Returns what the next renewal bills. Null if the subscription is over. */
async function upcomingOf(work: Work, id: string): Promise<Upcoming | null> {
  const { organisation = "" } = work.request;
  const { getUpcomingInvoice } = SubscriptionService.method;
  try {
    const json = await callJson(work.connection, getUpcomingInvoice, { organisation, id });
    return json as unknown as Upcoming;
  } catch (error) {
    if (error instanceof RefusedError && error.code === "invalid_state") return null;
    throw error;
  }
}

const isRemoved = ({ status }: ShownInvoice) => status === "deleted" || status === "voided";

const titleOf = ({ number, type, status }: ShownInvoice) => `${number} (${type}), ${status}`;
