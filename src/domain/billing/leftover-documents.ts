/** Drafts the documents that put right what faults of earlier versions left (ADMIN-16). */
import { daysInPeriod, type Period } from "../calendar/period.ts";
import type { PriceTerms } from "../catalogue/pricing/index.ts";
import type { BillingState } from "../model/billing-state.ts";
import type { CreditNoteDraft, CreditNoteLineDraft } from "../model/credit-note.ts";
import type { InvoiceDraft } from "../model/invoice.ts";
import { type Decimal, formatShort } from "../money/decimal.ts";
import {
  bareLine,
  draftCreditNote,
  draftInvoice,
  proratedCharge,
  prorationLine,
} from "./invoice-lines.ts";
import type { SourcedPlan } from "./line-facts.ts";
import { type Proration, prorate } from "./proration.ts";

/** What a document of an end took back of a document that the ledger does not have. */
export interface WrongReversal {
  /** The id of the end's line. */
  readonly lineId: string;
  /** The number of the end's document, and of the one that it takes back. */
  readonly number: string;
  readonly reversed: string;
  readonly name: string;
  readonly amount: Decimal;
  /** The period that did not begin, and its billed units. */
  readonly period: Period;
  readonly billedUnits: number;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}

type Facts = Pick<BillingState, "organisation" | "subscription" | "period" | "today">;

/** Drafts the invoice that charges a credit of an end back. */
export function chargeBack(facts: Facts, wrong: WrongReversal): InvoiceDraft {
  const { lineId, name, amount, period, billedUnits, revenueAccount, taxType } = wrong;
  const days = daysInPeriod(period);
  const line = {
    ...bareLine,
    kind: "proration",
    name,
    description: describe(wrong, "Charges"),
    amount,
    facts: { r: "reversal_charge/1", y: [], o: [[formatShort(amount), lineId]] },
    period: { start: period.start, end: period.end },
    proration: {
      fromUnits: billedUnits,
      toUnits: billedUnits,
      daysRemaining: days,
      daysInPeriod: days,
    },
    revenueAccount,
    taxType,
  } as const;
  const order = {
    type: "change",
    period: facts.period,
    lines: [line],
    today: facts.today,
  } as const;
  return draftInvoice(facts.subscription, facts.organisation, order);
}

/** Drafts the credit note that credits a charge of an end back, first to its own invoice. */
export function creditBack(facts: Facts, wrong: WrongReversal, invoiceId: string): CreditNoteDraft {
  const { lineId, name, amount, period, revenueAccount, taxType } = wrong;
  const line: CreditNoteLineDraft = {
    name,
    description: describe(wrong, "Credits"),
    amount,
    facts: { r: "reversal_credit/1", l: [formatShort(amount), lineId], y: [], o: [] },
    effectiveDate: period.start,
    meterId: null,
    reversedInvoiceId: invoiceId,
    revenueAccount,
    taxType,
  };
  return draftCreditNote(facts.subscription, [line], facts.today);
}

/** An increase of units that nothing bills in a period. */
export interface UnbilledIncrease {
  readonly period: Period;
  readonly fromUnits: number;
  readonly toUnits: number;
}

/** Computes what the increase costs over all days of its period, as a separate change (UNITS-9). */
export function wholeIncrease(
  plan: SourcedPlan,
  terms: Omit<PriceTerms, "units">,
  { period, fromUnits, toUnits }: UnbilledIncrease,
): Proration {
  return prorate(plan, terms, { fromUnits, toUnits, period, effectiveDate: period.start });
}

/** Drafts the invoice that bills the increase. */
export function billIncrease(
  { plan, ...facts }: Facts & Pick<BillingState, "plan">,
  increase: UnbilledIncrease,
): InvoiceDraft {
  const { subscription, organisation, period, today } = facts;
  const proration = wholeIncrease(plan, subscription, increase);
  const charge = proratedCharge(plan, subscription, proration, increase.period);
  const lines = [prorationLine(plan, charge, organisation)];
  return draftInvoice(subscription, organisation, { type: "change", period, lines, today });
}

function describe({ number, reversed }: WrongReversal, verb: string): string {
  return `${verb} ${number} back, which reversed ${reversed}: the ledger does not have ${reversed}`;
}
