/**
 * Prices usage: each meter's quantity of each period over its whole sum, less what was billed of
 * it before (MONEY-7).
 */

import type { Period } from "../calendar/period.ts";
import { describeParts, pricingModels } from "../catalogue/pricing/index.ts";
import { placesOf, reckon } from "../explanation/reckon.ts";
import { rules } from "../explanation/rules.ts";
import type { BillingState } from "../model/billing-state.ts";
import type { CreditNoteDraft, CreditNoteLineDraft } from "../model/credit-note.ts";
import type { InvoiceDraft, InvoiceLineDraft } from "../model/invoice.ts";
import type { BilledUsage, OpenUsage } from "../model/usage.ts";
import {
  add,
  type Decimal,
  equals,
  formatShort,
  isNegative,
  isZero,
  negate,
  ZERO,
} from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import { accountOf, bareLine, draftCreditNote, draftInvoice, tooMuch } from "./invoice-lines.ts";
import { factsOfUsage } from "./line-facts.ts";

/** Usage with the line that bills it. */
interface UsageLine {
  readonly billed: BilledUsage;
  readonly line: InvoiceLineDraft;
}

/**
 * The charges of a bill: `lines` for an invoice, also those of zero; `creditNote` for amounts below
 * zero; `unpriced` is never billed. `isCharged`: a line is above zero, so that an invoice is
 * issued.
 */
export interface UsageCharges {
  readonly lines: readonly UsageLine[];
  readonly credited: readonly BilledUsage[];
  readonly creditNote: CreditNoteDraft | null;
  readonly unpriced: readonly BilledUsage[];
  readonly isCharged: boolean;
}

/**
 * The facts that usage is billed by: default account and tax type, the subscription of the
 * documents, and the period whose end they bill. Lines of another period name it.
 */
export type UsageChargeFacts = Pick<BillingState, "organisation" | "subscription" | "today"> & {
  readonly period: Period;
};

/**
 * Prices usage, oldest period first: V(whole sum) − V(priced before), rounded once to the currency.
 * An amount that rounds to zero leaves the priced quantity, so that nothing is lost to rounding.
 * Usage takes no discount (MONEY-4, MONEY-7). Refuses `invalid_state` if the amount exceeds what a
 * document can hold: some usage must be voided.
 */
export function chargeUsage(facts: UsageChargeFacts, usage: readonly OpenUsage[]): UsageCharges {
  const priced = priceInOrder(usage, facts.subscription.currency);
  const unpriced = priced.filter(({ usage: { setupMode } }) => setupMode);
  const charged = priced.filter((one) => !one.usage.setupMode && !isNegative(one.amount));
  const credited = priced.filter((one) => !one.usage.setupMode && isNegative(one.amount));
  checkAmounts(charged);
  checkAmounts(credited);
  const credits = credited.map((one) => usageCredit(one, facts));
  return {
    lines: charged.map((billed) => ({ billed, line: usageLine(billed, facts) })),
    credited,
    creditNote:
      credits.length === 0 ? null : draftCreditNote(facts.subscription, credits, facts.today),
    unpriced,
    isCharged: charged.some(({ amount }) => !isZero(amount)),
  };
}

/**
 * Drafts an invoice of type `usage` with these lines, for the period that ended or ends with it
 * (USAGE-9).
 */
export function usageInvoice(facts: UsageChargeFacts, lines: readonly UsageLine[]): InvoiceDraft {
  const { subscription, organisation, period, today } = facts;
  const order = { type: "usage", period, lines: lines.map(({ line }) => line), today } as const;
  return draftInvoice(subscription, organisation, order);
}

/**
 * Prices usage, oldest bill first. Two open bills may have usage of one period and meter: the later
 * one continues from the earlier (MONEY-7).
 */
export function priceInOrder(
  usage: readonly OpenUsage[],
  currency: string,
): readonly BilledUsage[] {
  const reached = new Map<string, { before: Decimal; priced: Decimal }>();
  return usage.toSorted(byBillAndPeriod).map((one) => {
    const key = `${one.period.index} ${one.meter.id}`;
    const billed = priceUsage({ ...one, ...reached.get(key) }, currency);
    reached.set(key, { before: add(billed.usage.before, one.quantity), priced: billed.priced });
    return billed;
  });
}

function byBillAndPeriod(left: OpenUsage, right: OpenUsage): number {
  return left.bill - right.bill || left.period.index - right.period.index;
}

function priceUsage(usage: OpenUsage, currency: string): BilledUsage {
  if (usage.setupMode) return { usage, amount: ZERO, priced: usage.priced };
  const { meter, quantity, before, priced } = usage;
  const sheet = { ...meter, freeUnits: 0 };
  const inputs = { sheet, quantity, before, priced, places: placesOf(currency) };
  const amount = reckon(rules["usage/1"], inputs);
  return { usage, amount, priced: isZero(amount) ? priced : add(before, quantity) };
}

/** Refuses usage lines of one sign that one document cannot hold, without its other lines. */
function checkAmounts(billed: readonly BilledUsage[]): void {
  const why = tooMuch(
    billed.map(({ usage: { meter }, amount }) => ({
      name: meter.name,
      amount: isNegative(amount) ? negate(amount) : amount,
      meterId: meter.id,
    })),
  );
  if (why !== null) throw new Refusal("invalid_state", why);
}

/**
 * Returns the line of usage: its quantity and arithmetic. Late usage also names its period and what
 * was billed of that before (USAGE-10, OBJECT-10).
 */
function usageLine({ usage, amount }: BilledUsage, facts: UsageChargeFacts): InvoiceLineDraft {
  const { meter, period, quantity } = usage;
  return {
    ...bareLine,
    kind: "usage",
    name: meter.name,
    description: describeUsage(usage, facts.period),
    quantity,
    unitPrice: onePrice(usage),
    amount,
    facts: factsOfUsage(facts.subscription.planId, usage),
    period: { start: period.start, end: period.end },
    meterId: meter.id,
    ...accountOf(meter, facts.organisation),
  };
}

/**
 * Returns the one price of everything that the line bills. Null if several prices meet or a step is
 * priced as a whole (OBJECT-10).
 */
function onePrice({ meter, quantity, before, priced }: OpenUsage): Decimal | null {
  // An earlier amount that rounded to zero is in this amount, but not in its quantity.
  if (!equals(before, priced)) return null;
  const { parts } = pricingModels[meter.type];
  const met = [...parts(meter, add(before, quantity)), ...parts(meter, priced)];
  const [first] = met;
  if (first === undefined || met.some((part) => part.quantity === null)) return null;
  return met.every(({ price }) => equals(price, first.price)) ? first.price : null;
}

function usageCredit({ usage, amount }: BilledUsage, facts: UsageChargeFacts): CreditNoteLineDraft {
  const { meter, period } = usage;
  return {
    name: meter.name,
    description: describeUsage(usage, facts.period),
    amount: negate(amount),
    facts: factsOfUsage(facts.subscription.planId, usage),
    effectiveDate: period.start,
    meterId: meter.id,
    ...accountOf(meter, facts.organisation),
  };
}

/**
 * Describes usage: `1500 call: 1000 × 0.0200 + 500 × 0.0100`. Usage billed after its period: `500
 * call in the period from 2026-05-01: 500 × 0.0200`. If some of that period was billed before: `500
 * call more in the period from 2026-05-01: 1000 × 0.0200 + 500 × 0.0100 for 1500, less 1000 ×
 * 0.0200 for 1000`.
 */
function describeUsage(
  { meter, period, quantity, before, priced }: OpenUsage,
  closing: Period,
): string {
  const arithmetic = (of: Decimal) => describeParts(pricingModels[meter.type].parts(meter, of));
  const reported = `${formatShort(quantity)} ${meter.unitLabel}`;
  const place = ` in the period from ${period.start}`;
  if (isZero(before))
    return `${reported}${period.index === closing.index ? "" : place}: ${arithmetic(quantity)}`;
  const whole = add(before, quantity);
  const less = isZero(priced) ? "" : `, less ${arithmetic(priced)} for ${formatShort(priced)}`;
  return `${reported} more${place}: ${arithmetic(whole)} for ${formatShort(whole)}${less}`;
}
