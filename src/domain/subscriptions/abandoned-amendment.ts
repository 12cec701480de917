/**
 * What becomes of an amendment that its invoice takes no more (it was paid, credited, removed or lost meanwhile): it is billed as a
 * separate change would have been. Spec: Change units, rule 7; decisions §6.
 */
import { strict as assert } from "node:assert";
import type { CreditNoteDraft } from "../billing/credit-note.ts";
import type { InvoiceDraft } from "../billing/invoice.ts";
import { creditLine, draftCreditNote, draftInvoice, proratedCharge, prorationLine } from "../billing/invoice-lines.ts";
import { type Proration, type ProrationParts, prorate } from "../billing/proration.ts";
import { addDays } from "../calendar/civil-date.ts";
import { daysInPeriod, type Period, periodAt } from "../calendar/period.ts";
import { add, type Decimal, isNegative, isZero, negate, ZERO } from "../money/decimal.ts";
import type { BillingState, PeriodState } from "./billing-state.ts";

/** The part of the days of a period from one number of units to another that a charge has billed. */
export type ChargedUnits = Pick<ProrationParts, "fromUnits" | "toUnits" | "daysRemaining">;

/** A re-pricing of an invoice's plan line that will never be in the ledger. */
export interface ClosedRepricing {
  /** What the invoice bills there: the billed units of its period from before. */
  readonly fromUnits: number;
  /** The units that it was to bill. */
  readonly toUnits: number;
  /** What has been charged of its period above these since, by rising units. */
  readonly charged: readonly ChargedUnits[];
}

/** An amendment that its invoice takes no more. */
export interface ClosedAmendment {
  /** The period of the invoice, with what it counts as billed for now. */
  readonly period: PeriodState;
  /** The sum of the lines that were to be added; null where there are none. */
  readonly added: Decimal | null;
  /** All of these bill usage. */
  readonly isUsage: boolean;
  /** Null where there is none, or where it stays to be sent. */
  readonly repricing: ClosedRepricing | null;
}

/**
 * What is then written: the invoice's period as it is afterwards, an invoice of type `change` that takes the lines which were to be
 * added (its subtotal counts them) before its own, and a credit note. Where all of it is usage, the invoice is of type `usage`, of the
 * period before, as it would have been without the draft.
 */
export interface ClosedDecision {
  readonly period: PeriodState;
  readonly invoice: InvoiceDraft | null;
  readonly creditNote: CreditNoteDraft | null;
}

/**
 * The units that were to be billed, less what the invoice bills, over all days of its period: above zero a charge, below zero a
 * credit. Where they are fewer than it bills, nothing is, and it counts as billed for what it bills: what has been charged of these
 * units a second time since is given back. decisions §§5 and 6.
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
  // Of a period that is still to come it is the current one's, as a separate change is.
  const own = period.index < facts.period.index ? period : facts.period;
  const isAllUsage = isUsage && lines.length === 0 && period.index > 0;
  const draft = isAllUsage
    ? draftInvoice(subscription, organisation, { type: "usage", period: periodBefore(facts, period), lines, today })
    : draftInvoice(subscription, organisation, { type: "change", period: own, lines, today });
  const invoice =
    added === null && lines.length === 0 ? null : { ...draft, subtotal: add(draft.subtotal, added ?? ZERO) };
  const creditNote = credits.length === 0 ? null : draftCreditNote(subscription, credits, today);
  const isBilled = invoice !== null || creditNote !== null;
  return { period: repricing === null ? period : after(period, repricing, missing, isBilled), invoice, creditNote };
}

function periodBefore({ subscription }: BillingState, { index }: PeriodState): Period {
  const { startDate, billingDay, interval } = subscription;
  return periodAt({ start: startDate, billingDay }, interval, index - 1);
}

/** What the documents of the period lack of its units, or have too much (below zero). What rounds to zero raises nothing. */
function missingOf(facts: BillingState, period: PeriodState, repricing: ClosedRepricing): readonly Proration[] {
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
          .map((step) => between(Math.min(step.toUnits, fromUnits), step.fromUnits, step.daysRemaining));
  return all.filter(({ amount }) => !isZero(amount));
}

/** How the billed units have risen since. What no charge tells of was a credit, which is counted with all days of the period. */
function stepsSince(period: PeriodState, { toUnits, charged }: ClosedRepricing): readonly ChargedUnits[] {
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
