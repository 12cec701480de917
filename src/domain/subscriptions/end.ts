/**
 * End: decides whether a subscription may end, and which invoices are removed in the ledger first,
 * in order. Also decides what is written once all are removed.
 */

import { nextDueDate } from "../billing/due-date.ts";
import { deferredInvoice } from "../billing/invoice-lines.ts";
import { hasMoney, issuedAhead, isUnsent } from "../billing/issued-invoices.ts";
import {
  beginUsage,
  billSeparately,
  type ClosedUsage,
  closedUsage,
  closeLastBill,
  type DueInvoice,
  usageUntil,
} from "../billing/renewal-usage.ts";
import { chargeUsage, type UsageCharges } from "../billing/usage-charges.ts";
import { type CivilDate, compareDates } from "../calendar/civil-date.ts";
import { type BillingState, checkNothingRuns, type IssuedInvoice } from "../model/billing-state.ts";
import type { Subscription } from "../model/subscription.ts";
import { Refusal } from "../refusal.ts";
import {
  decideReversal,
  isReversible,
  type NextPeriodLines,
  noNextPeriodLines,
} from "./reversal.ts";

/** When a subscription ends (END-1). */
export type EndWhen = "period_end" | "now";

/** The request. An absent option is false (END-2, END-5). */
export interface EndRequest {
  readonly when: EndWhen;
  readonly deleteUnsentInvoices: boolean;
  readonly voidApprovedInvoices: boolean;
}

/** An invoice that an option may request to remove. `sent`: the ledger sent it to the customer. */
export interface OpenInvoice extends Omit<IssuedInvoice, "isAltered" | "isPlanLineKnown"> {
  readonly sent: boolean;
}

/**
 * The facts of an end. `invoices` are all of the subscription's that are not removed, newest first.
 * `next` is what documents other than the renewal invoice bill of the next period (absent:
 * nothing).
 */
export interface EndFacts {
  readonly state: BillingState;
  readonly invoices: readonly OpenInvoice[];
  readonly next?: NextPeriodLines;
}

/**
 * `unchanged`: it is already set to end this way. `ends`: it ends once these invoices are removed,
 * in this order. Those `onlyUnsent` are left alone if the ledger has them as approved or sent by
 * now, which the sync may not have observed yet.
 */
export type EndDecision =
  | { readonly kind: "unchanged" }
  | {
      readonly kind: "ends";
      readonly removals: readonly string[];
      readonly onlyUnsent: readonly string[];
    };

/**
 * What is written of a subscription that ends. `invoices` bill deferred amounts and usage. One of
 * them or of `creditNotes` reverses what still bills the next period (END-7).
 */
export interface EndedSubscription extends ClosedUsage {
  readonly subscription: Subscription;
  readonly dueDate: CivilDate | null;
  readonly invoices: readonly DueInvoice[];
}

/**
 * Decides an end. Refuses `invoice_option_not_allowed`, then `invalid_state` in this order: another
 * operation runs; ended or complete; in Setup Mode a document would be removed or issued; the
 * invoice to remove has a payment or credit on it; the usage is more than can be billed. A
 * subscription already set to end at the end of its period stays as it is (END-2, END-3, END-8).
 */
export function decideEnd(
  { state, invoices, next = noNextPeriodLines }: EndFacts,
  request: EndRequest,
): EndDecision {
  checkOptions(request);
  checkNothingRuns(state);
  checkRuns(state);
  const { subscription } = state;
  const ahead = billedAhead(state, request);
  checkSetupMode(state, request, ahead, next);
  if (request.when === "period_end" && subscription.cancelAtPeriodEnd) return { kind: "unchanged" };
  if (ahead !== null && hasMoney(ahead)) {
    const message = `The ${ahead.type} invoice ${ahead.number} has a payment or credit on it`;
    throw new Refusal("invalid_state", `${message}: it cannot be removed.`);
  }
  if (request.when === "now") checkUsage(state);
  const requested = invoices.filter(
    (invoice) => invoice.id !== ahead?.id && isRequested(state, request, invoice),
  );
  const idsOf = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);
  const removals = idsOf([...(ahead === null ? [] : [ahead]), ...requested]);
  return {
    kind: "ends",
    removals,
    onlyUnsent: idsOf(requested.filter((invoice) => isOnlyUnsent(request, invoice))),
  };
}

/**
 * Decides the subscription's state after every removal. With `now` it is over today, or on its
 * renewal date if the ledger took until after that date. Deferred amounts and usage are then
 * billed; with `period_end` they are billed when the period ends. What was not reversed with the
 * renewal invoice is reversed here: others removed that invoice, or its removal was not done
 * (END-6, END-7).
 */
export function decideEnded(
  state: BillingState,
  when: EndWhen,
  next: NextPeriodLines = noNextPeriodLines,
): EndedSubscription {
  const { today } = state;
  const { renewalDate } = state.subscription;
  const reversal = decideReversal(state, next);
  const reversing = (closed: ClosedUsage): ClosedUsage =>
    reversal.creditNote === null
      ? closed
      : {
          ...closed,
          creditNotes: [...closed.creditNotes, { draft: reversal.creditNote, usage: [] }],
        };
  if (when === "now") {
    const endDate = compareDates(today, renewalDate) < 0 ? today : renewalDate;
    const subscription: Subscription = {
      ...state.subscription,
      status: "ended",
      endDate,
      cancelAtPeriodEnd: false,
    };
    const walk = beginUsage(state);
    const ownInvoices = [
      deferredInvoice(state),
      billSeparately(state, walk, closeLastBill(state, walk)),
      reversal.invoice,
    ];
    const invoices = ownInvoices.filter((invoice) => invoice !== null);
    return { subscription, dueDate: null, invoices, ...reversing(closedUsage(walk)) };
  }
  const subscription: Subscription = {
    ...state.subscription,
    cancelAtPeriodEnd: true,
    endDate: renewalDate,
  };
  const dueDate = nextDueDate({ ...state, subscription });
  const invoices = reversal.invoice === null ? [] : [reversal.invoice];
  return { subscription, dueDate, invoices, ...reversing(closedUsage(beginUsage(state))) };
}

function checkOptions({ when, deleteUnsentInvoices, voidApprovedInvoices }: EndRequest): void {
  if (when === "now" || !(deleteUnsentInvoices || voidApprovedInvoices)) return;
  const param = deleteUnsentInvoices ? "delete_unsent_invoices" : "void_approved_invoices";
  throw new Refusal("invoice_option_not_allowed", `${param} is allowed with when now only.`, param);
}

function checkRuns({ subscription: { status } }: BillingState): void {
  if (status === "ended") throw new Refusal("invalid_state", "The subscription has ended already.");
  if (status === "complete") {
    throw new Refusal(
      "invalid_state",
      "The subscription is complete already: it ran to the end of its last period.",
    );
  }
}

/**
 * Returns the invoice of a period that never begins. It is the next period's, issued ahead, or the
 * first one of a subscription that ends before it began (END-3).
 */
function billedAhead(state: BillingState, { when }: EndRequest): IssuedInvoice | null {
  const isBefore = state.subscription.status === "pending" && when === "now";
  if (!isBefore) return issuedAhead(state);
  return state.invoices.find(({ type }) => type === "first") ?? null;
}

/** Refuses changes of documents in Setup Mode (SETUP-2). */
function checkSetupMode(
  state: BillingState,
  request: EndRequest,
  ahead: IssuedInvoice | null,
  next: NextPeriodLines,
): void {
  if (!state.organisation.setupMode) return;
  const refuse = (why: string) =>
    new Refusal("invalid_state", `The organisation is in Setup Mode: ${why}.`);
  if (request.deleteUnsentInvoices || request.voidApprovedInvoices)
    throw refuse("no invoice can be removed");
  if (ahead !== null)
    throw refuse(`the ${ahead.type} invoice ${ahead.number} would have to be removed`);
  if (isReversible(next))
    throw refuse("what was billed of the next period would have to be reversed");
  if (request.when !== "now") return;
  if (state.deferred.length > 0) throw refuse("a deferred amount would have to be invoiced");
  const { isCharged, creditNote } = checkUsage(state);
  if (isCharged || creditNote !== null) throw refuse("usage would have to be invoiced");
}

/**
 * Computes the usage that the end bills. Refuses now if it cannot be billed, before anything is
 * removed.
 */
function checkUsage(state: BillingState): UsageCharges {
  return chargeUsage(state, usageUntil(state, state.usage ?? []));
}

/**
 * Whether an option requests the removal. Paid invoices, those with a payment or credit, and those
 * that the ledger refused are left alone. An invoice still to be sent to the ledger was never sent
 * to the customer. It also counts as approved if that is the organisation's first status (END-5).
 */
function isRequested(
  { organisation }: BillingState,
  request: EndRequest,
  invoice: OpenInvoice,
): boolean {
  if (hasMoney(invoice)) return false;
  switch (invoice.status) {
    case "draft":
    case "awaiting_approval":
      return request.deleteUnsentInvoices && isUnsent(invoice);
    case "scheduled":
      return (
        request.deleteUnsentInvoices ||
        (request.voidApprovedInvoices && organisation.firstInvoiceStatus === "approved")
      );
    case "approved":
      return request.voidApprovedInvoices;
    default:
      return false;
  }
}

/**
 * Whether the removal is requested only because the invoice was never sent. The ledger cannot have
 * sent an invoice that it does not have yet.
 */
function isOnlyUnsent({ voidApprovedInvoices }: EndRequest, { status }: OpenInvoice): boolean {
  return !voidApprovedInvoices && status !== "scheduled";
}
