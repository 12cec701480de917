/**
 * Restore: decides whether a subscription may return to the state before its end, and which
 * invoices that its end removed are reissued.
 */
import { billedFor, unitsSetBy } from "../billing/billed-by.ts";
import { nextDueDate } from "../billing/due-date.ts";
import { draftInvoice, proratedCharge, prorationLine } from "../billing/invoice-lines.ts";
import { isNextInvoiced } from "../billing/issued-invoices.ts";
import { decideDue } from "../billing/renewal.ts";
import { type CivilDate, compareDates } from "../calendar/civil-date.ts";
import type { Customer } from "../customers/customer.ts";
import {
  type BillingState,
  checkNothingRuns,
  type ProratedCharge,
} from "../model/billing-state.ts";
import type { Subscription } from "../model/subscription.ts";
import { compare, ZERO } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import { prorateFrom } from "./change-units-proration.ts";
import { decideEndDate } from "./create-rules.ts";
import {
  copyOf,
  type IssuedNext,
  isAhead,
  issueRenewal,
  linesOf,
  type Reissued,
  type RemovedInvoice,
} from "./reissue.ts";
import type { NextPeriodLines } from "./reversal.ts";

/**
 * The facts of a restoration. `removed`: the invoices that its end removed, also by `period_end`
 * before `now`, oldest first. Those of periods before the last one may be absent, and so is what a
 * refused end removed. `next`: what documents other than the renewal invoice bill of the next
 * period (absent: nothing).
 */
export interface RestorationFacts {
  readonly state: BillingState;
  readonly customerStatus: Customer["status"];
  readonly removed: readonly RemovedInvoice[];
  readonly next?: NextPeriodLines;
}

/** Everything that a restoration writes. The current period does not change. */
export interface Restoration extends Reissued {
  readonly subscription: Subscription;
  /** The next date on which something is due for the subscription. */
  readonly dueDate: CivilDate | null;
}

/**
 * Decides a restoration. Refuses `invalid_state` in this order: another operation runs; neither
 * ended nor set to end; the renewal date has come; the customer is not active; the plan is neither
 * active nor legacy; in Setup Mode a document would be issued. Add-ons, which could be inactive
 * too, do not exist yet. A next period that is not invoiced gets its renewal invoice. What a person
 * removed is never issued again, and a raise since is billed separately. If today is in the invoice
 * window and none was ever issued, it is issued with the restoration (RESTORE-1, RESTORE-4).
 */
export function decideRestoration(facts: RestorationFacts): Restoration {
  const { state, removed, next } = facts;
  checkRestorable(facts);
  const subscription = asBefore(state);
  const { organisation, period } = state;
  const ahead = billAhead({ ...state, subscription }, next);
  const copies = removed.flatMap((one) => (isAhead(state, one) ? [] : copyOf(state, one)));
  const nextPeriod = ahead?.period ?? state.nextPeriod;
  const due = decideDue({ ...state, subscription, nextPeriod });
  const dueInvoices = due?.invoices.map((invoice) => ({ ...invoice, replaces: null })) ?? [];
  return {
    subscription,
    dueDate:
      due === null ? nextDueDate({ organisation, subscription, period, nextPeriod }) : due.dueDate,
    periods: ahead === null ? (due?.periods ?? []) : [ahead.period],
    invoices: [...copies, ...(ahead?.invoices ?? []), ...dueInvoices],
    creditNote: ahead?.creditNote ?? null,
  };
}

function checkRestorable({ state, customerStatus, removed }: RestorationFacts): void {
  const { organisation, subscription, plan, today } = state;
  const { status, renewalDate } = subscription;
  const refuse = (message: string) => new Refusal("invalid_state", message);
  checkNothingRuns(state);
  if (status !== "ended" && status !== "complete" && !subscription.cancelAtPeriodEnd) {
    throw refuse("The subscription is neither ended nor set to end at the end of its period.");
  }
  if (status === "complete" || compareDates(renewalDate, today) <= 0) {
    throw refuse(`The renewal date ${renewalDate} has passed: create a new subscription instead.`);
  }
  if (customerStatus !== "active") throw refuse("The customer is not active.");
  if (plan.status !== "active" && plan.status !== "legacy") {
    throw refuse(`The plan is ${plan.status}: it must be active or legacy.`);
  }
  if (!organisation.setupMode) return;
  const again = removed.find((one) => isAhead(state, one) || linesOf(state, one).length > 0);
  if (again !== undefined) {
    throw refuse(
      `The organisation is in Setup Mode: invoice ${again.number} would have to be issued again.`,
    );
  }
  const restored = { ...state, subscription: asBefore(state) };
  if (lacksRenewal(restored)) {
    throw refuse(
      "The organisation is in Setup Mode: the renewal invoice of the next period would have to " +
        "be issued.",
    );
  }
  if (unbilledRaise(restored) !== null) {
    throw refuse(
      "The organisation is in Setup Mode: the raise of units in the next period would have to be " +
        "invoiced.",
    );
  }
}

/**
 * Returns the subscription as before its end: pending, or active once its start date has come. Its
 * end date is again that of `end_after_cycles` (RESTORE-5).
 */
function asBefore({ subscription, today }: BillingState): Subscription {
  const { startDate, billingDay, interval, endAfterCycles } = subscription;
  return {
    ...subscription,
    status: compareDates(today, startDate) < 0 ? "pending" : "active",
    cancelAtPeriodEnd: false,
    endDate: decideEndDate({ start: startDate, billingDay }, interval, endAfterCycles),
  };
}

/**
 * Whether the subscription goes on to a next period that an end of ours left without its renewal
 * invoice (RESTORE-4).
 */
function lacksRenewal(state: BillingState): boolean {
  return state.nextPeriod !== null && !isNextInvoiced(state);
}

/** Bills what the restored subscription's next period lacks. Null if it lacks nothing. */
function billAhead(state: BillingState, next?: NextPeriodLines): IssuedNext | null {
  if (lacksRenewal(state)) return issueRenewal(state, next);
  const charge = unbilledRaise(state);
  const { subscription, organisation, plan, period, nextPeriod, today } = state;
  if (charge === null || nextPeriod === null) return null;
  const lines = [prorationLine(plan, charge, organisation)];
  const draft = draftInvoice(subscription, organisation, { type: "change", period, lines, today });
  const billed = billedFor(subscription.units, unitsSetBy(subscription));
  return {
    period: { ...nextPeriod, ...billed, billedSeparately: true },
    invoices: [{ draft, deferredIds: [], usage: [], replaces: null }],
    creditNote: null,
  };
}

/**
 * Returns the charge of a raise while the subscription was set to end, which billed the current
 * period alone, over all days of the next one. Null if there is none (RESTORE-4, UNITS-9).
 */
function unbilledRaise(state: BillingState): ProratedCharge | null {
  const { subscription, plan, nextPeriod } = state;
  const { units, unitChangeId: changeId } = subscription;
  if (nextPeriod === null || nextPeriod.billedUnits === null) return null;
  if (units <= nextPeriod.billedUnits || !isNextInvoiced(state)) return null;
  const raise = { units, ...(changeId !== undefined && { changeId }) };
  const proration = prorateFrom(nextPeriod.start, nextPeriod, state, raise);
  if (compare(proration.amount, ZERO) <= 0) return null;
  return proratedCharge(plan, subscription, proration, nextPeriod);
}
