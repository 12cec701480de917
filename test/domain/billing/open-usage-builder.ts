/** Meters and unbilled usage, of which a test changes one thing, and summaries of a close. */

import type { ClosedUsage, DueInvoice } from "../../../src/domain/billing/renewal-usage.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { periodAt } from "../../../src/domain/calendar/period.ts";
import type { PricedMeter } from "../../../src/domain/catalogue/meter.ts";
import type { BilledUsage, OpenUsage } from "../../../src/domain/model/usage.ts";
import { parseDecimal, ZERO } from "../../../src/domain/money/decimal.ts";
import { tiersOf } from "../catalogue/catalogue.ts";
import {
  creditSummary,
  invoiceSummary,
  lineSummary,
} from "../subscriptions/billing-state-builder.ts";

/** Calls at 0.50 EUR each, with these differences. */
export function meterOf(differs: Partial<PricedMeter> = {}): PricedMeter {
  return {
    id: "calls",
    name: "API calls",
    unitLabel: "call",
    type: "per_unit",
    price: parseDecimal("0.50"),
    tiers: [],
    revenueAccount: null,
    taxType: null,
    ...differs,
  };
}

/** Storage at 2.00 EUR a GB up to ten, above that all of it at 1.00: ten cost 20, eleven 11. */
export const storage = meterOf({
  id: "storage",
  name: "Storage",
  unitLabel: "GB",
  type: "volume",
  price: ZERO,
  tiers: tiersOf([10, "2"], [null, "1"]),
});

/**
 * What a test sets. The default is one event of June 2026 (period 5 from 1 January), of which
 * nothing was billed before.
 */
interface UsageOrder extends Partial<Omit<OpenUsage, "period" | "quantity" | "before" | "priced">> {
  readonly index?: number;
  readonly before?: string;
  /** Equals `before` if left out. */
  readonly priced?: string;
}

/** Usage of this quantity. */
export function usageOf(quantity: string, order: UsageOrder = {}): OpenUsage {
  const { index = 5, before = "0", priced = before, ...differs } = order;
  return {
    bill: 0,
    period: periodAt(
      { start: civilDate("2026-01-01"), billingDay: 1 },
      { unit: "month", count: 1 },
      index,
    ),
    setupMode: false,
    meter: meterOf(),
    events: 1n,
    quantity: parseDecimal(quantity),
    before: parseDecimal(before),
    priced: parseDecimal(priced),
    ...differs,
  };
}

/** The summary of billed usage: `storage of 5 in bill 0`. */
export function usageSummary({ usage: { meter, period, bill } }: BilledUsage): string {
  return `${meter.id} of ${period.index} in bill ${bill}`;
}

/** The summary of what a close bills. Empty lists are left out. */
export function closeSummary(
  closed: ClosedUsage & { readonly invoices: readonly DueInvoice[] },
): Record<string, unknown> {
  const { invoices, joined, creditNotes, unbilled, usageBills } = closed;
  return {
    bills: `${usageBills.billed} to ${usageBills.open}`,
    ...(invoices.length > 0 && {
      invoices: invoices.map(({ draft, usage }) => [
        `${draft.type} of ${draft.periodIndex}`,
        ...invoiceSummary(draft),
        ...usage.map(usageSummary),
      ]),
    }),
    ...(joined && {
      joined: [
        joined.amendment.invoiceId,
        ...joined.amendment.added.map(lineSummary),
        ...joined.usage.map(usageSummary),
      ],
    }),
    ...(creditNotes.length > 0 && {
      creditNotes: creditNotes.map(({ draft, usage }) => [
        ...creditSummary(draft),
        ...usage.map(usageSummary),
      ]),
    }),
    ...(unbilled.length > 0 && { unbilled: unbilled.map(usageSummary) }),
  };
}
