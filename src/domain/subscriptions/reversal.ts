/**
 * Reverses what documents other than the renewal invoice bill of a next period that does not begin:
 * `separate` changes and their volume credits. One document reverses the sum of all of them
 * (END-7).
 */
import { assert } from "../assert.ts";
import { accountOf, bareLine, draftCreditNote, draftInvoice } from "../billing/invoice-lines.ts";
import type { DueInvoice } from "../billing/renewal-usage.ts";
import { daysInPeriod } from "../calendar/period.ts";
import type { BilledLine, ReversalChargeFacts, ReversalCreditFacts } from "../explanation/facts.ts";
import { amountOf } from "../explanation/named-facts.ts";
import type { BillingState } from "../model/billing-state.ts";
import type { CreditNoteDraft, CreditNoteLineDraft } from "../model/credit-note.ts";
import type { InvoiceLineDraft } from "../model/invoice.ts";
import {
  type Decimal,
  equals,
  formatDecimal,
  formatShort,
  isNegative,
  isZero,
  negate,
  sum,
} from "../money/decimal.ts";

/**
 * A line of the next period. `amount` is as billed, below zero on a credit note. `invoiceId` is
 * null on a credit note. `id` is absent in a preview, whose documents have none.
 */
export interface NextPeriodLine
  extends Pick<InvoiceLineDraft, "name" | "description" | "amount" | "revenueAccount" | "taxType"> {
  readonly id?: string;
  readonly invoiceId: string | null;
  readonly number: string;
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
  const parts = openParts(facts, next.lines, isNegative(total));
  if (!isNegative(total)) {
    const lines = parts.map((part) => creditOf(facts, part));
    return { invoice: null, creditNote: draftCreditNote(facts.subscription, lines, facts.today) };
  }
  const { subscription, organisation, period, today } = facts;
  const lines = [chargeOf(facts, parts, next)];
  const draft = draftInvoice(subscription, organisation, { type: "change", period, lines, today });
  return { invoice: { draft, deferredIds: [], usage: [] }, creditNote: null };
}

/** The part of a line that is still open, above zero, and why. */
interface OpenPart {
  readonly line: NextPeriodLine;
  readonly open: Decimal;
  readonly facts: ReversalCreditFacts;
}

/**
 * Returns the lines with the sign of the sum, less the lines of the other sign, which reduce the
 * oldest lines first.
 */
function openParts(
  { subscription: { currency } }: ReversalFacts,
  lines: readonly NextPeriodLine[],
  isCredited: boolean,
): readonly OpenPart[] {
  const [own, opposite] = bySign(lines, isCredited);
  return own.flatMap((line, index) => {
    const earlier = opposite.length === 0 ? [] : own.slice(0, index);
    const facts: ReversalCreditFacts = {
      r: "reversal_credit/1",
      l: billedLine(line),
      y: earlier.map(billedLine),
      o: opposite.map(billedLine),
    };
    const open = amountOf(facts, currency);
    return isZero(open) ? [] : [{ line, open, facts }];
  });
}

/** Returns the lines of one sign, and those of the other. Zero is no credit. */
function bySign(
  lines: readonly NextPeriodLine[],
  isCredited: boolean,
): readonly [readonly NextPeriodLine[], readonly NextPeriodLine[]] {
  const isOfSign = ({ amount }: NextPeriodLine) => isNegative(amount) === isCredited;
  return [lines.filter(isOfSign), lines.filter((line) => !isOfSign(line))];
}

/** The line as its document shows it, where a credit is above zero. */
function billedLine({ amount, id }: NextPeriodLine): BilledLine {
  const text = formatShort(size(amount));
  return id === undefined ? [text] : [text, id];
}

/**
 * Uses the account and tax type of the billed line. The effective date counts the credit among the
 * lines of the period from now on.
 */
function creditOf(facts: ReversalFacts, part: OpenPart): CreditNoteLineDraft {
  const { line, open } = part;
  const { name, revenueAccount, taxType, invoiceId } = line;
  assert(invoiceId !== null, "what is credited stands on an invoice");
  return {
    name,
    description: `Reverses ${describePart(part)} for ${daysOf(facts)}: ${line.description}`,
    amount: open,
    facts: part.facts,
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
  { lines, renewalUnits }: NextPeriodLines,
): InvoiceLineDraft {
  const { plan, organisation } = facts;
  const [credited, charged] = bySign(lines, true);
  const reversal: ReversalChargeFacts = {
    r: "reversal_charge/1",
    y: charged.map(billedLine),
    o: credited.map(billedLine),
  };
  const { billedUnits, ...period } = nextOf(facts);
  assert(billedUnits !== null, "a plan with units has billed units");
  const days = daysInPeriod(period);
  return {
    ...bareLine,
    kind: "proration",
    name: plan.name,
    description: `Reverses ${parts.map(describePart).join(", ")} for ${daysOf(facts)}`,
    amount: amountOf(reversal, plan.currency),
    facts: reversal,
    period: { start: period.start, end: period.end },
    proration: {
      fromUnits: billedUnits,
      toUnits: renewalUnits ?? billedUnits,
      daysRemaining: days,
      daysInPeriod: days,
    },
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
