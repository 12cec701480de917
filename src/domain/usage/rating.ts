/**
 * What a bill of usage comes to: each meter's quantity of each period priced over its whole sum, less what was billed of it before.
 * decisions §§5 and 6.
 */

import type { CreditNoteDraft, CreditNoteLineDraft } from "../billing/credit-note.ts";
import type { InvoiceDraft, InvoiceLineDraft } from "../billing/invoice.ts";
import { accountOf, draftCreditNote, draftInvoice } from "../billing/invoice-lines.ts";
import type { Period } from "../calendar/period.ts";
import type { PricedMeter } from "../catalogue/meter.ts";
import { amountLimit, describeParts, partsValue, pricingModels } from "../catalogue/pricing/index.ts";
import { roundToMinorUnit } from "../money/currency.ts";
import {
  add,
  compare,
  type Decimal,
  equals,
  formatDecimal,
  formatShort,
  isNegative,
  isZero,
  negate,
  subtract,
  sum,
  ZERO,
} from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import type { BillingState } from "../subscriptions/billing-state.ts";

/** The bills of a subscription's usage: the number of the current period's, and of the first that is not made. */
export interface UsageBills {
  readonly open: number;
  readonly billed: number;
}

/**
 * Usage of one meter in one period that a bill is to take. `before`: the quantity that earlier bills took of that period, `priced`: what
 * of it their amounts stand for; `setupMode`: the period began in Setup Mode and is never billed.
 */
export interface OpenUsage {
  readonly bill: number;
  readonly period: Period;
  readonly setupMode: boolean;
  readonly meter: PricedMeter;
  readonly events: bigint;
  readonly quantity: Decimal;
  readonly before: Decimal;
  readonly priced: Decimal;
}

/** Usage as a bill takes it. `amount` below zero is credited; `priced` is what all amounts of the period stand for afterwards. */
export interface BilledUsage {
  readonly usage: OpenUsage;
  readonly amount: Decimal;
  readonly priced: Decimal;
}

/** Usage with the line that bills it. */
export interface UsageLine {
  readonly billed: BilledUsage;
  readonly line: InvoiceLineDraft;
}

/**
 * What a bill comes to: `lines` for an invoice, zero ones among them; `creditNote` for what is below zero; `unpriced` is never billed.
 * `isCharged`: a line is above zero, so that an invoice is to be raised.
 */
export interface UsageCharges {
  readonly lines: readonly UsageLine[];
  readonly credited: readonly BilledUsage[];
  readonly creditNote: CreditNoteDraft | null;
  readonly unpriced: readonly BilledUsage[];
  readonly isCharged: boolean;
}

/**
 * What usage is billed by: account and tax type where the meter has none, whom the documents are for, and the period whose end they are
 * made at: lines of another one name theirs.
 */
export type UsageFacts = Pick<BillingState, "organisation" | "subscription" | "today"> & { readonly period: Period };

/**
 * Prices usage, oldest period first: V(whole sum) − V(what was priced before), rounded once to the currency. What rounds to zero leaves the
 * priced quantity, so that nothing is lost to rounding. Usage takes no discount. Refuses (`invalid_state`) what comes to more than a
 * document can hold: some of it has to be voided. decisions §5.
 */
export function chargeUsage(facts: UsageFacts, usage: readonly OpenUsage[]): UsageCharges {
  const priced: BilledUsage[] = [];
  // Two bills that wait at once may have usage of one period and meter: the later one goes on from the earlier.
  const reached = new Map<string, { before: Decimal; priced: Decimal }>();
  for (const one of usage.toSorted(byBillAndPeriod)) {
    const key = `${one.period.index} ${one.meter.id}`;
    const known = reached.get(key);
    const billed = priceUsage(known === undefined ? one : { ...one, ...known }, facts.subscription.currency);
    reached.set(key, { before: add(billed.usage.before, one.quantity), priced: billed.priced });
    priced.push(billed);
  }
  const unpriced = priced.filter(({ usage: { setupMode } }) => setupMode);
  const charged = priced.filter((one) => !one.usage.setupMode && !isNegative(one.amount));
  const credited = priced.filter((one) => !one.usage.setupMode && isNegative(one.amount));
  checkAmounts(charged);
  checkAmounts(credited);
  const credits = credited.map((one) => usageCredit(one, facts));
  return {
    lines: charged.map((billed) => ({ billed, line: usageLine(billed, facts) })),
    credited,
    creditNote: credits.length === 0 ? null : draftCreditNote(facts.subscription, credits, facts.today),
    unpriced,
    isCharged: charged.some(({ amount }) => !isZero(amount)),
  };
}

/** An invoice of type `usage` of these lines, of the period that ended or ends with it. decisions §6. */
export function usageInvoice(facts: UsageFacts, lines: readonly UsageLine[]): InvoiceDraft {
  const { subscription, organisation, period, today } = facts;
  const order = { type: "usage", period, lines: lines.map(({ line }) => line), today } as const;
  return draftInvoice(subscription, organisation, order);
}

function byBillAndPeriod(left: OpenUsage, right: OpenUsage): number {
  return left.bill - right.bill || left.period.index - right.period.index;
}

function priceUsage(usage: OpenUsage, currency: string): BilledUsage {
  if (usage.setupMode) return { usage, amount: ZERO, priced: usage.priced };
  const whole = add(usage.before, usage.quantity);
  const difference = subtract(usageValue(usage.meter, whole), usageValue(usage.meter, usage.priced));
  const amount = roundToMinorUnit(difference, currency);
  return { usage, amount, priced: isZero(amount) ? usage.priced : whole };
}

/** All of one sign: the lines of one document, beside what else may stand on it. */
function checkAmounts(billed: readonly BilledUsage[]): void {
  const whole = sum(billed.map(({ amount }) => amount));
  const size = isNegative(whole) ? negate(whole) : whole;
  if (compare(size, amountLimit) < 0) return;
  const names = [...new Set(billed.map(({ usage }) => usage.meter.name))].join(", ");
  const message = `The usage of ${names} comes to ${formatDecimal(size)}: less than ${formatDecimal(amountLimit)} can be billed at once.`;
  throw new Refusal("invalid_state", `${message} Events of it have to be voided.`);
}

/** V(quantity): what a period's quantity of the meter costs, exact. */
function usageValue(meter: PricedMeter, quantity: Decimal): Decimal {
  return partsValue(pricingModels[meter.type].parts(meter, quantity));
}

/** The line of usage: its quantity, the arithmetic, and of late usage its period and what was billed of that before. decisions §3 "Invoice". */
function usageLine({ usage, amount }: BilledUsage, facts: UsageFacts): InvoiceLineDraft {
  const { meter, period, quantity } = usage;
  return {
    kind: "usage",
    name: meter.name,
    description: describeUsage(usage, facts.period),
    units: null,
    quantity,
    unitPrice: onePrice(usage),
    amount,
    period: { start: period.start, end: period.end },
    proration: null,
    chargeId: null,
    meterId: meter.id,
    ...accountOf(meter, facts.organisation),
  };
}

/** The one price of all that the line bills; null where several meet, or a step is priced as a whole. decisions §3 "Invoice". */
function onePrice({ meter, quantity, before, priced }: OpenUsage): Decimal | null {
  // What rounded to zero before is in the amount, and not in the quantity.
  if (!equals(before, priced)) return null;
  const { parts } = pricingModels[meter.type];
  const met = [...parts(meter, add(before, quantity)), ...parts(meter, priced)];
  const [first] = met;
  if (first === undefined || met.some((part) => part.quantity === null)) return null;
  return met.every(({ price }) => equals(price, first.price)) ? first.price : null;
}

function usageCredit({ usage, amount }: BilledUsage, facts: UsageFacts): CreditNoteLineDraft {
  const { meter, period } = usage;
  return {
    name: meter.name,
    description: describeUsage(usage, facts.period),
    amount: negate(amount),
    effectiveDate: period.start,
    meterId: meter.id,
    ...accountOf(meter, facts.organisation),
  };
}

/**
 * `1500 call: 1000 × 0.0200 + 500 × 0.0100`; of usage that is billed after its period: `500 call in the period from 2026-05-01: 500 ×
 * 0.0200`, and where some of that was billed before: `500 call more in the period from 2026-05-01: 1000 × 0.0200 + 500 × 0.0100 for 1500,
 * less 1000 × 0.0200 for 1000`.
 */
function describeUsage({ meter, period, quantity, before, priced }: OpenUsage, ending: Period): string {
  const arithmetic = (of: Decimal) => describeParts(pricingModels[meter.type].parts(meter, of));
  const reported = `${formatShort(quantity)} ${meter.unitLabel}`;
  const place = ` in the period from ${period.start}`;
  if (isZero(before)) return `${reported}${period.index === ending.index ? "" : place}: ${arithmetic(quantity)}`;
  const whole = add(before, quantity);
  const less = isZero(priced) ? "" : `, less ${arithmetic(priced)} for ${formatShort(priced)}`;
  return `${reported} more${place}: ${arithmetic(whole)} for ${formatShort(whole)}${less}`;
}
