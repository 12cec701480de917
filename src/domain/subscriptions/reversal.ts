/**
 * Reverses what documents other than the renewal invoice bill of a next period that does not begin:
 * `separate` changes and their volume credits. One document reverses the sum of all of them
 * (END-7).
 */
import { strict as assert } from "node:assert";
import { accountOf, draftCreditNote, draftInvoice } from "../billing/invoice-lines.ts";
import type { DueInvoice } from "../billing/renewal-usage.ts";
import { daysInPeriod } from "../calendar/period.ts";
import type { BillingState } from "../model/billing-state.ts";
import type { CreditNoteDraft, CreditNoteLineDraft } from "../model/credit-note.ts";
import type { InvoiceLineDraft } from "../model/invoice.ts";
import {
  add,
  compare,
  type Decimal,
  equals,
  formatDecimal,
  isNegative,
  isZero,
  negate,
  subtract,
  sum,
  ZERO,
} from "../money/decimal.ts";

/**
 * A line of the next period. `amount` is as billed, below zero on a credit note. `invoiceId` is
 * null on a credit note.
 */
export interface NextPeriodLine {
  readonly invoiceId: string | null;
  readonly number: string;
  readonly name: string;
  readonly description: string;
  readonly amount: Decimal;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}

/**
 * The lines of the next period on documents that are not removed, oldest first, without the renewal
 * invoice's own. `renewalUnits` are those of its plan line, null without units. Earlier reversals
 * are among the lines, so that nothing is reversed twice.
 */
export interface NextPeriodLines {
  readonly lines: readonly NextPeriodLine[];
  readonly renewalUnits: number | null;
}

/** The value if no document other than the renewal invoice bills the next period. */
export const noNextPeriodLines: NextPeriodLines = { lines: [], renewalUnits: null };

/** The document that brings the sum of the lines to zero. At most one of the two is set. */
interface Reversal {
  readonly invoice: DueInvoice | null;
  readonly creditNote: CreditNoteDraft | null;
}

/** The facts that a reversal is decided by. */
type ReversalFacts = Pick<
  BillingState,
  "organisation" | "subscription" | "plan" | "period" | "nextPeriod" | "today"
>;

/** Whether there is something to reverse: the sum of the lines is not zero. */
export function isReversible({ lines }: NextPeriodLines): boolean {
  return !isZero(sumOf(lines));
}

/**
 * Decides the reversal. A sum above zero is a credit note, one below zero an invoice of type
 * `change`. Amounts are those billed: nothing is priced again (END-7).
 */
export function decideReversal(facts: ReversalFacts, next: NextPeriodLines): Reversal {
  const total = sumOf(next.lines);
  if (isZero(total)) return { invoice: null, creditNote: null };
  const parts = openParts(next.lines, isNegative(total));
  if (!isNegative(total)) {
    const lines = parts.map((part) => creditOf(facts, part));
    return { invoice: null, creditNote: draftCreditNote(facts.subscription, lines, facts.today) };
  }
  const { subscription, organisation, period, today } = facts;
  const lines = [chargeOf(facts, parts, next.renewalUnits)];
  const draft = draftInvoice(subscription, organisation, { type: "change", period, lines, today });
  return { invoice: { draft, deferredIds: [], usage: [] }, creditNote: null };
}

/** The part of a line that is still open, above zero. */
interface OpenPart {
  readonly line: NextPeriodLine;
  readonly open: Decimal;
}

/**
 * Returns the lines with the sign of the sum, less the lines of the other sign, which reduce the
 * oldest lines first.
 */
function openParts(lines: readonly NextPeriodLine[], isCredited: boolean): readonly OpenPart[] {
  const isOfSum = ({ amount }: NextPeriodLine) => isNegative(amount) === isCredited;
  let compensated = size(sumOf(lines.filter((line) => !isOfSum(line))));
  return lines.filter(isOfSum).flatMap((line) => {
    const whole = size(line.amount);
    const taken = compare(compensated, whole) < 0 ? compensated : whole;
    compensated = subtract(compensated, taken);
    const open = subtract(whole, taken);
    return isZero(open) ? [] : [{ line, open }];
  });
}

/**
 * Uses the account and tax type of the billed line. The effective date counts the credit among the
 * lines of the period from now on.
 */
function creditOf(facts: ReversalFacts, { line, open }: OpenPart): CreditNoteLineDraft {
  const { name, revenueAccount, taxType, invoiceId } = line;
  assert(invoiceId !== null, "what is credited stands on an invoice");
  const part = describePart({ line, open });
  return {
    name,
    description: `Reverses ${part} for ${daysOf(facts)}: ${line.description}`,
    amount: open,
    effectiveDate: nextOf(facts).start,
    meterId: null,
    revenueAccount,
    taxType,
    reversedInvoiceId: invoiceId,
  };
}

/**
 * Drafts one proration over the whole period, from the billed units back to those of its renewal
 * invoice.
 */
function chargeOf(
  facts: ReversalFacts,
  parts: readonly OpenPart[],
  renewalUnits: number | null,
): InvoiceLineDraft {
  const { plan, organisation } = facts;
  const { billedUnits, ...period } = nextOf(facts);
  assert(billedUnits !== null, "a plan with units has billed units");
  const days = daysInPeriod(period);
  return {
    kind: "proration",
    name: plan.name,
    description: `Reverses ${parts.map(describePart).join(", ")} for ${daysOf(facts)}`,
    units: null,
    quantity: null,
    unitPrice: null,
    amount: parts.reduce((whole, { open }) => add(whole, open), ZERO),
    period: { start: period.start, end: period.end },
    proration: {
      fromUnits: billedUnits,
      toUnits: renewalUnits ?? billedUnits,
      daysRemaining: days,
      daysInPeriod: days,
    },
    chargeId: null,
    meterId: null,
    ...accountOf(plan, organisation),
  };
}

function describePart({ line, open }: OpenPart): string {
  return equals(open, size(line.amount)) ? line.number : `${formatDecimal(open)} of ${line.number}`;
}

function daysOf(facts: ReversalFacts): string {
  const { start, end } = nextOf(facts);
  return `the period from ${start} to ${end}, which does not begin`;
}

function nextOf({ nextPeriod }: ReversalFacts): NonNullable<ReversalFacts["nextPeriod"]> {
  assert(nextPeriod !== null, "what is billed of the next period has its period");
  return nextPeriod;
}

function sumOf(lines: readonly NextPeriodLine[]): Decimal {
  return sum(lines.map(({ amount }) => amount));
}

function size(amount: Decimal): Decimal {
  return isNegative(amount) ? negate(amount) : amount;
}
