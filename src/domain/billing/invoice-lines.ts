/**
 * Drafting invoices and credit notes: their lines, amounts, accounts and dates. Nothing here decides whether to raise
 * one.
 */
import { addDays, type CivilDate, laterDate } from "../calendar/civil-date.ts";
import type { Period } from "../calendar/period.ts";
import type { Charge, Plan } from "../catalogue/plan.ts";
import { describePrice, hasUnits, lineAmount, type PricedPlan, type PriceTerms } from "../catalogue/pricing/index.ts";
import { roundToMinorUnit } from "../money/currency.ts";
import { type Decimal, decimalOf, multiply, sum } from "../money/decimal.ts";
import type { OrganisationSettings } from "../subscriptions/organisation-settings.ts";
import type { CreditNoteDraft, CreditNoteLineDraft } from "./credit-note.ts";
import type { InvoiceDraft, InvoiceLineDraft, InvoicePeriod, InvoiceType } from "./invoice.ts";
import { describeProration, type Proration, type ProrationParts } from "./proration.ts";

/** What of the organisation a line or an invoice falls back on. */
export type InvoiceDefaults = Pick<OrganisationSettings, "dueDays" | "revenueAccount" | "taxType">;

/** What of a subscription goes on its invoices. */
export interface InvoicedSubscription {
  readonly startDate: CivilDate;
  readonly currency: string;
  readonly invoiceReference: string;
}

/** What is asked of `draftInvoice`. `period` is that which the invoice bills and belongs to. */
export interface InvoiceOrder {
  readonly type: InvoiceType;
  readonly period: Period;
  readonly lines: readonly InvoiceLineDraft[];
  readonly today: CivilDate;
}

/**
 * The line of a whole period at these terms: value after discount, rounded once; `units` null on a flat fee. decisions
 * §5.
 */
export function planLine(
  plan: Plan,
  terms: PriceTerms,
  { start, end }: InvoicePeriod,
  defaults: InvoiceDefaults,
): InvoiceLineDraft {
  return {
    kind: "plan",
    name: plan.name,
    ...describePrice(plan, terms),
    units: hasUnits(plan.type) ? terms.units : null,
    quantity: null,
    amount: lineAmount(plan, terms),
    period: { start, end },
    proration: null,
    chargeId: null,
    meterId: null,
    ...accountOf(plan, defaults),
  };
}

/**
 * The line of a one-off charge: quantity (as `units`) × price, rounded once; a discount does not touch it. decisions
 * §5.
 */
export function chargeLine(
  charge: Charge,
  quantity: number,
  priceOverride: Decimal | null,
  defaults: InvoiceDefaults,
): InvoiceLineDraft {
  const unitPrice = priceOverride ?? charge.price;
  return {
    kind: "charge",
    name: charge.name,
    description: charge.description ?? "",
    units: quantity,
    quantity: null,
    unitPrice,
    amount: roundToMinorUnit(multiply(decimalOf(quantity), unitPrice), charge.currency),
    period: null,
    proration: null,
    chargeId: charge.id,
    meterId: null,
    ...accountOf(charge, defaults),
  };
}

/** A prorated charge as it is printed and deferred: all but the account that it is booked to. */
export interface ProratedCharge extends ProrationParts {
  readonly name: string;
  readonly description: string;
  readonly amount: Decimal;
  readonly period: InvoicePeriod;
}

/** A proration in words, for the last days of its period. decisions §3 "Invoice". */
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

/** The line of a prorated charge, booked to the plan's account. decisions §3 "Invoice". */
export function prorationLine(
  plan: Pick<Plan, "revenueAccount" | "taxType">,
  { name, description, amount, period, ...proration }: ProratedCharge,
  defaults: InvoiceDefaults,
): InvoiceLineDraft {
  const { fromUnits, toUnits, daysRemaining, daysInPeriod } = proration;
  return {
    kind: "proration",
    name,
    description,
    units: null,
    quantity: null,
    unitPrice: null,
    amount,
    period,
    proration: { fromUnits, toUnits, daysRemaining, daysInPeriod },
    chargeId: null,
    meterId: null,
    ...accountOf(plan, defaults),
  };
}

/** The line of a prorated credit, `amount` above 0, booked to the plan's account. Spec: Change units, rule 5. */
export function creditLine(
  plan: Pick<Plan, "revenueAccount" | "taxType">,
  { name, description, amount, period }: ProratedCharge,
  defaults: InvoiceDefaults,
): CreditNoteLineDraft {
  return { name, description, amount, effectiveDate: period.start, meterId: null, ...accountOf(plan, defaults) };
}

/** A credit note of the subscription, dated as an invoice is. Spec: Change units, rule 5; decisions §6. */
export function draftCreditNote(
  subscription: InvoicedSubscription,
  lines: readonly CreditNoteLineDraft[],
  today: CivilDate,
): CreditNoteDraft {
  return {
    reference: subscription.invoiceReference,
    currency: subscription.currency,
    issueDate: laterDate(subscription.startDate, today),
    lines,
    subtotal: sum(lines.map(({ amount }) => amount)),
  };
}

/**
 * An invoice of the subscription: dated the later of its start date and today, also when it is raised ahead of the
 * period that it bills; due the organisation's days after. decisions §3 "Invoice".
 */
export function draftInvoice(
  subscription: InvoicedSubscription,
  defaults: InvoiceDefaults,
  { type, period, lines, today }: InvoiceOrder,
): InvoiceDraft {
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

/** The plan's or charge's own account and tax type before the organisation's; null where neither has one. decisions §6. */
export function accountOf(
  item: Pick<Plan, "revenueAccount" | "taxType">,
  defaults: InvoiceDefaults,
): Pick<InvoiceLineDraft, "revenueAccount" | "taxType"> {
  return {
    revenueAccount: item.revenueAccount ?? defaults.revenueAccount,
    taxType: item.taxType ?? defaults.taxType,
  };
}
