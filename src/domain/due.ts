/**
 * What is due for a subscription today: to begin, to raise the renewal invoice ahead, to renew, to complete. The same step for the
 * billing run and for every operation, which performs it before it judges. decisions §§4 to 6.
 */
import { type BillingState, type DeferredLine, type PeriodState, raisedAhead } from "./billing-state.ts";
import { compareDates } from "./civil-date.ts";
import type { InvoiceDraft, InvoiceLineDraft } from "./invoice.ts";
import { draftInvoice, planLine, prorationLine } from "./invoice-draft.ts";
import { invoiceCreateDays, isInvoiceWindow, periodAt } from "./period.ts";
import { hasUnits } from "./pricing/index.ts";
import { type Subscription, willRenew } from "./subscription.ts";

/** An invoice to raise, with the deferred charges that it bills. */
export interface DueInvoice {
  readonly draft: InvoiceDraft;
  readonly deferredIds: readonly string[];
}

/** What is then written: the subscription as it is afterwards, the index of its current period, periods that are new or changed, invoices to raise. */
export interface DueDecision {
  readonly subscription: Subscription;
  readonly currentPeriod: number;
  readonly periods: readonly PeriodState[];
  readonly invoices: readonly DueInvoice[];
}

/** What decides what is due. */
export type DueFacts = Pick<
  BillingState,
  "organisation" | "subscription" | "plan" | "period" | "nextPeriod" | "invoices" | "deferred" | "today"
>;

/**
 * How many periods one step catches up at most, so that one subscription's long gap is no long transaction: two years of months.
 * What is left is due again at once.
 */
const mostPeriods = 24;

/** The state of the walk from what was to today. */
interface Walk {
  subscription: Subscription;
  period: PeriodState;
  next: PeriodState | null;
  deferred: readonly DeferredLine[];
  readonly periods: PeriodState[];
  readonly invoices: DueInvoice[];
}

/** Everything due up to today, in order, each period once; null where nothing is. */
export function decideDue(facts: DueFacts): DueDecision | null {
  const { subscription, today } = facts;
  const walk: Walk = {
    subscription,
    period: facts.period,
    next: facts.nextPeriod,
    deferred: facts.deferred,
    periods: [],
    invoices: [],
  };
  if (subscription.status === "pending" && compareDates(subscription.startDate, today) <= 0) {
    walk.subscription = { ...subscription, status: "active" };
  }
  while (
    walk.subscription.status === "active" &&
    compareDates(walk.subscription.renewalDate, today) <= 0 &&
    walk.periods.length < mostPeriods
  ) {
    if (willRenew(walk.subscription)) renew(facts, walk);
    else walk.subscription = { ...walk.subscription, status: "complete", endDate: walk.subscription.renewalDate };
  }
  if (walk.subscription.status === "complete") billDeferred(facts, walk);
  if (isRaisedAhead(facts, walk)) openNextPeriod(facts, walk);
  if (walk.subscription === subscription && walk.periods.length === 0 && walk.invoices.length === 0) return null;
  return {
    subscription: walk.subscription,
    currentPeriod: walk.period.index,
    periods: walk.periods,
    invoices: walk.invoices,
  };
}

/** The next period begins; its invoice is raised now where it was not ahead. */
function renew(facts: DueFacts, walk: Walk): void {
  const period = walk.next === null ? openNextPeriod(facts, walk) : beginRaised(facts, walk, walk.next);
  walk.subscription = { ...walk.subscription, renewalDate: period.end };
  walk.period = period;
  walk.next = null;
}

/**
 * The period whose invoice was raised ahead. Where that is there no more (somebody removed it in the ledger), none bills the period,
 * and its billed units are the units at its start. decisions §5.
 */
function beginRaised(facts: DueFacts, walk: Walk, next: PeriodState): PeriodState {
  if (raisedAhead(facts) !== null || !hasUnits(facts.plan.type)) return next;
  const period = { ...next, billedUnits: walk.subscription.units };
  walk.periods.push(period);
  return period;
}

/**
 * It ran to the end of its last period: a deferred amount whose renewal never comes is billed on an invoice of type `change`; after
 * Setup Mode where it completed during that, so that it is not lost. decisions §5.
 */
function billDeferred(facts: DueFacts, walk: Walk): void {
  const { organisation, today, plan } = facts;
  const { subscription, period, deferred } = walk;
  if (deferred.length === 0 || organisation.setupMode) return;
  const lines = deferred.map((line) => prorationLine(plan, line, organisation));
  const draft = draftInvoice(subscription, organisation, { type: "change", period, lines, today });
  walk.invoices.push({ draft, deferredIds: deferred.map(({ id }) => id) });
  walk.deferred = [];
}

/**
 * Whether the invoice of the next period is raised by today, Invoice Create Days ahead. Not in Setup Mode. Spec: Change units, rule
 * 7; decisions §5.
 */
function isRaisedAhead({ organisation, today }: DueFacts, { subscription, period, next }: Walk): boolean {
  if (next !== null || organisation.setupMode || !willRenew(subscription)) return false;
  const createDays = invoiceCreateDays(period, subscription.interval, organisation.invoiceCreateDays);
  return isInvoiceWindow(subscription.renewalDate, createDays, today);
}

/**
 * The period after the current one, billed at the current units: plan line, then the deferred lines. In Setup Mode nothing is
 * raised for it, also not afterwards. decisions §§4 and 6.
 */
function openNextPeriod({ organisation, plan, today }: DueFacts, walk: Walk): PeriodState {
  const { subscription, deferred } = walk;
  const anchor = { start: subscription.startDate, billingDay: subscription.billingDay };
  const period: PeriodState = {
    ...periodAt(anchor, subscription.interval, walk.period.index + 1),
    billedUnits: hasUnits(plan.type) ? subscription.units : null,
    setupMode: organisation.setupMode,
    prorationClosed: false,
    billedSeparately: false,
  };
  walk.periods.push(period);
  walk.next = period;
  if (organisation.setupMode) return period;
  const lines: InvoiceLineDraft[] = [
    planLine(plan, subscription, period, organisation),
    ...deferred.map((line) => prorationLine(plan, line, organisation)),
  ];
  const draft = draftInvoice(subscription, organisation, { type: "renewal", period, lines, today });
  walk.invoices.push({ draft, deferredIds: deferred.map(({ id }) => id) });
  walk.deferred = [];
  return period;
}
