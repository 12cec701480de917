/**
 * Change units: decides the new total and every document that bills it. An amount is issued now,
 * added to a draft, deferred to the renewal, amended into an invoice, or credited.
 */

import { assert } from "../assert.ts";
import { billedFor } from "../billing/billed-by.ts";
import {
  creditLine,
  draftCreditNote,
  draftInvoice,
  planLine,
  proratedCharge,
  prorationLine,
} from "../billing/invoice-lines.ts";
import { takesLines } from "../billing/issued-invoices.ts";
import { withUnits } from "../billing/line-facts.ts";
import type { Proration } from "../billing/proration.ts";
import type { CivilDate } from "../calendar/civil-date.ts";
import type {
  BillingState,
  IssuedInvoice,
  PeriodState,
  ProratedCharge,
} from "../model/billing-state.ts";
import type { CreditNoteDraft, CreditNoteLineDraft } from "../model/credit-note.ts";
import type { InvoiceAmendment, InvoiceDraft, InvoiceLineDraft } from "../model/invoice.ts";
import { isNegative, isZero, negate } from "../money/decimal.ts";
import {
  isAbove,
  type MeasuredChange,
  measureChange,
  prorateFrom,
} from "./change-units-proration.ts";
import {
  checkAccounts,
  checkAmount,
  checkBehaviour,
  checkChangeable,
  checkDeferred,
  checkDocument,
  checkEffectiveDate,
  checkNewUnits,
  checkProration,
  checkRepriced,
  requireFirstInvoice,
  requireRenewalInvoice,
} from "./change-units-rules.ts";

/** How the amount for the rest of the current period is billed (UNITS-12). */
type ProrationBehaviour = "charge_immediately" | "charge_on_renewal";

/** How a change inside the invoice window is billed (UNITS-8, UNITS-9). */
type ChangeDocument = "amend" | "separate";

/**
 * The request after its shapes were checked. An absent member is null. `units` is the new total.
 * `changeId` is the id that the change will have, which its lines name; absent in a preview.
 */
export interface UnitsChangeRequest {
  readonly units: number;
  readonly prorate: boolean;
  readonly behaviour: ProrationBehaviour | null;
  readonly effectiveDate: CivilDate | null;
  readonly document: ChangeDocument | null;
  readonly changeId?: string;
}

/** Everything that a change writes, without ids and numbers. A null document is not touched. */
export interface UnitsDecision {
  readonly units: number;
  /** The current period, and inside the invoice window the next one, after the change. */
  readonly periods: readonly PeriodState[];
  /** A new invoice of type `change`. */
  readonly invoice: InvoiceDraft | null;
  /**
   * The draft that is extended, or the re-priced first invoice of a pending subscription:
   * `change.invoice`.
   */
  readonly joined: InvoiceAmendment | null;
  /** The amended renewal invoice: `change.renewal_invoice`. */
  readonly amended: InvoiceAmendment | null;
  readonly deferred: ProratedCharge | null;
  readonly creditNote: CreditNoteDraft | null;
}

/**
 * Decides the change. What is due for the subscription today was billed before (STATE-2). Refuses
 * in the order of UNITS-11, with `invalid_state` (another operation runs) after `setup_mode_on`,
 * and last `invalid_parameter` (more than one document can hold).
 */
export function decideUnitsChange(facts: BillingState, request: UnitsChangeRequest): UnitsDecision {
  checkChangeable(facts);
  checkNewUnits(facts, request);
  checkEffectiveDate(facts, request);
  const change = measureChange(facts, request);
  checkBehaviour(facts, request, change);
  checkDocument(request, change);
  checkProration(facts, request, change);
  const amended = request.document === "amend" ? requireRenewalInvoice(facts, change) : null;
  const first = facts.subscription.status === "pending" ? requireFirstInvoice(facts) : null;
  checkAccounts(facts);
  if (first !== null) return repriceFirst(facts, request, first);
  const current = billCurrent(facts, request, change);
  if (!change.isNextInvoiced) return billOutsideWindow(facts, request, current);
  return amended === null
    ? billSeparately(facts, request, current)
    : amendRenewal(facts, request, current, amended);
}

/** What a change of units bills in a period, and the period afterwards. */
interface BilledChange {
  readonly state: PeriodState;
  readonly charge: ProratedCharge | null;
  /** The credit, with its amount above 0. */
  readonly credit: ProratedCharge | null;
}

/**
 * Bills the current period. A charge or credit sets the billed units to the new total. An amount
 * that rounds to zero leaves them, so that nothing is lost to rounding. An unprorated rise above
 * them closes proration for the period (UNITS-1, UNITS-2, UNITS-4).
 */
function billCurrent(
  facts: BillingState,
  request: UnitsChangeRequest,
  change: MeasuredChange,
): BilledChange {
  const { period } = facts;
  const { proration, isAboveBilled } = change;
  if (proration === null || isZero(proration.amount)) {
    const prorationClosed = period.prorationClosed || (isAboveBilled && !request.prorate);
    return { state: { ...period, prorationClosed }, charge: null, credit: null };
  }
  return bill(facts, request, period, proration);
}

/** Returns a charge or a credit, and the period with the new total as its billed units. */
function bill(
  { plan, subscription }: BillingState,
  { units, changeId }: Pick<UnitsChangeRequest, "units" | "changeId">,
  period: PeriodState,
  proration: Proration,
): BilledChange {
  const line = proratedCharge(plan, subscription, proration, period);
  const state = { ...period, ...billedFor(units, changeId) };
  return isNegative(proration.amount)
    ? { state, charge: null, credit: { ...line, amount: negate(proration.amount) } }
    : { state, charge: line, credit: null };
}

/**
 * Outside the invoice window: issues the charge now, adds it to the newest invoice of the period
 * while that is a draft and means our amounts, or defers it (UNITS-10, LEDGER-20).
 */
function billOutsideWindow(
  facts: BillingState,
  request: UnitsChangeRequest,
  current: BilledChange,
): UnitsDecision {
  const { plan, organisation, period, invoices } = facts;
  const { charge } = current;
  const decision = {
    ...nothingIssued(facts, request),
    periods: [current.state],
    creditNote: credit(facts, [current.credit]),
  };
  const isDeferred = request.behaviour === "charge_on_renewal";
  checkDeferred(facts, request, isDeferred ? charge : null);
  if (charge === null) return decision;
  if (isDeferred) return { ...decision, deferred: charge };
  const line = prorationLine(plan, charge, organisation);
  const newest = invoices.find(
    ({ type, periodIndex }) => type !== "usage" && periodIndex === period.index,
  );
  if (newest !== undefined && takesLines(newest, [line])) {
    const joined = { invoiceId: newest.id, planLine: null, added: [line], onlyDraft: true };
    return { ...decision, joined };
  }
  return { ...decision, invoice: issue(facts, [line]) };
}

/**
 * With `amend`: re-prices the renewal invoice's plan line, up or down, and adds the current
 * period's charge (UNITS-8).
 */
function amendRenewal(
  facts: BillingState,
  request: UnitsChangeRequest,
  current: BilledChange,
  renewalInvoice: IssuedInvoice,
): UnitsDecision {
  const { plan, organisation, subscription, nextPeriod } = facts;
  assert(nextPeriod !== null, "a renewal invoice bills the next period");
  const amended = {
    invoiceId: renewalInvoice.id,
    planLine: planLine(plan, withUnits(subscription, request), nextPeriod, organisation),
    added: current.charge === null ? [] : [prorationLine(plan, current.charge, organisation)],
    onlyDraft: false,
  };
  checkRepriced(facts, renewalInvoice, nextPeriod, amended);
  return {
    ...nothingIssued(facts, request),
    periods: [current.state, { ...nextPeriod, ...billedFor(request.units, request.changeId) }],
    amended,
    creditNote: credit(facts, [current.credit]),
  };
}

/**
 * With `separate`: bills the current period's charge and the next period's whole difference on one
 * invoice. What is below zero goes on a credit note, and the renewal invoice stays. A decrease
 * issues nothing (UNITS-9).
 */
function billSeparately(
  facts: BillingState,
  request: UnitsChangeRequest,
  current: BilledChange,
): UnitsDecision {
  const { plan, organisation, nextPeriod } = facts;
  assert(nextPeriod !== null, "a renewal invoice bills the next period");
  const next = billNext(facts, request, nextPeriod);
  const lines = [current.charge, next.charge].flatMap((charge) =>
    charge === null ? [] : [prorationLine(plan, charge, organisation)],
  );
  const creditNote = credit(facts, [current.credit, next.credit]);
  const isBilled = lines.length > 0 || creditNote !== null;
  return {
    ...nothingIssued(facts, request),
    periods: [
      current.state,
      { ...next.state, billedSeparately: nextPeriod.billedSeparately || isBilled },
    ],
    invoice: lines.length === 0 ? null : issue(facts, lines),
    creditNote,
  };
}

/**
 * V(to) − V(billed) of the next period over all its days, if the new total is no decrease and above
 * the billed units (UNITS-9).
 */
function billNext(
  facts: BillingState,
  request: Pick<UnitsChangeRequest, "units" | "changeId">,
  nextPeriod: PeriodState,
): BilledChange {
  const nothing = { state: nextPeriod, charge: null, credit: null };
  if (!isAbove(nextPeriod, facts, request)) return nothing;
  const proration = prorateFrom(nextPeriod.start, nextPeriod, facts, request);
  return isZero(proration.amount) ? nothing : bill(facts, request, nextPeriod, proration);
}

/** While pending: re-prices the first invoice's plan line, up or down (STATE-4). */
function repriceFirst(
  facts: BillingState,
  request: UnitsChangeRequest,
  first: IssuedInvoice,
): UnitsDecision {
  const { plan, organisation, subscription, period } = facts;
  const line = planLine(plan, withUnits(subscription, request), period, organisation);
  const joined = { invoiceId: first.id, planLine: line, added: [], onlyDraft: false };
  checkRepriced(facts, first, period, joined);
  return {
    ...nothingIssued(facts, request),
    periods: [{ ...period, ...billedFor(request.units, request.changeId) }],
    joined,
  };
}

function nothingIssued({ period }: BillingState, { units }: UnitsChangeRequest): UnitsDecision {
  return {
    units,
    periods: [period],
    invoice: null,
    joined: null,
    amended: null,
    deferred: null,
    creditNote: null,
  };
}

function issue(
  { subscription, organisation, period, today }: BillingState,
  lines: readonly InvoiceLineDraft[],
): InvoiceDraft {
  checkAmount(lines);
  return draftInvoice(subscription, organisation, { type: "change", period, lines, today });
}

function credit(
  { plan, subscription, organisation, today }: BillingState,
  credits: readonly (ProratedCharge | null)[],
): CreditNoteDraft | null {
  const lines: readonly CreditNoteLineDraft[] = credits.flatMap((one) =>
    one === null ? [] : [creditLine(plan, one, organisation)],
  );
  checkAmount(lines);
  return lines.length === 0 ? null : draftCreditNote(subscription, lines, today);
}
