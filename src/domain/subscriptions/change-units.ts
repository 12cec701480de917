/**
 * Change units: from what is known of a subscription to the new total and every document that bills it: raised now, joined to a
 * draft, deferred to the renewal, amended, or credited. Spec: POST /v1/subscriptions/{id}/units; decisions §§5 to 7.
 */
import { strict as assert } from "node:assert";
import type { CreditNoteDraft, CreditNoteLineDraft } from "../billing/credit-note.ts";
import type { InvoiceDraft, InvoiceLineDraft } from "../billing/invoice.ts";
import {
  creditLine,
  draftCreditNote,
  draftInvoice,
  type ProratedCharge,
  planLine,
  proratedCharge,
  prorationLine,
} from "../billing/invoice-lines.ts";
import type { Proration } from "../billing/proration.ts";
import type { CivilDate } from "../calendar/civil-date.ts";
import { isNegative, isZero, negate } from "../money/decimal.ts";
import type { BillingState, PeriodState, IssuedInvoice } from "./billing-state.ts";
import { isAbove, type MeasuredChange, measureChange, prorateFrom } from "./change-units-proration.ts";
import {
  checkAccounts,
  checkBehaviour,
  checkChangeable,
  checkDocument,
  checkEffectiveDate,
  checkProration,
  checkRenewalAmendable,
  checkUnits,
  requireFirstInvoice,
} from "./change-units-rules.ts";

/** What becomes of the amount for the rest of the current period. Spec: Change units, `proration_behaviour`. */
export type ProrationBehaviour = "charge_immediately" | "charge_on_renewal";

/** How a change inside the invoice window is billed. Spec: Change units, rule 7. */
export type ChangeDocument = "amend" | "separate";

/** The request, its shapes already checked; null is a member left out. `units` is the new total. */
export interface UnitsChangeRequest {
  readonly units: number;
  readonly prorate: boolean;
  readonly behaviour: ProrationBehaviour | null;
  readonly effectiveDate: CivilDate | null;
  readonly document: ChangeDocument | null;
}

/** What a change is judged by. What is due for the subscription today is performed before. decisions §4. */
export type UnitsChangeFacts = BillingState;

/**
 * A change of an invoice that is there. `planLine` takes the place of its plan line, `added` are appended; `onlyDraft`: where it has
 * left `draft` in the ledger meanwhile, the added lines are billed on an invoice of their own instead.
 */
export interface InvoiceAmendment {
  readonly invoiceId: string;
  readonly planLine: InvoiceLineDraft | null;
  readonly added: readonly InvoiceLineDraft[];
  readonly onlyDraft: boolean;
}

/** Everything that a change writes; ids and numbers are missing. Of the documents, those that are null are not touched. */
export interface UnitsDecision {
  readonly units: number;
  /** The current period, and inside the invoice window the next one, as they are afterwards. */
  readonly periods: readonly PeriodState[];
  /** A new invoice of type `change`. */
  readonly invoice: InvoiceDraft | null;
  /** The draft that is joined, or the first invoice of a pending subscription that is re-priced: `change.invoice`. */
  readonly joined: InvoiceAmendment | null;
  /** The renewal invoice that is amended: `change.renewal_invoice`. */
  readonly amended: InvoiceAmendment | null;
  readonly deferred: ProratedCharge | null;
  readonly creditNote: CreditNoteDraft | null;
}

/**
 * The decision, or the first refusal in the order of decisions §7: `setup_mode_on`, `invalid_state` (another operation runs),
 * `subscription_not_changeable`, `plan_has_no_units`, `units_below_minimum`, `units_above_maximum`, `units_unchanged`,
 * `effective_date_required`, `effective_date_out_of_period`, `proration_not_applicable`, `proration_behaviour_not_allowed`,
 * `document_required`, `document_not_allowed`, `proration_required`, `proration_unavailable`, `renewal_invoice_not_amendable`,
 * `first_invoice_not_amendable`, `ledger_accounts_not_mapped`.
 */
export function decideUnitsChange(facts: UnitsChangeFacts, request: UnitsChangeRequest): UnitsDecision {
  checkChangeable(facts);
  checkUnits(facts, request);
  checkEffectiveDate(facts, request);
  const change = measureChange(facts, request);
  checkBehaviour(facts, request, change);
  checkDocument(request, change);
  checkProration(facts, request, change);
  const { renewalInvoice } = change;
  if (renewalInvoice !== null && request.document === "amend") checkRenewalAmendable(facts, renewalInvoice);
  const first = facts.subscription.status === "pending" ? requireFirstInvoice(facts) : null;
  checkAccounts(facts);
  if (first !== null) return repriceFirst(facts, request, first);
  const current = billCurrent(facts, request, change);
  if (renewalInvoice === null) return billOutsideWindow(facts, request, current);
  return request.document === "amend"
    ? amendRenewal(facts, request, current, renewalInvoice)
    : billSeparately(facts, request, current);
}

/** What a change of units bills of a period, and the period as it is afterwards. */
interface BilledChange {
  readonly state: PeriodState;
  readonly charge: ProratedCharge | null;
  /** Its amount above 0. */
  readonly credit: ProratedCharge | null;
}

/**
 * A charge or credit takes the billed units to the new total; what rounds to nothing leaves them, so that nothing is lost to
 * rounding; a rise above them that is not prorated closes proration for the period. Spec: Change units, rules 1, 2, 4 and 5.
 */
function billCurrent(facts: UnitsChangeFacts, request: UnitsChangeRequest, change: MeasuredChange): BilledChange {
  const { period } = facts;
  const { proration, isAboveBilled } = change;
  if (proration === null || isZero(proration.amount)) {
    const prorationClosed = period.prorationClosed || (isAboveBilled && !request.prorate);
    return { state: { ...period, prorationClosed }, charge: null, credit: null };
  }
  return bill(facts, request, period, proration);
}

/** A charge or a credit, and the period billed for the new total. */
function bill(
  { plan, subscription }: UnitsChangeFacts,
  { units }: Pick<UnitsChangeRequest, "units">,
  period: PeriodState,
  proration: Proration,
): BilledChange {
  const line = proratedCharge(plan, subscription, proration, period);
  const state = { ...period, billedUnits: units };
  return isNegative(proration.amount)
    ? { state, charge: null, credit: { ...line, amount: negate(proration.amount) } }
    : { state, charge: line, credit: null };
}

/** Outside the window: raised now, joined to the newest invoice of the period while that is a draft, or deferred. */
function billOutsideWindow(facts: UnitsChangeFacts, request: UnitsChangeRequest, current: BilledChange): UnitsDecision {
  const { plan, organisation, period, invoices } = facts;
  const { charge } = current;
  const decision = {
    ...nothingIssued(facts, request),
    periods: [current.state],
    creditNote: credit(facts, [current.credit]),
  };
  if (charge === null) return decision;
  if (request.behaviour === "charge_on_renewal") return { ...decision, deferred: charge };
  const line = prorationLine(plan, charge, organisation);
  const newest = invoices.find(({ type, periodIndex }) => type !== "usage" && periodIndex === period.index);
  if (newest?.status === "draft" && newest.inLedger) {
    const joined = { invoiceId: newest.id, planLine: null, added: [line], onlyDraft: true };
    return { ...decision, joined };
  }
  return { ...decision, invoice: raise(facts, [line]) };
}

/** Rule 7, `amend`: the renewal invoice's plan line at the new units, up or down, and the current period's charge. */
function amendRenewal(
  facts: UnitsChangeFacts,
  request: UnitsChangeRequest,
  current: BilledChange,
  renewalInvoice: IssuedInvoice,
): UnitsDecision {
  const { plan, organisation, subscription, nextPeriod } = facts;
  assert(nextPeriod !== null, "a renewal invoice bills the next period");
  return {
    ...nothingIssued(facts, request),
    periods: [current.state, { ...nextPeriod, billedUnits: request.units }],
    amended: {
      invoiceId: renewalInvoice.id,
      planLine: planLine(plan, { ...subscription, units: request.units }, nextPeriod, organisation),
      added: current.charge === null ? [] : [prorationLine(plan, current.charge, organisation)],
      onlyDraft: false,
    },
    creditNote: credit(facts, [current.credit]),
  };
}

/**
 * Rule 7, `separate`: one invoice with the current period's charge and the next period's whole difference; what is below zero goes
 * on a credit note; the renewal invoice stays. A decrease raises nothing. decisions §6.
 */
function billSeparately(facts: UnitsChangeFacts, request: UnitsChangeRequest, current: BilledChange): UnitsDecision {
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
    periods: [current.state, { ...next.state, billedSeparately: nextPeriod.billedSeparately || isBilled }],
    invoice: lines.length === 0 ? null : raise(facts, lines),
    creditNote,
  };
}

/**
 * V(to) − V(billed) of the next period over all its days, where the new total is above what it was billed for and no decrease.
 * decisions §6 "Invoice window".
 */
function billNext(
  facts: UnitsChangeFacts,
  request: Pick<UnitsChangeRequest, "units">,
  nextPeriod: PeriodState,
): BilledChange {
  const nothing = { state: nextPeriod, charge: null, credit: null };
  if (!isAbove(nextPeriod, facts, request)) return nothing;
  const proration = prorateFrom(nextPeriod.start, nextPeriod, facts, request);
  return isZero(proration.amount) ? nothing : bill(facts, request, nextPeriod, proration);
}

/** While pending: the first invoice's plan line at the new units, up or down. decisions §4. */
function repriceFirst(facts: UnitsChangeFacts, request: UnitsChangeRequest, first: IssuedInvoice): UnitsDecision {
  const { plan, organisation, subscription, period } = facts;
  const line = planLine(plan, { ...subscription, units: request.units }, period, organisation);
  return {
    ...nothingIssued(facts, request),
    periods: [{ ...period, billedUnits: request.units }],
    joined: { invoiceId: first.id, planLine: line, added: [], onlyDraft: false },
  };
}

function nothingIssued({ period }: UnitsChangeFacts, { units }: UnitsChangeRequest): UnitsDecision {
  return { units, periods: [period], invoice: null, joined: null, amended: null, deferred: null, creditNote: null };
}

function raise(
  { subscription, organisation, period, today }: UnitsChangeFacts,
  lines: readonly InvoiceLineDraft[],
): InvoiceDraft {
  return draftInvoice(subscription, organisation, { type: "change", period, lines, today });
}

function credit(
  { plan, subscription, organisation, today }: UnitsChangeFacts,
  credits: readonly (ProratedCharge | null)[],
): CreditNoteDraft | null {
  const lines: readonly CreditNoteLineDraft[] = credits.flatMap((one) =>
    one === null ? [] : [creditLine(plan, one, organisation)],
  );
  return lines.length === 0 ? null : draftCreditNote(subscription, lines, today);
}
