/**
 * Decides what happens to an amendment whose invoice can no longer be edited, because it was paid,
 * credited, changed, removed or lost meanwhile. What it would have billed is on separate documents
 * (UNITS-8, UNITS-9).
 */
import { assert } from "../assert.ts";
import { billedByOf } from "../billing/billed-by.ts";
import {
  creditLine,
  draftCreditNote,
  draftInvoice,
  proratedCharge,
  prorationLine,
} from "../billing/invoice-lines.ts";
import { type Proration, prorate } from "../billing/proration.ts";
import { type Period, periodAt } from "../calendar/period.ts";
import type { BillingState, PeriodState } from "../model/billing-state.ts";
import type { CreditNoteDraft } from "../model/credit-note.ts";
import type { InvoiceDraft } from "../model/invoice.ts";
import { add, type Decimal, isNegative, isZero, negate, ZERO } from "../money/decimal.ts";

/** A re-pricing of an invoice's plan line that will never be in the ledger. */
export interface ClosedRepricing {
  /** The units that the invoice bills: the billed units of its period before the re-pricing. */
  readonly fromUnits: number;
  /** What set them, as the period had it then; absent if it is not known. */
  readonly billedBy?: string | null;
  /** The units that the re-pricing was to bill. */
  readonly toUnits: number;
  /** The change that requested it; absent if it is not known. */
  readonly changeId?: string;
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
  /** Whether the ledger still has the invoice, neither voided nor deleted. */
  readonly stands: boolean;
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
 * Bills a closed amendment. What the re-pricing would have changed over all days of the period is a
 * charge or, below zero, a credit (MONEY-5, MONEY-6). An invoice that was removed or lost bills
 * nothing that a credit could take back: the period then counts as billed for the invoice's units.
 */
export function billClosedAmendment(
  facts: BillingState,
  { period, added, isUsage, repricing, stands }: ClosedAmendment,
): ClosedDecision {
  const { plan, subscription, organisation, today } = facts;
  const lacking = repricing === null ? null : lackingOf(facts, period, repricing, stands);
  const charge = lacking && proratedCharge(plan, subscription, lacking, period);
  const isCredit = charge !== null && isNegative(charge.amount);
  const lines = charge === null || isCredit ? [] : [prorationLine(plan, charge, organisation)];
  // For a period that is still to come, the invoice belongs to the current period, like a separate
  // change.
  const billedPeriod = period.index < facts.period.index ? period : facts.period;
  const isAllUsage = isUsage && lines.length === 0 && period.index > 0;
  const draft = isAllUsage
    ? draftInvoice(subscription, organisation, {
        type: "usage",
        period: periodBefore(facts, period),
        lines,
        today,
      })
    : draftInvoice(subscription, organisation, {
        type: "change",
        period: billedPeriod,
        lines,
        today,
      });
  const invoice =
    added === null && lines.length === 0
      ? null
      : { ...draft, subtotal: add(draft.subtotal, added ?? ZERO) };
  const credit = isCredit && { ...charge, amount: negate(charge.amount) };
  const creditNote = credit
    ? draftCreditNote(subscription, [creditLine(plan, credit, organisation)], today)
    : null;
  const isBilled = invoice !== null || creditNote !== null;
  return {
    period: repricing === null ? period : after(period, repricing, lacking, isBilled),
    invoice,
    creditNote,
  };
}

function periodBefore({ subscription }: BillingState, { index }: PeriodState): Period {
  const { startDate, billingDay, interval } = subscription;
  return periodAt({ start: startDate, billingDay }, interval, index - 1);
}

/**
 * Returns what the period's documents lack for its units, or bill too much (below zero). Null if
 * that rounds to zero.
 */
function lackingOf(
  { plan, subscription }: BillingState,
  period: PeriodState,
  { fromUnits, billedBy = null, toUnits, changeId }: ClosedRepricing,
  stands: boolean,
): Proration | null {
  const step = { fromUnits, toUnits, period, effectiveDate: period.start, changeId };
  const by = billedByOf({ billedUnits: fromUnits, billedBy });
  const proration = prorate(plan, subscription, { ...step, billedBy: by });
  const isNothing = isZero(proration.amount) || (isNegative(proration.amount) && !stands);
  return isNothing ? null : proration;
}

function after(
  period: PeriodState,
  { fromUnits, billedBy: before = null, toUnits }: ClosedRepricing,
  lacking: Proration | null,
  isBilled: boolean,
): PeriodState {
  const { billedUnits, billedSeparately } = period;
  assert(billedUnits !== null, "a plan with units has billed units");
  const kept = billedUnits === toUnits ? fromUnits : Math.max(billedUnits, fromUnits);
  return {
    ...period,
    ...(lacking === null && kept !== billedUnits && { billedUnits: kept, billedBy: before }),
    billedSeparately: billedSeparately || isBilled,
  };
}
