/**
 * What is due for a subscription today: to begin, to raise the renewal invoice ahead, to renew, to complete. The same step for the
 * billing run and for every operation, which performs it before it judges. decisions §§4 to 6.
 */

import { addDays, type CivilDate, compareDates } from "../calendar/civil-date.ts";
import { invoiceCreateDays, isInvoiceWindow, type Period, periodAt } from "../calendar/period.ts";
import { hasUnits } from "../catalogue/pricing/index.ts";
import { type BillingState, type DeferredLine, type PeriodState, issuedAhead } from "../subscriptions/billing-state.ts";
import type { OrganisationSettings } from "../subscriptions/organisation-settings.ts";
import { type Renewing, type Subscription, willRenew } from "../subscriptions/subscription.ts";
import type { UsageCharges, UsageFacts } from "../usage/rating.ts";
import type { InvoiceLineDraft } from "./invoice.ts";
import { draftInvoice, planLine, prorationLine } from "./invoice-lines.ts";
import {
  beginUsage,
  billApart,
  type ClosedUsage,
  closedUsage,
  closeLastBill,
  closePeriodBill,
  type DueInvoice,
  isJoinable,
  joinRenewal,
  type UsageWalk,
} from "./renewal-usage.ts";

/**
 * What is then written: the subscription as it is afterwards, the index of its current period, the day on which something is due for
 * it next, periods that are new or changed, invoices to raise, and what became of usage.
 */
export interface DueDecision extends ClosedUsage {
  readonly subscription: Subscription;
  readonly currentPeriod: number;
  readonly dueDate: CivilDate | null;
  readonly periods: readonly PeriodState[];
  readonly invoices: readonly DueInvoice[];
}

/** What decides what is due. */
export type DueFacts = Pick<
  BillingState,
  | "organisation"
  | "subscription"
  | "plan"
  | "period"
  | "nextPeriod"
  | "invoices"
  | "deferred"
  | "usage"
  | "usageBills"
  | "running"
  | "today"
>;

/**
 * How many periods one step catches up at most, so that one subscription's long gap is no long transaction: two years of months.
 * What is left is due again at once.
 */
const mostPeriods = 24;

/** How what is due is performed. */
export interface DueOptions {
  /**
   * Whether usage may join a draft that the ledger has; true if left out. Not where a request comes after it, which an invoice that is
   * being amended would have refused, nor where many are due: each such change is a call to the ledger of its own.
   */
  readonly mayJoin?: boolean;
}

/** The state of the walk from what was to today. */
interface Walk extends UsageWalk {
  readonly mayJoin: boolean;
  subscription: Subscription;
  period: PeriodState;
  next: PeriodState | null;
  deferred: readonly DeferredLine[];
  readonly periods: PeriodState[];
  readonly invoices: DueInvoice[];
}

/** Everything due up to today, in order, each period once; null where nothing is. */
export function decideDue(facts: DueFacts, { mayJoin = true }: DueOptions = {}): DueDecision | null {
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

/** What decides when something is due next. `nextPeriod` is null as long as its invoice was not raised ahead. */
export interface DueDateFacts {
  readonly organisation: Pick<OrganisationSettings, "setupMode" | "invoiceCreateDays">;
  readonly subscription: Renewing & Pick<Subscription, "startDate" | "interval">;
  readonly period: Pick<Period, "start" | "end">;
  readonly nextPeriod: object | null;
}

/**
 * The day on which something is due for the subscription next: its start, the first day of its invoice window, or its renewal date;
 * null once it is over. It may have come already. decisions §§4 and 5.
 */
export function nextDueDate({ organisation, subscription, period, nextPeriod }: DueDateFacts): CivilDate | null {
  const { status, startDate, renewalDate, interval } = subscription;
  if (isOver({ status })) return null;
  if (status === "pending") return startDate;
  if (nextPeriod !== null || organisation.setupMode || !willRenew(subscription)) return renewalDate;
  return addDays(renewalDate, -invoiceCreateDays(period, interval, organisation.invoiceCreateDays));
}

function isOver({ status }: Pick<Subscription, "status">): boolean {
  return status === "ended" || status === "complete";
}

/** The next period begins; its invoice is raised now where it was not ahead, and the usage of the period that ends is billed. */
function renew(facts: DueFacts, walk: Walk): void {
  const { next } = walk;
  const usageFacts = { ...facts, subscription: walk.subscription, period: walk.period };
  const charges = closePeriodBill(usageFacts, walk);
  const isOnNew = next === null && facts.organisation.firstInvoiceStatus === "draft";
  const period = next === null ? openNextPeriod(facts, walk, isOnNew ? charges : null) : beginIssued(facts, walk, next);
  if (charges !== null && !isOnNew) billUsage(facts, usageFacts, walk, charges);
  walk.subscription = { ...walk.subscription, renewalDate: period.end };
  walk.period = period;
  walk.next = null;
}

/** On the renewal invoice that was raised ahead, while that may be joined; else on one of its own, of the period that ends. decisions §6. */
function billUsage(facts: DueFacts, usageFacts: UsageFacts, walk: Walk, charges: UsageCharges): void {
  const renewal = usageFacts.period.index === facts.period.index ? issuedAhead(facts) : null;
  if (renewal !== null && walk.mayJoin && isJoinable(renewal, facts)) {
    joinRenewal(walk, charges, renewal);
    return;
  }
  const invoice = billApart(usageFacts, walk, charges);
  if (invoice !== null) walk.invoices.push(invoice);
}

/** Of one that is over: what was used in its last period, and what is reported of it later. decisions §6. */
function billLastUsage(facts: DueFacts, walk: Walk): void {
  // Of one that was over before, it is loaded only where such usage waits.
  if (walk.usage === null && isOver(facts.subscription)) return;
  const usageFacts = { ...facts, period: walk.period };
  const invoice = billApart(usageFacts, walk, closeLastBill(usageFacts, walk));
  if (invoice !== null) walk.invoices.push(invoice);
}

/**
 * The period whose invoice was raised ahead. Where that is there no more (somebody removed it in the ledger), none bills the period,
 * and its billed units are the units at its start. Where it begins in Setup Mode nothing of it is billed from here on: no usage. decisions
 * §§4 and 5.
 */
function beginIssued(facts: DueFacts, walk: Walk, next: PeriodState): PeriodState {
  const isBilled = issuedAhead(facts) !== null || !hasUnits(facts.plan.type);
  if (isBilled && !facts.organisation.setupMode) return next;
  const period = {
    ...next,
    billedUnits: isBilled ? next.billedUnits : walk.subscription.units,
    setupMode: facts.organisation.setupMode,
  };
  walk.periods.push(period);
  return period;
}

/**
 * It ran to the end of its last period: a deferred amount whose renewal never comes is billed; after Setup Mode where it completed
 * during that, so that it is not lost. decisions §5.
 */
function billDeferred(facts: DueFacts, walk: Walk): void {
  if (facts.organisation.setupMode) return;
  const invoice = deferredInvoice({ ...facts, ...walk });
  if (invoice === null) return;
  walk.invoices.push(invoice);
  walk.deferred = [];
}

/** The invoice of type `change` of deferred amounts whose renewal never comes; null where there are none. decisions §5. */
export function deferredInvoice({
  organisation,
  subscription,
  plan,
  period,
  deferred,
  today,
}: Pick<BillingState, "organisation" | "subscription" | "plan" | "period" | "deferred" | "today">): DueInvoice | null {
  if (deferred.length === 0) return null;
  const lines = deferred.map((line) => prorationLine(plan, line, organisation));
  const draft = draftInvoice(subscription, organisation, { type: "change", period, lines, today });
  return { draft, deferredIds: deferred.map(({ id }) => id), usage: [] };
}

/**
 * Whether the invoice of the next period is raised by today, Invoice Create Days ahead. Not in Setup Mode. Spec: Change units, rule
 * 7; decisions §5.
 */
function isIssuedAhead({ organisation, today }: DueFacts, { subscription, period, next }: Walk): boolean {
  if (next !== null || organisation.setupMode || !willRenew(subscription)) return false;
  const createDays = invoiceCreateDays(period, subscription.interval, organisation.invoiceCreateDays);
  return isInvoiceWindow(subscription.renewalDate, createDays, today);
}

/**
 * The period after the current one, billed at the current units: plan line, then the deferred lines, then usage of the period before.
 * In Setup Mode nothing is raised for it, also not afterwards. decisions §§4 and 6.
 */
function openNextPeriod(
  { organisation, plan, today }: DueFacts,
  walk: Walk,
  charges: UsageCharges | null,
): PeriodState {
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
    ...(charges?.lines ?? []).map(({ line }) => line),
  ];
  const draft = draftInvoice(subscription, organisation, { type: "renewal", period, lines, today });
  const usage = (charges?.lines ?? []).map(({ billed }) => billed);
  walk.invoices.push({ draft, deferredIds: deferred.map(({ id }) => id), usage });
  walk.deferred = [];
  return period;
}
