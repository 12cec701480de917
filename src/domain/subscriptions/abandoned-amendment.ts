/**
 * Decides what happens to an amendment whose invoice can no longer be edited, because it was paid,
 * credited, removed or lost meanwhile. It is billed as a `separate` change would have been
 * (UNITS-8, UNITS-9).
 */
import { strict as assert } from "node:assert";
import {
  creditLine,
  draftCreditNote,
  draftInvoice,
  proratedCharge,
  prorationLine,
} from "../billing/invoice-lines.ts";
import { type Proration, prorate } from "../billing/proration.ts";
import { addDays } from "../calendar/civil-date.ts";
import { daysInPeriod, type Period, periodAt } from "../calendar/period.ts";
import type { BillingState, PeriodState } from "../model/billing-state.ts";
import type { CreditNoteDraft } from "../model/credit-note.ts";
import type { InvoiceDraft, ProrationParts } from "../model/invoice.ts";
import { add, type Decimal, isNegative, isZero, negate, ZERO } from "../money/decimal.ts";

/**
 * The step from one number of units to another that a charge billed, with the days it was billed
 * for.
 */
export type ChargedUnits = Pick<ProrationParts, "fromUnits" | "toUnits" | "daysRemaining">;

/** A re-pricing of an invoice's plan line that will never be in the ledger. */
export interface ClosedRepricing {
  /** The units that the invoice bills: the billed units of its period before the re-pricing. */
  readonly fromUnits: number;
  /** The units that the re-pricing was to bill. */
  readonly toUnits: number;
  /** What charges have billed of the period above `toUnits` since, by rising units. */
  readonly charged: readonly ChargedUnits[];
}

/** An amendment that its invoice can no longer take. */
export interface ClosedAmendment {
  /** The period of the invoice, with its present billed units. */
  readonly period: PeriodState;
  /** The sum of the lines that were to be added; null if there are none. */
  readonly added: Decimal | null;
  /** Whether all added lines bill usage. */
  readonly isUsage: boolean;
  /** Null if there is none, or if it is still to be sent. */
  readonly repricing: ClosedRepricing | null;
}

/**
 * The result to write: the invoice's period afterwards, an invoice and a credit note. An invoice of
 * type `change` takes the lines that were to be added before its own, and its subtotal counts them.
 * If all of it is usage, the invoice has type `usage` and the previous period, as it would have
 * without the draft.
 */
export interface ClosedDecision {
  readonly period: PeriodState;
  readonly invoice: InvoiceDraft | null;
  readonly creditNote: CreditNoteDraft | null;
}

/**
 * Bills a closed amendment. Above the invoice's units, the difference over all days of its period
 * is a charge or, below zero, a credit. Below them nothing is billed and the period counts as
 * billed for the invoice's units. Units that later charges billed a second time are then credited
 * (MONEY-5, MONEY-6).
 */
export function billClosedAmendment(
  facts: BillingState,
  { period, added, isUsage, repricing }: ClosedAmendment,
): ClosedDecision {
  const { plan, subscription, organisation, today } = facts;
  const missing = repricing === null ? [] : missingOf(facts, period, repricing);
  const charged = missing.filter(({ amount }) => !isNegative(amount));
  const credited = missing.filter(({ amount }) => isNegative(amount));
  const lines = charged.map((one) =>
    prorationLine(plan, proratedCharge(plan, subscription, one, period), organisation),
  );
  const credits = credited.map((one) => {
    const charge = proratedCharge(plan, subscription, one, period);
    return creditLine(plan, { ...charge, amount: negate(charge.amount) }, organisation);
  });
  // For a period that is still to come, the invoice belongs to the current period, like a separate
  // change.
  const own = period.index < facts.period.index ? period : facts.period;
  const isAllUsage = isUsage && lines.length === 0 && period.index > 0;
  const draft = isAllUsage
    ? draftInvoice(subscription, organisation, {
        type: "usage",
        period: periodBefore(facts, period),
        lines,
        today,
      })
    : draftInvoice(subscription, organisation, { type: "change", period: own, lines, today });
  const invoice =
    added === null && lines.length === 0
      ? null
      : { ...draft, subtotal: add(draft.subtotal, added ?? ZERO) };
  const creditNote = credits.length === 0 ? null : draftCreditNote(subscription, credits, today);
  const isBilled = invoice !== null || creditNote !== null;
  return {
    period: repricing === null ? period : after(period, repricing, missing, isBilled),
    invoice,
    creditNote,
  };
}

function periodBefore({ subscription }: BillingState, { index }: PeriodState): Period {
  const { startDate, billingDay, interval } = subscription;
  return periodAt({ start: startDate, billingDay }, interval, index - 1);
}

/**
 * Returns what the period's documents lack for its units, or bill too much (below zero). An amount
 * that rounds to zero issues nothing.
 */
function missingOf(
  facts: BillingState,
  period: PeriodState,
  repricing: ClosedRepricing,
): readonly Proration[] {
  const { fromUnits, toUnits } = repricing;
  const between = (fromUnits: number, toUnits: number, days: number): Proration => {
    const effectiveDate = addDays(period.end, -days);
    return prorate(facts.plan, facts.subscription, { fromUnits, toUnits, period, effectiveDate });
  };
  const all =
    fromUnits <= toUnits
      ? [between(fromUnits, toUnits, daysInPeriod(period))]
      : stepsSince(period, repricing)
          .filter((step) => step.fromUnits < fromUnits)
          .map((step) =>
            between(Math.min(step.toUnits, fromUnits), step.fromUnits, step.daysRemaining),
          );
  return all.filter(({ amount }) => !isZero(amount));
}

/**
 * Returns how the billed units have risen since. A rise without a charge was a credit, which counts
 * with all days of the period.
 */
function stepsSince(
  period: PeriodState,
  { toUnits, charged }: ClosedRepricing,
): readonly ChargedUnits[] {
  const { billedUnits } = period;
  assert(billedUnits !== null, "a plan with units has billed units");
  const daysRemaining = daysInPeriod(period);
  const last = { fromUnits: billedUnits, toUnits: billedUnits, daysRemaining };
  return [...charged, last].flatMap((step, index) => {
    const reached = charged[index - 1]?.toUnits ?? toUnits;
    return [{ fromUnits: reached, toUnits: step.fromUnits, daysRemaining }, step].filter(
      (one) => one.fromUnits < one.toUnits,
    );
  });
}

function after(
  period: PeriodState,
  { fromUnits, toUnits }: ClosedRepricing,
  missing: readonly Proration[],
  isBilled: boolean,
): PeriodState {
  const { billedUnits, billedSeparately } = period;
  assert(billedUnits !== null, "a plan with units has billed units");
  const isTakenBack = billedUnits === toUnits && missing.length === 0;
  return {
    ...period,
    billedUnits: isTakenBack ? fromUnits : Math.max(billedUnits, fromUnits),
    billedSeparately: billedSeparately || isBilled,
  };
}
