/**
 * Drafts invoices and credit notes: their lines, amounts, accounts and dates. Nothing here decides
 * whether to issue one.
 */

import { addDays, type CivilDate, laterDate } from "../calendar/civil-date.ts";
import type { Period } from "../calendar/period.ts";
import type { Charge, Plan } from "../catalogue/plan.ts";
import {
  amountLimit,
  describePrice,
  hasUnits,
  type PricedPlan,
  type PriceTerms,
} from "../catalogue/pricing/index.ts";
import { amountOf } from "../explanation/named-facts.ts";
import type { BillingState, ProratedCharge } from "../model/billing-state.ts";
import type { CreditNoteDraft, CreditNoteLineDraft } from "../model/credit-note.ts";
import type {
  InvoiceDraft,
  InvoiceLineDraft,
  InvoicePeriod,
  InvoiceType,
} from "../model/invoice.ts";
import type { OrganisationSettings } from "../model/organisation-settings.ts";
import type { Subscription } from "../model/subscription.ts";
import { add, compare, type Decimal, formatDecimal, sum, ZERO } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import { factsOfCharge, factsOfPlan, type SourcedTerms } from "./line-facts.ts";
import { describeProration, type Proration } from "./proration.ts";
import type { DueInvoice } from "./renewal-usage.ts";

/** The members that a line has only if it bills what they are of. */
export const bareLine = {
  units: null,
  quantity: null,
  unitPrice: null,
  period: null,
  proration: null,
  chargeId: null,
  meterId: null,
} as const satisfies Partial<InvoiceLineDraft>;

/** The organisation's defaults for lines and invoices. */
type InvoiceDefaults = Pick<OrganisationSettings, "dueDays" | "revenueAccount" | "taxType">;

/** The part of a subscription that goes on its invoices. */
type InvoicedSubscription = Pick<Subscription, "startDate" | "currency" | "invoiceReference">;

/** The input of `draftInvoice`. `period` is the period that the invoice bills and belongs to. */
interface InvoiceOrder {
  readonly type: InvoiceType;
  readonly period: Period;
  readonly lines: readonly InvoiceLineDraft[];
  readonly today: CivilDate;
}

/**
 * Returns the line of a whole period at these terms: the value after discount, rounded once
 * (MONEY-4). `units` is null on a flat fee.
 */
export function planLine(
  plan: Plan,
  terms: SourcedTerms,
  { start, end }: InvoicePeriod,
  defaults: InvoiceDefaults,
): InvoiceLineDraft {
  const facts = factsOfPlan(plan, terms);
  return {
    ...bareLine,
    kind: "plan",
    name: plan.name,
    ...describePrice(plan, terms),
    units: hasUnits(plan.type) ? terms.units : null,
    amount: amountOf(facts, plan.currency),
    facts,
    period: { start, end },
    ...accountOf(plan, defaults),
  };
}

/**
 * Returns the line of a one-off charge: quantity (as `units`) × price, rounded once. A discount
 * does not apply to it (MONEY-4).
 */
export function chargeLine(
  charge: Charge,
  quantity: number,
  priceOverride: Decimal | null,
  defaults: InvoiceDefaults,
): InvoiceLineDraft {
  const facts = factsOfCharge(charge, quantity, priceOverride);
  return {
    ...bareLine,
    kind: "charge",
    name: charge.name,
    description: charge.description ?? "",
    units: quantity,
    unitPrice: priceOverride ?? charge.price,
    amount: amountOf(facts, charge.currency),
    facts,
    chargeId: charge.id,
    ...accountOf(charge, defaults),
  };
}

/** Describes a proration as a charge for the last days of its period (OBJECT-10). */
export function proratedCharge(
  plan: PricedPlan & Pick<Plan, "name" | "unitLabels">,
  terms: Omit<PriceTerms, "units">,
  proration: Proration,
  { end }: Pick<InvoicePeriod, "end">,
): ProratedCharge {
  const description = describeProration({ plan, terms, proration });
  const period = { start: addDays(end, -proration.daysRemaining), end };
  return { ...proration, name: plan.name, description, period };
}

/** Returns the invoice line of a prorated charge, booked to the plan's account (OBJECT-10). */
export function prorationLine(
  plan: Pick<Plan, "revenueAccount" | "taxType">,
  { name, description, amount, facts, period, ...proration }: ProratedCharge,
  defaults: InvoiceDefaults,
): InvoiceLineDraft {
  const { fromUnits, toUnits, daysRemaining, daysInPeriod } = proration;
  return {
    ...bareLine,
    kind: "proration",
    name,
    description,
    amount,
    ...(facts && { facts }),
    period,
    proration: { fromUnits, toUnits, daysRemaining, daysInPeriod },
    ...accountOf(plan, defaults),
  };
}

/**
 * Returns the line of a prorated credit, `amount` above 0, booked to the plan's account (UNITS-5).
 */
export function creditLine(
  plan: Pick<Plan, "revenueAccount" | "taxType">,
  { name, description, amount, facts, period }: ProratedCharge,
  defaults: InvoiceDefaults,
): CreditNoteLineDraft {
  return {
    name,
    description,
    amount,
    ...(facts && { facts }),
    effectiveDate: period.start,
    meterId: null,
    ...accountOf(plan, defaults),
  };
}

/**
 * Drafts a credit note of the subscription, dated like an invoice: the later of its start date and
 * today (UNITS-5). Refuses `invalid_state` if it cannot hold the lines (MONEY-8).
 */
export function draftCreditNote(
  subscription: InvoicedSubscription,
  lines: readonly CreditNoteLineDraft[],
  today: CivilDate,
): CreditNoteDraft {
  requireFits(lines);
  return {
    reference: subscription.invoiceReference,
    currency: subscription.currency,
    issueDate: laterDate(subscription.startDate, today),
    lines,
    subtotal: sum(lines.map(({ amount }) => amount)),
  };
}

/**
 * Drafts an invoice of the subscription. Its date is the later of the start date and today, also if
 * it is issued ahead of the period that it bills (OBJECT-9). It is due the organisation's number of
 * days later. Refuses `invalid_state` if it cannot hold the lines (MONEY-8).
 */
export function draftInvoice(
  subscription: InvoicedSubscription,
  defaults: InvoiceDefaults,
  { type, period, lines, today }: InvoiceOrder,
): InvoiceDraft {
  requireFits(lines);
  const issueDate = laterDate(subscription.startDate, today);
  return {
    type,
    reference: subscription.invoiceReference,
    currency: subscription.currency,
    issueDate,
    dueDate: addDays(issueDate, defaults.dueDays),
    period: { start: period.start, end: period.end },
    periodIndex: period.index,
    lines,
    subtotal: sum(lines.map(({ amount }) => amount)),
  };
}

function requireFits(lines: readonly (InvoiceLineDraft | CreditNoteLineDraft)[]): void {
  const why = tooMuch(lines);
  if (why !== null) throw new Refusal("invalid_state", why);
}

/**
 * Returns the account and tax type of the plan or charge, else the organisation's, else null
 * (DOCUMENT-5).
 */
export function accountOf(
  item: Pick<Plan, "revenueAccount" | "taxType">,
  defaults: InvoiceDefaults,
): Pick<InvoiceLineDraft, "revenueAccount" | "taxType"> {
  return {
    revenueAccount: item.revenueAccount ?? defaults.revenueAccount,
    taxType: item.taxType ?? defaults.taxType,
  };
}

/** A line's name and amount. `meterId` is set if the line bills or credits usage. */
interface CheckedLine {
  readonly name: string;
  readonly amount: Decimal;
  readonly meterId?: string | null;
}

/**
 * Returns why one document cannot hold these lines, as sentences; null if it can. `already`: the
 * amount of what else is on it.
 */
export function tooMuch(lines: readonly CheckedLine[], already: Decimal = ZERO): string | null {
  const whole = add(already, sum(lines.map(({ amount }) => amount)));
  if (compare(whole, amountLimit) < 0) return null;
  const namesOf = (some: readonly CheckedLine[]) => [...new Set(some.map(({ name }) => name))];
  const metered = namesOf(lines.filter(({ meterId = null }) => meterId !== null));
  const advice = metered.length === 0 ? "" : ` Events of ${metered.join(", ")} have to be voided.`;
  const names = namesOf(lines).join(", ");
  const limit = `less than ${formatDecimal(amountLimit)} can be billed at once`;
  return `The amount of ${names} comes to ${formatDecimal(whole)}: ${limit}.${advice}`;
}

/**
 * Returns the invoice of type `change` for deferred amounts whose renewal never comes; null if
 * there are none (UNITS-12).
 */
export function deferredInvoice({
  organisation,
  subscription,
  plan,
  period,
  deferred,
  today,
}: Pick<
  BillingState,
  "organisation" | "subscription" | "plan" | "period" | "deferred" | "today"
>): DueInvoice | null {
  if (deferred.length === 0) return null;
  const lines = deferred.map((line) => prorationLine(plan, line, organisation));
  const draft = draftInvoice(subscription, organisation, { type: "change", period, lines, today });
  return { draft, deferredIds: deferred.map(({ id }) => id), usage: [] };
}
