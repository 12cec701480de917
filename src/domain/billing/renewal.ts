/**
 * Decides what is due for a subscription today: start, issue the renewal invoice ahead, renew,
 * complete. The billing run and every operation perform this same step first (STATE-2, PERIOD-4).
 */

import { type CivilDate, compareDates } from "../calendar/civil-date.ts";
import { invoiceCreateDays, isInvoiceWindow, periodAt } from "../calendar/period.ts";
import { hasUnits } from "../catalogue/pricing/index.ts";
import {
  asBegun,
  type BillingState,
  type DeferredLine,
  type PeriodState,
} from "../model/billing-state.ts";
import type { InvoiceLineDraft } from "../model/invoice.ts";
import type { Subscription } from "../model/subscription.ts";
import { billedFor, unitsSetBy } from "./billed-by.ts";
import { isOver, nextDueDate, willRenew } from "./due-date.ts";
import { deferredInvoice, draftInvoice, planLine, prorationLine } from "./invoice-lines.ts";
import { isNextInvoiced, issuedAhead } from "./issued-invoices.ts";
import {
  beginUsage,
  billSeparately,
  type ClosedUsage,
  closedUsage,
  closeLastBill,
  closePeriodBill,
  type DueInvoice,
  isJoinable,
  joinRenewal,
  type UsageWalk,
} from "./renewal-usage.ts";
import type { UsageChargeFacts, UsageCharges } from "./usage-charges.ts";

/**
 * The changes to write: the subscription, its current period's index and next due date, new or
 * changed periods, invoices to issue, and the outcome of usage.
 */
export interface DueDecision extends ClosedUsage {
  readonly subscription: Subscription;
  readonly currentPeriod: number;
  readonly dueDate: CivilDate | null;
  readonly periods: readonly PeriodState[];
  readonly invoices: readonly DueInvoice[];
}

/**
 * The most periods that one step catches up: two years of months. It keeps the transaction of a
 * long gap short. The rest is due again at once.
 */
const maxPeriods = 24;

/** Options of `decideDue`. */
export interface DueOptions {
  /**
   * Whether usage may be added to a draft in the ledger; true if absent. False before a request
   * that an invoice under amendment would refuse. False also if many subscriptions are due: each
   * amendment costs its own ledger call.
   */
  readonly mayJoin?: boolean;
}

/** The state of the walk from the stored facts to today. */
interface Walk extends UsageWalk {
  readonly mayJoin: boolean;
  subscription: Subscription;
  period: PeriodState;
  next: PeriodState | null;
  deferred: readonly DeferredLine[];
  readonly periods: PeriodState[];
  readonly invoices: DueInvoice[];
}

/** Returns everything due up to today, in order, each period once; null if nothing is due. */
export function decideDue(
  facts: BillingState,
  { mayJoin = true }: DueOptions = {},
): DueDecision | null {
  const { subscription, today } = facts;
  const walk: Walk = {
    subscription,
    period: facts.period,
    next: facts.nextPeriod,
    deferred: facts.deferred,
    periods: [],
    invoices: [],
    mayJoin,
    ...beginUsage(facts),
  };
  if (subscription.status === "pending" && compareDates(subscription.startDate, today) <= 0)
    beginFirst(facts, walk);
  while (
    walk.subscription.status === "active" &&
    compareDates(walk.subscription.renewalDate, today) <= 0 &&
    walk.periods.length < maxPeriods
  ) {
    if (willRenew(walk.subscription)) renew(facts, walk);
    else
      walk.subscription = {
        ...walk.subscription,
        status: "complete",
        endDate: walk.subscription.renewalDate,
      };
  }
  if (walk.subscription.status === "complete") billDeferred(facts, walk);
  if (isOver(walk.subscription)) billLastUsage(facts, walk);
  if (isIssuedAhead(facts, walk)) openNextPeriod(facts, walk, null);
  const isUnchanged = walk.subscription === subscription && walk.bills === facts.usageBills;
  if (isUnchanged && walk.periods.length === 0 && walk.invoices.length === 0) return null;
  return {
    subscription: walk.subscription,
    currentPeriod: walk.period.index,
    dueDate: nextDueDate({
      organisation: facts.organisation,
      subscription: walk.subscription,
      period: walk.period,
      nextPeriod: walk.next,
    }),
    periods: walk.periods,
    invoices: walk.invoices,
    ...closedUsage(walk),
  };
}

/**
 * Returns what an operation on the subscription bills before it decides, null if nothing is due.
 * Usage joins no draft, because an invoice under amendment would refuse the operation. A running
 * end bills its subscription itself (STATE-2).
 */
export function decideDueBefore(facts: BillingState): DueDecision | null {
  return facts.running?.kind === "end_subscription" ? null : decideDue(facts, { mayJoin: false });
}

/** Begins the first period of a pending subscription. Its invoice was issued before (STATE-4). */
function beginFirst({ organisation }: BillingState, walk: Walk): void {
  walk.subscription = { ...walk.subscription, status: "active" };
  walk.period = asBegun(walk.period, organisation);
  if (walk.period.setupMode) walk.periods.push(walk.period);
}

/**
 * Begins the next period. Issues its invoice unless that was issued ahead, and bills the usage of
 * the period that ends.
 */
function renew(facts: BillingState, walk: Walk): void {
  const { next } = walk;
  const usageFacts = { ...facts, subscription: walk.subscription, period: walk.period };
  const charges = closePeriodBill(usageFacts, walk);
  const isOnNew = next === null && facts.organisation.firstInvoiceStatus === "draft";
  const period =
    next === null
      ? openNextPeriod(facts, walk, isOnNew ? charges : null)
      : beginIssued(facts, walk, next);
  if (charges !== null && !isOnNew) billUsage(facts, usageFacts, walk, charges);
  walk.subscription = { ...walk.subscription, renewalDate: period.end };
  walk.period = period;
  walk.next = null;
}

/**
 * Adds usage to the renewal invoice that was issued ahead if it can be amended. Otherwise bills it
 * on its own invoice, of the period that ends (USAGE-9).
 */
function billUsage(
  facts: BillingState,
  usageFacts: UsageChargeFacts,
  walk: Walk,
  charges: UsageCharges,
): void {
  const renewal = usageFacts.period.index === facts.period.index ? issuedAhead(facts) : null;
  if (renewal !== null && walk.mayJoin && isJoinable(renewal, charges, facts)) {
    joinRenewal(walk, charges, renewal);
    return;
  }
  const invoice = billSeparately(usageFacts, walk, charges);
  if (invoice !== null) walk.invoices.push(invoice);
}

/**
 * Bills the usage of the last period of a subscription that is over, and usage reported for it
 * later (USAGE-9).
 */
function billLastUsage(facts: BillingState, walk: Walk): void {
  // For a subscription that was over before, usage is loaded only if such usage exists.
  if (walk.usage === null && isOver(facts.subscription)) return;
  const usageFacts = { ...facts, period: walk.period };
  const invoice = billSeparately(usageFacts, walk, closeLastBill(usageFacts, walk));
  if (invoice !== null) walk.invoices.push(invoice);
}

/**
 * Begins the period that was invoiced ahead. It keeps its billed units, also if a person removed
 * its invoice in the ledger (MONEY-5). If the period begins in Setup Mode, neither its
 * units nor its usage are billed afterwards (SETUP-3).
 */
function beginIssued(facts: BillingState, walk: Walk, next: PeriodState): PeriodState {
  const isBilled = isNextInvoiced(facts) || !hasUnits(facts.plan.type);
  const period = asBegun(next, facts.organisation);
  if (isBilled && !period.setupMode) return next;
  const billedBy = period.setupMode ? "setup_mode" : "removal";
  const begun = isBilled ? period : { ...period, ...billedFor(walk.subscription.units, billedBy) };
  walk.periods.push(begun);
  return begun;
}

/**
 * Bills deferred amounts of a completed subscription, whose renewal never comes (UNITS-12). If it
 * completed during Setup Mode they are billed afterwards, so that they are not lost.
 */
function billDeferred(facts: BillingState, walk: Walk): void {
  if (facts.organisation.setupMode) return;
  const invoice = deferredInvoice({ ...facts, ...walk });
  if (invoice === null) return;
  walk.invoices.push(invoice);
  walk.deferred = [];
}

/**
 * Whether the invoice of the next period is issued by today, Invoice Create Days ahead. Never in
 * Setup Mode (PERIOD-3).
 */
function isIssuedAhead(
  { organisation, today }: BillingState,
  { subscription, period, next }: Walk,
): boolean {
  if (next !== null || organisation.setupMode || !willRenew(subscription)) return false;
  const createDays = invoiceCreateDays(
    period,
    subscription.interval,
    organisation.invoiceCreateDays,
  );
  return isInvoiceWindow(subscription.renewalDate, createDays, today);
}

/**
 * Opens the next period and bills it at the current units: plan line, deferred lines, then usage of
 * the period before (DOCUMENT-3). In Setup Mode no document is issued for it (SETUP-3).
 */
function openNextPeriod(
  { organisation, plan, today }: BillingState,
  walk: Walk,
  charges: UsageCharges | null,
): PeriodState {
  const { subscription, deferred } = walk;
  const anchor = { start: subscription.startDate, billingDay: subscription.billingDay };
  const billedUnits = hasUnits(plan.type) ? subscription.units : null;
  const billedBy = organisation.setupMode ? "setup_mode" : unitsSetBy(subscription);
  const opened = {
    ...periodAt(anchor, subscription.interval, walk.period.index + 1),
    ...billedFor(billedUnits, billedBy),
    prorationClosed: false,
    billedSeparately: false,
  };
  // One that is issued ahead begins later, in `beginIssued`. Setup Mode is off until then.
  const period: PeriodState = asBegun(opened, organisation);
  walk.periods.push(period);
  walk.next = period;
  if (organisation.setupMode) return period;
  const lines: InvoiceLineDraft[] = [
    planLine(plan, subscription, period, organisation),
    ...deferred.map((line) => prorationLine(plan, line, organisation)),
    ...(charges?.lines ?? []).map(({ line }) => line),
  ];
  const draft = draftInvoice(subscription, organisation, { type: "renewal", period, lines, today });
  const usage = (charges?.lines ?? []).map(({ billed }) => billed);
  walk.invoices.push({ draft, deferredIds: deferred.map(({ id }) => id), usage });
  walk.deferred = [];
  return period;
}
