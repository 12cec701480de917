/**
 * Restore: whether a subscription may be given back as it was before it ended or was set to end, and which of the invoices that its
 * end removed are raised again. Spec: POST /v1/subscriptions/{id}/restore; decisions §4.
 */
import { strict as assert } from "node:assert";
import { type BillingState, checkNothingRuns, type PeriodState } from "./billing-state.ts";
import { type CivilDate, compareDates } from "./civil-date.ts";
import { decideEndDate } from "./creating-rules.ts";
import type { CreditNoteDraft } from "./credit-note.ts";
import type { Customer } from "./customer.ts";
import { decideDue, nextDueDate } from "./due.ts";
import type { DueInvoice } from "./due-usage.ts";
import type { Invoice, InvoiceLineDraft } from "./invoice.ts";
import { creditLine, draftCreditNote, draftInvoice, planLine, prorationLine } from "./invoice-draft.ts";
import { hasUnits } from "./pricing/index.ts";
import { Refusal } from "./refusal.ts";
import type { Subscription } from "./subscription.ts";
import { type BilledChange, billNext } from "./units-change.ts";

/**
 * An invoice that an end removed, with the lines that it had. `billsDeferred`: deferred charges still count as billed by it; those of
 * a renewal invoice that was raised ahead wait again since its removal, or are billed by another one.
 */
export interface RemovedInvoice extends Pick<Invoice, "id" | "number" | "type" | "lines"> {
  readonly periodIndex: number;
  readonly billsDeferred: boolean;
}

/**
 * What a restoration is judged by. `removed`: the invoices that ends have removed since the subscription was restored last, oldest
 * first; those of periods before the last one may be left out.
 */
export interface RestorationFacts {
  readonly state: BillingState;
  readonly customerStatus: Customer["status"];
  readonly removed: readonly RemovedInvoice[];
}

/** An invoice to raise. `replaces`: the removed one that it stands for line by line; null of one whose lines are made anew. */
export interface RestoredInvoice extends DueInvoice {
  readonly replaces: string | null;
}

/** Everything that a restoration writes; the current period stays what it is. */
export interface Restoration {
  readonly subscription: Subscription;
  /** The day on which something is due for it next. */
  readonly dueDate: CivilDate | null;
  /** The next period, where its invoice is raised. */
  readonly periods: readonly PeriodState[];
  readonly invoices: readonly RestoredInvoice[];
  readonly creditNote: CreditNoteDraft | null;
}

/**
 * The restoration, or `invalid_state`, judged in this order: another operation runs; neither ended nor set to end; the renewal date
 * has come; the customer is not active; the plan is neither active nor legacy; Setup Mode, where a document would have to be raised.
 * There are no add-ons yet that could be neither. Where today lies in the invoice window and the next period's invoice was never
 * raised, it is raised with it. Spec: Restore; decisions §4.
 */
export function decideRestoration(facts: RestorationFacts): Restoration {
  const { state, removed } = facts;
  checkRestorable(facts);
  const subscription = asBefore(state);
  const { organisation, period } = state;
  const ahead = removed.findLast((one) => isAhead(state, one));
  const renewal = ahead === undefined ? null : raiseRenewal({ ...state, subscription }, ahead);
  const copies = removed.flatMap((one) => (isAhead(state, one) ? [] : copyOf(state, one)));
  const nextPeriod = renewal?.period ?? state.nextPeriod;
  const due = decideDue({ ...state, subscription, nextPeriod });
  const dueInvoices = due?.invoices.map((invoice) => ({ ...invoice, replaces: null })) ?? [];
  return {
    subscription,
    dueDate: due === null ? nextDueDate({ organisation, subscription, period, nextPeriod }) : due.dueDate,
    periods: renewal === null ? (due?.periods ?? []) : [renewal.period],
    invoices: [...copies, ...(renewal?.invoices ?? []), ...dueInvoices],
    creditNote: renewal?.creditNote ?? null,
  };
}

/** What is written of invoices that are raised again, without anything else of a restoration. */
export type RaisedAgain = Pick<Restoration, "periods" | "invoices" | "creditNote">;

/**
 * The invoice of a period that the subscription goes on to after all, because the end that had removed it was refused at a later
 * invoice: raised again, as a restoration would. What an option asked to be removed stays removed. Null where there is none, and in
 * Setup Mode. Spec: End, rule 4.
 */
export function decideGoingOn(
  state: BillingState,
  removed: readonly RemovedInvoice[],
): (RaisedAgain & { readonly of: string }) | null {
  if (state.organisation.setupMode) return null;
  const isOfIt = (one: RemovedInvoice) =>
    isAhead(state, one) || (state.subscription.status === "pending" && one.type === "first");
  const one = removed.findLast(isOfIt);
  if (one === undefined) return null;
  if (!isAhead(state, one)) return { of: one.id, periods: [], invoices: copyOf(state, one), creditNote: null };
  const { period, invoices, creditNote } = raiseRenewal(state, one);
  return { of: one.id, periods: [period], invoices, creditNote };
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
  const again = removed.find((one) => isAhead(state, one) || linesOf(state, one).length > 0);
  if (organisation.setupMode && again !== undefined) {
    throw refuse(`The organisation is in Setup Mode: invoice ${again.number} would have to be raised again.`);
  }
}

/** Pending again, or active once its start date has come; it ends as it was made to by `end_after_cycles`. decisions §4. */
function asBefore({ subscription, today }: BillingState): Subscription {
  const { startDate, billingDay, interval, endAfterCycles } = subscription;
  return {
    ...subscription,
    status: compareDates(today, startDate) < 0 ? "pending" : "active",
    cancelAtPeriodEnd: false,
    endDate: decideEndDate({ start: startDate, billingDay }, interval, endAfterCycles),
  };
}

function isAhead({ period }: BillingState, { type, periodIndex }: RemovedInvoice): boolean {
  return type === "renewal" && periodIndex > period.index;
}

/**
 * What a removed invoice billed of the current period, whose billed units count it already. Of an invoice of the period before that is
 * what a separate change billed ahead. Of a renewal invoice that was removed while it was ahead, the charges deferred from the period
 * before are not its own any more: they wait, or were billed since.
 */
function linesOf({ period }: BillingState, removed: RemovedInvoice): readonly InvoiceLineDraft[] {
  const isOfCurrent = ({ period: of }: InvoiceLineDraft) => of !== null && compareDates(period.start, of.start) <= 0;
  if (removed.periodIndex < period.index) return removed.lines.filter(isOfCurrent);
  return removed.lines.filter((line) => line.kind !== "proration" || removed.billsDeferred || isOfCurrent(line));
}

/** Those lines on a new invoice of the current period; none where there are none. */
function copyOf(state: BillingState, removed: RemovedInvoice): readonly RestoredInvoice[] {
  const lines = linesOf(state, removed);
  if (lines.length === 0) return [];
  const { subscription, organisation, period, today } = state;
  const draft = draftInvoice(subscription, organisation, { type: removed.type, period, lines, today });
  return [{ draft, deferredIds: [], usage: [], replaces: removed.id }];
}

/** The renewal invoice of the next period once more, with everything that is deferred by now. decisions §6 "Renewal invoice". */
function raiseRenewal(
  state: BillingState,
  removed: RemovedInvoice,
): Pick<Restoration, "invoices" | "creditNote"> & { readonly period: PeriodState } {
  const { subscription, organisation, plan, nextPeriod, deferred, today } = state;
  assert(nextPeriod !== null, "the period of an invoice is there");
  const { period, lines, credit } = nextPeriod.billedSeparately
    ? billFurther(state, nextPeriod, removed)
    : billAnew(state, nextPeriod);
  const all = [...lines, ...deferred.map((line) => prorationLine(plan, line, organisation))];
  const draft = draftInvoice(subscription, organisation, { type: "renewal", period, lines: all, today });
  const credits = credit === null ? null : [creditLine(plan, credit, organisation)];
  return {
    period,
    invoices: [{ draft, deferredIds: deferred.map(({ id }) => id), usage: [], replaces: null }],
    creditNote: credits && draftCreditNote(subscription, credits, today),
  };
}

interface BilledNext {
  readonly period: PeriodState;
  readonly lines: readonly InvoiceLineDraft[];
  readonly credit: BilledChange["credit"];
}

/** Nothing else bills the period: it is priced at the current units. */
function billAnew({ plan, subscription, organisation }: BillingState, nextPeriod: PeriodState): BilledNext {
  const billedUnits = hasUnits(plan.type) ? subscription.units : null;
  const lines = [planLine(plan, subscription, nextPeriod, organisation)];
  return { period: { ...nextPeriod, billedUnits, prorationClosed: false }, lines, credit: null };
}

/**
 * The invoices of changes that were billed separately still bill a part of the period: the rest is what the removed one billed of it,
 * and what the units have risen by above the billed ones. decisions §§5 and 6.
 */
function billFurther(state: BillingState, nextPeriod: PeriodState, { lines }: RemovedInvoice): BilledNext {
  const { plan, subscription, organisation } = state;
  const before = lines.filter(({ period: of }) => of !== null && compareDates(nextPeriod.start, of.start) <= 0);
  const { state: period, charge, credit } = billNext(state, subscription, nextPeriod);
  return { period, lines: charge === null ? before : [...before, prorationLine(plan, charge, organisation)], credit };
}
