/**
 * Billing states of subscriptions, of which a test changes one thing, the states after a decision,
 * and summaries of decisions.
 */

import { type DueDecision, decideDue } from "../../../src/domain/billing/renewal.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { periodAt } from "../../../src/domain/calendar/period.ts";
import type { Plan } from "../../../src/domain/catalogue/plan.ts";
import { hasUnits } from "../../../src/domain/catalogue/pricing/index.ts";
import type {
  BillingState,
  IssuedInvoice,
  PeriodState,
} from "../../../src/domain/model/billing-state.ts";
import type { CreditNoteDraft } from "../../../src/domain/model/credit-note.ts";
import type {
  InvoiceAmendment,
  InvoiceDraft,
  InvoiceLineDraft,
} from "../../../src/domain/model/invoice.ts";
import type { Subscription } from "../../../src/domain/model/subscription.ts";
import {
  equals,
  formatDecimal,
  formatShort,
  parseDecimal,
  sum,
  ZERO,
} from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
  type UnitsDecision,
} from "../../../src/domain/subscriptions/change-units.ts";
import type { NextPeriodLine } from "../../../src/domain/subscriptions/reversal.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import { organisation } from "./creation-builder.ts";

const createdAt = new Date("2026-01-01T00:00:00Z");

/** Seats at 10.00 EUR each. */
export const seats = planOf("per_unit", { name: "Seats", price: parseDecimal("10") });

/** Seats at 10.00 EUR up to ten, from eleven on all at 8.00 EUR: eleven cost 88, ten 100. */
export const volumeSeats = planOf("volume", {
  name: "Seats",
  tiers: tiersOf([10, "10"], [null, "8"]),
});

/**
 * What a test sets. The default is an active subscription of 10 seats whose current period is June
 * 2026.
 */
export interface StateOrder {
  readonly plan?: Plan;
  readonly units?: number;
  /** The billed units of the current period. Equals the units if left out. */
  readonly billed?: number;
  readonly today?: string;
  readonly startDate?: string;
  readonly billingDay?: number;
  /** The index of the current period, counted from the start date. */
  readonly index?: number;
  readonly subscription?: Partial<Subscription>;
  readonly organisation?: Partial<BillingState["organisation"]>;
  readonly period?: Partial<PeriodState>;
  /** The next period, if its renewal invoice was issued ahead. By default it bills the units. */
  readonly next?: Partial<PeriodState>;
  /** The renewal invoice of the next period, null if it was removed. */
  readonly renewalInvoice?: Partial<IssuedInvoice> | null;
  /** Whether an end of ours removed it, and no person. */
  readonly endRemovedRenewal?: boolean;
  readonly invoices?: readonly IssuedInvoice[];
  readonly deferred?: BillingState["deferred"];
  readonly usage?: BillingState["usage"];
  readonly usageBills?: BillingState["usageBills"];
  readonly running?: BillingState["running"];
}

/**
 * The ordered state: monthly from 1 January 2026, in June 2026, with all its invoices approved.
 */
export function stateOf(order: StateOrder = {}): BillingState {
  const { plan = seats, units = 10, index = 5, today = "2026-06-10" } = order;
  const startDate = civilDate(order.startDate ?? "2026-01-01");
  const billingDay = order.billingDay ?? Number(startDate.slice(8));
  const countless = !hasUnits(plan.type);
  const periodState = (
    k: number,
    billedUnits: number,
    differs: Partial<PeriodState> = {},
  ): PeriodState => ({
    ...periodAt({ start: startDate, billingDay }, plan.interval, k),
    billedUnits: countless ? null : billedUnits,
    billedBy: null,
    setupMode: false,
    prorationClosed: false,
    billedSeparately: false,
    ...differs,
  });
  const period = periodState(index, order.billed ?? units, order.period);
  const subscription: Subscription = {
    id: "0198c0de-0000-7000-8000-0000000000dd",
    customerId: "0198c0de-0000-7000-8000-0000000000bb",
    customerCode: "cust",
    planId: plan.id,
    status: "active",
    currency: plan.currency,
    interval: plan.interval,
    timezone: "Europe/Paris",
    startDate,
    billingDay,
    renewalDate: period.end,
    endDate: null,
    units: countless ? 0 : units,
    minimumUnits: 0,
    discountPercent: ZERO,
    priceOverride: null,
    cancelAtPeriodEnd: false,
    endAfterCycles: null,
    label: "",
    invoiceReference: "PO 7",
    createdAt,
    ...order.subscription,
  };
  const isAhead = order.next !== undefined || order.renewalInvoice !== undefined;
  const current = issued({
    type: index === 0 ? "first" : "renewal",
    periodIndex: index,
    status: "approved",
  });
  const invoices = order.invoices ?? [current];
  const renewal =
    order.renewalInvoice === null
      ? []
      : [issued({ periodIndex: index + 1, ...order.renewalInvoice })];
  return {
    organisation: { ...organisation, ...order.organisation },
    subscription,
    plan,
    period,
    nextPeriod: isAhead ? periodState(index + 1, units, order.next) : null,
    endRemovedRenewal: order.endRemovedRenewal ?? false,
    invoices: isAhead ? [...renewal, ...invoices] : invoices,
    deferred: order.deferred ?? [],
    usage: order.usage === undefined ? [] : order.usage,
    usageBills: order.usageBills ?? { open: 0, billed: 0 },
    running: order.running ?? null,
    today: civilDate(today),
  };
}

/**
 * A renewal invoice of June 2026, a draft in the ledger with nothing paid, with these differences.
 */
export function issued(differs: Partial<IssuedInvoice> = {}): IssuedInvoice {
  const { type = "renewal", periodIndex = 5 } = differs;
  const amount = parseDecimal("100.00");
  return {
    id: `${type} ${periodIndex}`,
    number: `INV-000${periodIndex}`,
    type,
    periodIndex,
    status: "draft",
    total: amount,
    amountDue: amount,
    inLedger: true,
    isAltered: false,
    isPlanLineKnown: true,
    ...differs,
  };
}

/** A request for this new total, without proration or prorated from the date `from`. */
export function changeTo(
  units: number,
  differs: Partial<Omit<UnitsChangeRequest, "effectiveDate">> & { from?: string } = {},
): UnitsChangeRequest {
  const { from, ...rest } = differs;
  const effectiveDate = from === undefined ? null : civilDate(from);
  return {
    units,
    prorate: from !== undefined,
    behaviour: null,
    document: null,
    ...rest,
    effectiveDate,
  };
}

/** Code, param and message of the refusal, or `accepted` if there is none. */
export function refusalOf(
  state: BillingState,
  request: UnitsChangeRequest,
): [string, string | null, string] {
  try {
    decideUnitsChange(state, request);
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param, error.message];
    throw error;
  }
  return ["accepted", null, ""];
}

/** The state once a change of units is written and its documents are drafts in the ledger. */
export function afterChange(state: BillingState, decision: UnitsDecision): BillingState {
  const { subscription, period, nextPeriod, invoices, deferred } = state;
  const written = (one: PeriodState) =>
    decision.periods.find(({ index }) => index === one.index) ?? one;
  const { invoice } = decision;
  const id = `change ${invoices.length}`;
  return {
    ...state,
    subscription: { ...subscription, units: decision.units },
    period: written(period),
    nextPeriod: nextPeriod && written(nextPeriod),
    invoices: invoice
      ? [issued({ id, type: "change", periodIndex: invoice.periodIndex }), ...invoices]
      : invoices,
    deferred: decision.deferred
      ? [...deferred, { ...decision.deferred, id: `deferred ${deferred.length}` }]
      : deferred,
  };
}

/** The state once what was due is written and its invoices are drafts in the ledger. */
export function afterDue(state: BillingState, due: DueDecision | null): BillingState {
  if (due === null) return state;
  const { subscription, currentPeriod } = due;
  const periods = [
    state.period,
    ...(state.nextPeriod === null ? [] : [state.nextPeriod]),
    ...due.periods,
  ];
  const period = periods.findLast(({ index }) => index === currentPeriod);
  if (period === undefined) throw new Error(`no period ${currentPeriod}`);
  const billed = due.invoices.flatMap(({ deferredIds }) => deferredIds);
  const added = due.invoices.map(({ draft: { type, periodIndex } }) =>
    issued({ type, periodIndex }),
  );
  return {
    ...state,
    subscription,
    period,
    nextPeriod: periods.findLast(({ index }) => index === currentPeriod + 1) ?? null,
    invoices: [...added.reverse(), ...state.invoices].filter(
      ({ periodIndex }) => periodIndex >= currentPeriod,
    ),
    deferred: state.deferred.filter(({ id }) => !billed.includes(id)),
    usage: state.usage?.filter(({ bill }) => bill >= due.usageBills.billed) ?? null,
    usageBills: due.usageBills,
  };
}

/**
 * Performs what is due on each of these days. Returns the last state and the summaries of the
 * decisions. Asserts that nothing more is due on the same day.
 */
export function dueOver(
  state: BillingState,
  ...days: string[]
): { state: BillingState; summaries: unknown[] } {
  let now = state;
  const summaries = days.map((day) => {
    now = { ...now, today: civilDate(day) };
    const due = decideDue(now);
    now = afterDue(now, due);
    if (decideDue(now) !== null) throw new Error(`still due on ${day}`);
    return dueSummary(due);
  });
  return { state: now, summaries };
}

/** The summary of what was due, null if nothing was. */
export function dueSummary(due: DueDecision | null): unknown {
  if (due === null) return null;
  const { subscription, currentPeriod, periods, invoices } = due;
  return {
    is: `${subscription.status}, in ${currentPeriod}, until ${subscription.renewalDate}`,
    periods: periods.map(periodSummary),
    invoices: invoices.map(({ draft }) => [
      `${draft.type} of ${draft.periodIndex}`,
      ...invoiceSummary(draft),
    ]),
  };
}

/**
 * The summary of a decision, without its nulls. A line is its amount, its days and its arithmetic.
 */
export function unitsSummary(decision: UnitsDecision): Record<string, unknown> {
  const { units, periods, invoice, joined, amended, deferred, creditNote } = decision;
  return {
    units,
    periods: periods.map(periodSummary),
    ...(invoice && { invoice: invoiceSummary(invoice) }),
    ...(joined && { joined: amendmentSummary(joined) }),
    ...(amended && { amended: amendmentSummary(amended) }),
    ...(deferred && { deferred: lineSummary(deferred) }),
    ...(creditNote && { creditNote: creditSummary(creditNote) }),
  };
}

/** The summary of one change of units. */
export function changeSummary(
  order: StateOrder,
  request: UnitsChangeRequest,
): Record<string, unknown> {
  return unitsSummary(decideUnitsChange(stateOf(order), request));
}

/** The summaries of changes in sequence. A refused one is its code and changes nothing. */
export function changeSummaries(
  order: StateOrder,
  requests: readonly UnitsChangeRequest[],
): unknown[] {
  let state = stateOf(order);
  return requests.map((request) => {
    const [code] = refusalOf(state, request);
    if (code !== "accepted") return code;
    const decision = decideUnitsChange(state, request);
    state = afterChange(state, decision);
    return unitsSummary(decision);
  });
}

/** The summary of a period: `5: 12 billed, proration closed`. */
export function periodSummary(period: PeriodState): string {
  const { index, billedUnits, setupMode, prorationClosed, billedSeparately } = period;
  const flags = [
    setupMode ? ", in Setup Mode" : "",
    prorationClosed ? ", proration closed" : "",
    billedSeparately ? ", billed separately" : "",
  ];
  return `${index}: ${billedUnits} billed${flags.join("")}`;
}

/** The summaries of an invoice's lines. Asserts its subtotal. */
export function invoiceSummary({ lines, subtotal }: InvoiceDraft): string[] {
  if (!equals(subtotal, sum(lines.map(({ amount }) => amount))))
    throw new Error(`a subtotal of ${subtotal}`);
  return lines.map(lineSummary);
}

/** The summary of a line: its amount, its days and its arithmetic. */
export function lineSummary({
  amount,
  period,
  description,
}: Pick<InvoiceLineDraft, "amount" | "period" | "description">): string {
  return `${formatDecimal(amount)} for ${period?.start} to ${period?.end}: ${description}`;
}

function amendmentSummary({ invoiceId, planLine, added, onlyDraft }: InvoiceAmendment): string[] {
  return [
    `${invoiceId}${onlyDraft ? ", while a draft" : ""}`,
    ...(planLine ? [`plan ${planLine.units}: ${lineSummary(planLine)}`] : []),
    ...added.map(lineSummary),
  ];
}

/** The summaries of a credit note's lines, with the subtotal if there are several. */
export function creditSummary({ lines, subtotal }: CreditNoteDraft): string[] {
  const rows = lines.map(
    ({ amount, effectiveDate, description }) =>
      `${formatDecimal(amount)} from ${effectiveDate}: ${description}`,
  );
  return rows.length === 1 ? rows : [...rows, `${formatShort(subtotal)} in all`];
}

/** A line of the next period: `20` stands on INV-0020, `-8` on the credit note CN-0008. */
export function nextLine(amount: string, differs: Partial<NextPeriodLine> = {}): NextPeriodLine {
  const isCredit = amount.startsWith("-");
  const number = `${isCredit ? "CN" : "INV"}-${amount.replace("-", "").padStart(4, "0")}`;
  return {
    invoiceId: isCredit ? null : `id of ${number}`,
    number,
    name: "Seats",
    description: `text of ${number}`,
    amount: parseDecimal(amount),
    revenueAccount: "200",
    taxType: "OUTPUT2",
    ...differs,
  };
}

/** The days of the next period, as a reversal names them. */
export const reversedDays = "the period from 2026-07-01 to 2026-08-01, which does not begin";
