/**
 * Restorations: facts of which a test changes one thing, invoices that an end removed, and
 * summaries of decisions.
 */

import { planLine } from "../../../src/domain/billing/invoice-lines.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { BillingState } from "../../../src/domain/model/billing-state.ts";
import type { InvoiceLineDraft } from "../../../src/domain/model/invoice.ts";
import { formatDecimal } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import type { RemovedInvoice } from "../../../src/domain/subscriptions/reissue.ts";
import {
  decideRestoration,
  type Restoration,
  type RestorationFacts,
} from "../../../src/domain/subscriptions/restore.ts";
import {
  invoiceSummary,
  periodSummary,
  type StateOrder,
  stateOf,
} from "./billing-state-builder.ts";

/** A subscription of June 2026 that was ended, as an order of a state. */
export const ended = {
  subscription: { status: "ended", endDate: civilDate("2026-06-10"), cancelAtPeriodEnd: false },
} as const satisfies StateOrder;

/** One that is set to end at the end of June 2026. */
export const setToEnd = {
  subscription: { endDate: civilDate("2026-07-01"), cancelAtPeriodEnd: true },
} as const satisfies StateOrder;

/** In the invoice window of July, whose renewal invoice an end removed. */
export const ahead = {
  today: "2026-06-20",
  renewalInvoice: null,
  endRemovedRenewal: true,
} as const satisfies StateOrder;

/** The facts of an order. By default nothing was removed and the customer is active. */
export function factsOf(
  order: StateOrder,
  differs: Partial<Omit<RestorationFacts, "state">> = {},
): RestorationFacts {
  return { state: stateOf(order), customerStatus: "active", removed: [], ...differs };
}

/** An invoice that an end removed: of the current period 5, with these lines. */
export function removed(
  lines: readonly InvoiceLineDraft[],
  differs: Partial<Omit<RemovedInvoice, "lines">> = {},
): RemovedInvoice {
  const { type = "renewal", periodIndex = 5 } = differs;
  return {
    id: `removed ${type} ${periodIndex}`,
    number: `INV-000${periodIndex}`,
    type,
    periodIndex,
    billsDeferred: false,
    ...differs,
    lines: lines.map((line, index) => ({ ...line, id: `line ${index}` })),
  };
}

/** The plan line of so many units for the current period of an order's state, or the next. */
export function planLineOf(
  state: BillingState,
  units: number,
  which: "period" | "nextPeriod" = "period",
): InvoiceLineDraft {
  const period = state[which];
  if (period === null) throw new Error(`no ${which}`);
  return planLine(state.plan, { ...state.subscription, units }, period, state.organisation);
}

/** The renewal invoice of period 6, July 2026, removed by an end: its plan line at these units. */
export function removedAhead(order: StateOrder, units: number): RemovedInvoice {
  return removed([planLineOf(stateOf(order), units, "nextPeriod")], { periodIndex: 6 });
}

/** A restoration in short; what it does not do is left out. */
function restorationSummary({
  subscription,
  dueDate,
  periods,
  invoices,
  creditNote,
}: Restoration): Record<string, unknown> {
  const { status, endDate, cancelAtPeriodEnd, renewalDate, units } = subscription;
  return {
    is:
      `${status}, ${units} units, until ${renewalDate}, ends ${endDate}` +
      (cancelAtPeriodEnd ? ", set to end" : ""),
    dueDate,
    ...(periods.length > 0 && { periods: periods.map(periodSummary) }),
    ...(invoices.length > 0 && {
      invoices: invoices.map(({ draft }) => [
        `${draft.type} of ${draft.periodIndex}`,
        ...invoiceSummary(draft),
      ]),
    }),
    ...(creditNote && {
      creditNote: creditNote.lines.map(
        ({ amount, effectiveDate, description }) =>
          `${formatDecimal(amount)} from ${effectiveDate}: ${description}`,
      ),
    }),
  };
}

/** What restoring decides, in short. */
export function restored(
  order: StateOrder,
  differs: Partial<Omit<RestorationFacts, "state">> = {},
): Record<string, unknown> {
  return restorationSummary(decideRestoration(factsOf(order, differs)));
}

/**
 * The message of the refusal, which is `invalid_state` and names no parameter, or `accepted`.
 */
export function refusalOf(facts: RestorationFacts): string {
  try {
    decideRestoration(facts);
  } catch (error) {
    if (error instanceof Refusal && error.code === "invalid_state" && error.param === null)
      return error.message;
    throw error;
  }
  return "accepted";
}
