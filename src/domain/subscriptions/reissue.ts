/**
 * Reissues invoices that ends removed: those that a restoration brings back, and that of a period
 * which the subscription enters because its end was refused or broken off.
 */
import { assert } from "../assert.ts";
import { billedFor, unitsSetBy } from "../billing/billed-by.ts";
import { willRenew } from "../billing/due-date.ts";
import { draftInvoice, planLine, prorationLine } from "../billing/invoice-lines.ts";
import type { DueInvoice } from "../billing/renewal-usage.ts";
import { compareDates } from "../calendar/civil-date.ts";
import { periodAt } from "../calendar/period.ts";
import { hasUnits } from "../catalogue/pricing/index.ts";
import { reissuedFacts } from "../explanation/facts.ts";
import type { BillingState, PeriodState } from "../model/billing-state.ts";
import type { CreditNoteDraft } from "../model/credit-note.ts";
import type { Invoice, InvoiceLine, InvoiceLineDraft } from "../model/invoice.ts";
import { decideReversal, type NextPeriodLines, noNextPeriodLines } from "./reversal.ts";

/**
 * An invoice that an end removed, with its lines. `billsDeferred`: it still counts as the bill of
 * its deferred charges. Those of a renewal invoice issued ahead are deferred again since its
 * removal, or billed by another invoice.
 */
export interface RemovedInvoice extends Pick<Invoice, "id" | "number" | "type" | "lines"> {
  readonly periodIndex: number;
  readonly billsDeferred: boolean;
}

/**
 * An invoice to issue. `replaces`: the removed invoice that it replaces line by line; null if its
 * lines are new.
 */
interface RestoredInvoice extends DueInvoice {
  readonly replaces: string | null;
}

/** What is written for reissued invoices. */
export interface Reissued {
  /** The next period, if its invoice is issued. */
  readonly periods: readonly PeriodState[];
  readonly invoices: readonly RestoredInvoice[];
  readonly creditNote: CreditNoteDraft | null;
}

/**
 * Reissues the invoice of a period that the subscription now enters, because the end that removed
 * it was refused at a later invoice. An invoice that an option requested to remove stays removed.
 * Returns null if there is none, and in Setup Mode (END-4).
 */
export function decideGoingOn(
  state: BillingState,
  removed: readonly RemovedInvoice[],
  next: NextPeriodLines = noNextPeriodLines,
): (Reissued & { readonly of: string }) | null {
  if (state.organisation.setupMode) return null;
  const isOfIt = (one: RemovedInvoice) =>
    isAhead(state, one) || (state.subscription.status === "pending" && one.type === "first");
  const one = removed.findLast(isOfIt);
  if (one === undefined) return null;
  if (!isAhead(state, one))
    return { of: one.id, periods: [], invoices: copyOf(state, one), creditNote: null };
  const { period, invoices, creditNote } = issueRenewal(state, next);
  return { of: one.id, periods: [period], invoices, creditNote };
}

/**
 * Reissues the invoice of a period that never was to begin, whose removal shows in the ledger after
 * its end was broken off (END-12). The period may have begun meanwhile: then every line is billed
 * again. Nothing is issued if a later end has the subscription not enter the period.
 */
export function decideLateRemoval(
  state: BillingState,
  removed: Omit<RemovedInvoice, "billsDeferred">,
  next: NextPeriodLines = noNextPeriodLines,
): Reissued {
  const nothing: Reissued = { periods: [], invoices: [], creditNote: null };
  const { subscription, organisation, period, today } = state;
  if (isAhead(state, removed)) {
    if (!willRenew(subscription)) return nothing;
    const { period: renewed, ...issued } = issueRenewal(state, next);
    return { ...issued, periods: [renewed] };
  }
  const { status, startDate, endDate, billingDay, interval } = subscription;
  const isNeverBegun =
    status === "ended" && endDate !== null && compareDates(endDate, startDate) < 0;
  if (isNeverBegun) return nothing;
  const own =
    removed.periodIndex === period.index
      ? period
      : periodAt({ start: startDate, billingDay }, interval, removed.periodIndex);
  const lines = removed.lines.map((line) => reissued(line, removed));
  const order = { type: removed.type, period: own, lines, today };
  const draft = draftInvoice(subscription, organisation, order);
  const copy = { draft, deferredIds: [], usage: [], replaces: removed.id };
  return { ...nothing, invoices: [copy] };
}

/** Whether it is the renewal invoice of a period that has not begun. */
export function isAhead(
  { period }: BillingState,
  { type, periodIndex }: Pick<RemovedInvoice, "type" | "periodIndex">,
): boolean {
  return type === "renewal" && periodIndex > period.index;
}

/**
 * Returns the lines of a removed invoice that bill the current period, whose billed units already
 * count them. On an invoice of the previous period those are what a separate change billed ahead.
 * Lines billed ahead for the next period are left to that period's renewal invoice. A renewal
 * invoice removed while it was ahead no longer owns its deferred charges: they are deferred again,
 * or were billed since.
 */
export function linesOf({ period }: BillingState, removed: RemovedInvoice): readonly InvoiceLine[] {
  const isFromCurrent = ({ period: of }: InvoiceLineDraft) =>
    of !== null && compareDates(period.start, of.start) <= 0;
  const lines = removed.lines.filter(
    ({ period: of }) => of === null || compareDates(of.start, period.end) < 0,
  );
  if (removed.periodIndex < period.index) return lines.filter(isFromCurrent);
  return lines.filter(
    (line) => line.kind !== "proration" || removed.billsDeferred || isFromCurrent(line),
  );
}

/** Returns the line as it is issued again: explained as it was, and by the line that it copies. */
function reissued(
  { facts, ...line }: InvoiceLine,
  { id }: Pick<RemovedInvoice, "id">,
): InvoiceLineDraft {
  return facts === undefined ? line : { ...line, facts: reissuedFacts(facts, id, line.id) };
}

/** Copies those lines to a new invoice of the current period; none if there are no lines. */
export function copyOf(state: BillingState, removed: RemovedInvoice): readonly RestoredInvoice[] {
  const lines = linesOf(state, removed).map((line) => reissued(line, removed));
  if (lines.length === 0) return [];
  const { subscription, organisation, period, today } = state;
  const draft = draftInvoice(subscription, organisation, {
    type: removed.type,
    period,
    lines,
    today,
  });
  return [{ draft, deferredIds: [], usage: [], replaces: removed.id }];
}

/** What is issued for the next period. */
export type IssuedNext = Pick<Reissued, "invoices" | "creditNote"> & {
  readonly period: PeriodState;
};

/**
 * Issues the renewal invoice of the next period again: the current units, and everything deferred
 * by now. It alone bills the period: what other documents still bill of it is reversed (RESTORE-3,
 * RESTORE-4, END-7).
 */
export function issueRenewal(
  state: BillingState,
  next: NextPeriodLines = noNextPeriodLines,
): IssuedNext {
  const { subscription, organisation, plan, nextPeriod, deferred, today } = state;
  assert(nextPeriod !== null, "the period of an invoice is there");
  const reversal = decideReversal(state, next);
  const billedUnits = hasUnits(plan.type) ? subscription.units : null;
  const billed = billedFor(billedUnits, unitsSetBy(subscription));
  const period = { ...nextPeriod, ...billed, prorationClosed: false, billedSeparately: false };
  const lines = [
    planLine(plan, subscription, period, organisation),
    ...deferred.map((line) => prorationLine(plan, line, organisation)),
  ];
  const draft = draftInvoice(subscription, organisation, { type: "renewal", period, lines, today });
  const renewal: DueInvoice = { draft, deferredIds: deferred.map(({ id }) => id), usage: [] };
  const invoices = reversal.invoice === null ? [renewal] : [reversal.invoice, renewal];
  return {
    period,
    invoices: invoices.map((invoice) => ({ ...invoice, replaces: null })),
    creditNote: reversal.creditNote,
  };
}
