/** The events that an act causes, derived from its preview (PREVIEW-8). */
import { isOver } from "../billing/due-date.ts";
import type { EventType } from "../events/event.ts";
import type { DocumentStatus, Invoice } from "../model/invoice.ts";
import type { OrganisationSettings } from "../model/organisation-settings.ts";
import type { Subscription } from "../model/subscription.ts";
import { isAmending, type Preview } from "./preview.ts";

/** Events of one kind. `objectIds` are those of objects that exist already. */
export interface PreviewedEvents {
  readonly type: EventType;
  readonly count: number;
  readonly objectIds: readonly string[];
}

interface PreviewedEvent {
  readonly type: EventType;
  /** Null for an object that does not exist yet. */
  readonly objectId: string | null;
}

/**
 * Returns the events from the act, with what is due, until the ledger has each of its documents, by
 * kind in the order of the preview. The ledger answers as the preview takes for granted. They are
 * those of one window that begins with the act (EVENT-2). If the ledger takes a document in the
 * next window, `updated` follows once more.
 *
 * Payments and allocations of credit come later and are left out. So is the removal of an invoice
 * that is still to be sent, if invoices are approved at once: it is voided if the ledger has it by
 * then, else deleted. `stored` are the stored invoices that the preview names, by id.
 */
export function previewedEvents(
  { was, state, issued, amended, removed, creditNotes }: Preview,
  stored: ReadonlyMap<string, Pick<Invoice, "status" | "lines">>,
): readonly PreviewedEvents[] {
  const events = [
    subscriptionEvent(was, state.subscription),
    ...issued.map(() => event("invoice.created", null)),
    ...amended.map((amendment) => {
      const invoice = stored.get(amendment.invoiceId);
      const isChanged = invoice !== undefined && isAmending(invoice, amendment);
      return isChanged ? event("invoice.updated", amendment.invoiceId) : null;
    }),
    ...removed.map(({ invoiceId }) => {
      const invoice = stored.get(invoiceId);
      const type = removalOf(invoice?.status ?? "scheduled", state.organisation);
      return type && event(type, invoice === undefined ? null : invoiceId);
    }),
    ...creditNotes.map(() => event("credit_note.created", null)),
  ].filter((one) => one !== null);
  const byType = Map.groupBy(events, ({ type }) => type);
  return [...byType].map(([type, all]) => ({
    type,
    count: all.length,
    objectIds: all.flatMap(({ objectId }) => objectId ?? []),
  }));
}

function event(type: EventType, objectId: string | null): PreviewedEvent {
  return { type, objectId };
}

/** The members that acts and renewals change. */
const changing = ["status", "renewalDate", "endDate", "units", "cancelAtPeriodEnd"] as const;

function subscriptionEvent(
  was: Subscription | null,
  subscription: Subscription,
): PreviewedEvent | null {
  const { id } = subscription;
  if (was === null) return event("subscription.created", null);
  if (isOver(subscription)) return event("subscription.ended", id);
  const isChanged = changing.some((member) => was[member] !== subscription[member]);
  return isChanged ? event("subscription.updated", id) : null;
}

/** How the ledger removes an invoice of this status. Null if that is not known. */
function removalOf(
  status: DocumentStatus,
  { firstInvoiceStatus }: OrganisationSettings,
): EventType | null {
  if (status === "approved" || status === "paid") return "invoice.voided";
  return status === "scheduled" && firstInvoiceStatus === "approved" ? null : "invoice.deleted";
}
