/**
 * End: whether a subscription may end, which invoices are removed in the ledger first and in which order, and what is written once
 * all of them are. Spec: POST /v1/subscriptions/{id}/end; decisions §§4 and 6.
 */

import { isUnsent } from "../billing/invoice.ts";
import { deferredInvoice, nextDueDate } from "../billing/renewal.ts";
import {
  beginUsage,
  billApart,
  type ClosedUsage,
  closedUsage,
  closeLastBill,
  type DueInvoice,
  usageUntil,
} from "../billing/renewal-usage.ts";
import { type CivilDate, compareDates } from "../calendar/civil-date.ts";
import { Refusal } from "../refusal.ts";
import { chargeUsage, type UsageCharges } from "../usage/rating.ts";
import { type BillingState, checkNothingRuns, hasMoney, type IssuedInvoice, issuedAhead } from "./billing-state.ts";
import { decideReversal, isReversible, type NextPeriodLines, noNextPeriodLines } from "./reversal.ts";
import type { Subscription } from "./subscription.ts";

/** When a subscription ends. Spec: End, `when`. */
export type EndWhen = "period_end" | "now";

/** The request; the options are false where they are left out. Spec: End, Body. */
export interface EndRequest {
  readonly when: EndWhen;
  readonly deleteUnsentInvoices: boolean;
  readonly voidApprovedInvoices: boolean;
}

/** An invoice that an option may ask to remove. `sent`: the ledger sent it to the customer. */
export interface OpenInvoice extends Omit<IssuedInvoice, "isPlanLineKnown"> {
  readonly sent: boolean;
}

/**
 * What an end is judged by: beside the state all invoices of the subscription that are not removed, newest first, and what documents other
 * than the renewal invoice bill of the next period (left out: nothing).
 */
export interface EndFacts {
  readonly state: BillingState;
  readonly invoices: readonly OpenInvoice[];
  readonly next?: NextPeriodLines;
}

/**
 * `unchanged`: it is set to end so already. `ends`: once these invoices are removed, in this order. Those `onlyUnsent` are left alone where
 * the ledger has them as approved or sent by now, of which we need not have heard.
 */
export type EndDecision =
  | { readonly kind: "unchanged" }
  | { readonly kind: "ends"; readonly removals: readonly string[]; readonly onlyUnsent: readonly string[] };

/**
 * What is written of a subscription that ends. `invoices` bill deferred amounts and usage; one of them or of `creditNotes` reverses what
 * still stands of the next period.
 */
export interface EndedSubscription extends ClosedUsage {
  readonly subscription: Subscription;
  readonly dueDate: CivilDate | null;
  readonly invoices: readonly DueInvoice[];
}

/**
 * Refuses, in this order, `invoice_option_not_allowed`, and `invalid_state`: another operation runs; ended or complete; in Setup Mode
 * a document would have to be removed or raised; the invoice that is removed with it has a payment or credit on it; what was used is
 * more than can be billed. A subscription that is set to end at the end of its period already is left as it is. Spec: End, rules 3, 6
 * and 7; decisions §4.
 */
export function decideEnd({ state, invoices, next = noNextPeriodLines }: EndFacts, request: EndRequest): EndDecision {
  checkOptions(request);
  checkNothingRuns(state);
  checkRuns(state);
  const { subscription } = state;
  const ahead = billedAhead(state, request);
  checkSetupMode(state, request, ahead, next);
  if (request.when === "period_end" && subscription.cancelAtPeriodEnd) return { kind: "unchanged" };
  if (ahead !== null && hasMoney(ahead)) {
    const message = `The ${ahead.type} invoice ${ahead.number} has a payment or credit on it: it cannot be removed.`;
    throw new Refusal("invalid_state", message);
  }
  if (request.when === "now") checkUsage(state);
  const asked = invoices.filter((invoice) => invoice.id !== ahead?.id && isAskedFor(state, request, invoice));
  const idsOf = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);
  const removals = idsOf([...(ahead === null ? [] : [ahead]), ...asked]);
  return { kind: "ends", removals, onlyUnsent: idsOf(asked.filter((invoice) => isOnlyUnsent(request, invoice))) };
}

/**
 * The subscription once every removal is done. With `now` it is over today (on its renewal date, where the ledger took so long that
 * this has passed), and what was deferred or used is billed; at the end of the period that is due then. What was not reversed with the
 * renewal invoice, because that was removed by others or a removal was left undone, is reversed here. Spec: End, rules 1 and 2; decisions
 * §§4 to 6.
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
      : { ...closed, creditNotes: [...closed.creditNotes, { draft: reversal.creditNote, usage: [] }] };
  if (when === "now") {
    const endDate = compareDates(today, renewalDate) < 0 ? today : renewalDate;
    const subscription: Subscription = {
      ...state.subscription,
      status: "ended",
      endDate,
      cancelAtPeriodEnd: false,
    };
    const walk = beginUsage(state);
    const ownInvoices = [deferredInvoice(state), billApart(state, walk, closeLastBill(state, walk)), reversal.invoice];
    const invoices = ownInvoices.filter((invoice) => invoice !== null);
    return { subscription, dueDate: null, invoices, ...reversing(closedUsage(walk)) };
  }
  const subscription: Subscription = { ...state.subscription, cancelAtPeriodEnd: true, endDate: renewalDate };
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
    throw new Refusal("invalid_state", "The subscription is complete already: it ran to the end of its last period.");
  }
}

/**
 * The invoice of a period that never begins: that of the next one, raised ahead; of one that ends before it began, its first.
 * Spec: End, rule 6; decisions §4.
 */
function billedAhead(state: BillingState, { when }: EndRequest): IssuedInvoice | null {
  const isBefore = state.subscription.status === "pending" && when === "now";
  if (!isBefore) return issuedAhead(state);
  return state.invoices.find(({ type }) => type === "first") ?? null;
}

/** Nothing can be changed in the ledger. Spec: What the service does, Setup Mode, 4; decisions §4. */
function checkSetupMode(
  state: BillingState,
  request: EndRequest,
  ahead: IssuedInvoice | null,
  next: NextPeriodLines,
): void {
  if (!state.organisation.setupMode) return;
  const refuse = (why: string) => new Refusal("invalid_state", `The organisation is in Setup Mode: ${why}.`);
  if (request.deleteUnsentInvoices || request.voidApprovedInvoices) throw refuse("no invoice can be removed");
  if (ahead !== null) throw refuse(`the ${ahead.type} invoice ${ahead.number} would have to be removed`);
  if (isReversible(next)) throw refuse("what was billed of the next period would have to be reversed");
  if (request.when !== "now") return;
  if (state.deferred.length > 0) throw refuse("a deferred amount would have to be invoiced");
  const { isCharged, creditNote } = checkUsage(state);
  if (isCharged || creditNote !== null) throw refuse("usage would have to be invoiced");
}

/** What is billed with the end: refused now where it cannot be, before anything is removed. */
function checkUsage(state: BillingState): UsageCharges {
  return chargeUsage(state, usageUntil(state, state.usage ?? []));
}

/**
 * Paid ones and those with a payment or credit on them are left alone, and so is what the ledger refused. One that is still to be sent
 * to the ledger was never sent to the customer, and would be approved there where the organisation has its invoices begin so.
 * decisions §6 "End `now` order".
 */
function isAskedFor({ organisation }: BillingState, request: EndRequest, invoice: OpenInvoice): boolean {
  if (hasMoney(invoice)) return false;
  switch (invoice.status) {
    case "draft":
    case "awaiting_approval":
      return request.deleteUnsentInvoices && isUnsent(invoice);
    case "scheduled":
      return (
        request.deleteUnsentInvoices || (request.voidApprovedInvoices && organisation.firstInvoiceStatus === "approved")
      );
    case "approved":
      return request.voidApprovedInvoices;
    default:
      return false;
  }
}

/** Asked for because it was never sent, and for nothing else. What is still to be sent to the ledger nobody can have sent from there. */
function isOnlyUnsent({ voidApprovedInvoices }: EndRequest, { status }: OpenInvoice): boolean {
  return !voidApprovedInvoices && status !== "scheduled";
}
