/** The refusals of a change of units, one function for each group, in the order of UNITS-11. */

import { willRenew } from "../billing/due-date.ts";
import { accountOf, planLine, tooMuch } from "../billing/invoice-lines.ts";
import { notAmendable } from "../billing/issued-invoices.ts";
import { compareDates } from "../calendar/civil-date.ts";
import { hasUnits, lineAmount } from "../catalogue/pricing/index.ts";
import {
  type BillingState,
  checkNothingRuns,
  type IssuedInvoice,
  type PeriodState,
  type ProratedCharge,
} from "../model/billing-state.ts";
import type { InvoiceAmendment } from "../model/invoice.ts";
import { isNegative, isZero, subtract } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import type { UnitsChangeRequest } from "./change-units.ts";
import type { MeasuredChange } from "./change-units-proration.ts";
import { checkUnits } from "./create-rules.ts";

/**
 * Refuses `setup_mode_on`, `invalid_state` (another operation of the subscription runs),
 * `subscription_not_changeable`, `plan_has_no_units`.
 */
export function checkChangeable({ organisation, subscription, plan, running }: BillingState): void {
  if (organisation.setupMode) {
    throw new Refusal(
      "setup_mode_on",
      "The organisation is in Setup Mode: units cannot be changed.",
    );
  }
  checkNothingRuns({ running });
  if (subscription.status === "ended" || subscription.status === "complete") {
    const state = subscription.status === "ended" ? "has ended" : "is complete";
    throw new Refusal(
      "subscription_not_changeable",
      `The subscription ${state}: its units cannot be changed.`,
    );
  }
  if (!hasUnits(plan.type))
    throw new Refusal("plan_has_no_units", "A flat fee plan has no units.", "units");
}

/** Refuses as `checkUnits` does, then `units_unchanged`. */
export function checkNewUnits(
  { subscription, plan }: BillingState,
  { units }: UnitsChangeRequest,
): void {
  checkUnits(plan, subscription.minimumUnits, { ...subscription, units });
  if (units === subscription.units) {
    throw new Refusal("units_unchanged", `The subscription has ${units} units already.`, "units");
  }
}

/**
 * Refuses `effective_date_required`, `effective_date_out_of_period`, `proration_not_applicable` (a
 * decrease, or while pending).
 */
export function checkEffectiveDate(facts: BillingState, request: UnitsChangeRequest): void {
  if (!request.prorate) return;
  const { effectiveDate, units } = request;
  const { period, subscription } = facts;
  if (effectiveDate === null) {
    throw new Refusal(
      "effective_date_required",
      "effective_date is required with prorate.",
      "effective_date",
    );
  }
  if (
    compareDates(effectiveDate, period.start) < 0 ||
    compareDates(effectiveDate, period.end) >= 0
  ) {
    const within = `from ${period.start}, before ${period.end}`;
    const message = `effective_date must fall within the current period: ${within}.`;
    throw new Refusal("effective_date_out_of_period", message, "effective_date");
  }
  if (subscription.status === "pending") {
    const message =
      "A pending subscription's first invoice is re-priced as a whole: prorate does not apply.";
    throw new Refusal("proration_not_applicable", message, "prorate");
  }
  if (units < subscription.units) {
    const message = "A decrease issues no document: prorate does not apply.";
    throw new Refusal("proration_not_applicable", message, "prorate");
  }
}

/**
 * Refuses `proration_behaviour_not_allowed` if only `charge_immediately` is allowed: in the final
 * period, if the next period is already invoiced, and if a credit would be issued (UNITS-5,
 * UNITS-6).
 */
export function checkBehaviour(
  facts: BillingState,
  request: UnitsChangeRequest,
  change: MeasuredChange,
): void {
  if (request.behaviour !== "charge_on_renewal") return;
  const why = fixedBecause(facts, change);
  if (why === null) return;
  const message = `proration_behaviour must be charge_immediately: ${why}.`;
  throw new Refusal("proration_behaviour_not_allowed", message, "proration_behaviour");
}

function fixedBecause(
  { subscription }: BillingState,
  { isNextInvoiced, renewalInvoice, proration }: MeasuredChange,
): string | null {
  if (!willRenew(subscription)) return "the subscription is in its final period";
  if (renewalInvoice !== null)
    return `the next period is invoiced already, by ${renewalInvoice.number}`;
  if (isNextInvoiced) return "the next period was invoiced already";
  return proration !== null && isNegative(proration.amount) ? "the change is a credit" : null;
}

/**
 * Refuses `document_required` inside the invoice window, `document_not_allowed` outside it
 * (UNITS-7).
 */
export function checkDocument(
  { document }: UnitsChangeRequest,
  { isNextInvoiced, renewalInvoice }: MeasuredChange,
): void {
  if (isNextInvoiced && document === null) {
    const why =
      renewalInvoice === null
        ? "the next period was invoiced already. Send separate."
        : `the renewal invoice ${renewalInvoice.number} is there already. Send amend or separate.`;
    throw new Refusal("document_required", `document is required: ${why}`, "document");
  }
  if (!isNextInvoiced && document !== null) {
    throw new Refusal(
      "document_not_allowed",
      "document is allowed inside the invoice window only.",
      "document",
    );
  }
}

/**
 * Refuses `proration_required` (an unprorated change that would be a credit) and
 * `proration_unavailable` (a prorated charge after an unprorated increase) (UNITS-2, UNITS-5).
 */
export function checkProration(
  { period }: BillingState,
  { prorate }: UnitsChangeRequest,
  change: MeasuredChange,
): void {
  if (!prorate && change.isCredit) {
    const message =
      "The new total costs less than what was billed: send prorate true, so that the credit can " +
      "be issued.";
    throw new Refusal("proration_required", message, "prorate");
  }
  const { proration } = change;
  const isCharge = proration !== null && !isNegative(proration.amount) && !isZero(proration.amount);
  if (isCharge && period.prorationClosed) {
    const until = `until the renewal on ${period.end} send prorate false`;
    const message = `Units were increased without proration: ${until}.`;
    throw new Refusal("proration_unavailable", message, "prorate");
  }
}

/**
 * Returns the renewal invoice, to be amended. Refuses `renewal_invoice_not_amendable` (UNITS-8).
 */
export function requireRenewalInvoice(
  { nextPeriod }: BillingState,
  { renewalInvoice }: MeasuredChange,
): IssuedInvoice {
  const why = nextPeriod?.billedSeparately
    ? "an earlier change was billed separately"
    : renewalInvoice === null
      ? "it is removed"
      : notAmendable(renewalInvoice);
  if (renewalInvoice !== null && why === null) return renewalInvoice;
  const message = `The renewal invoice cannot be amended: ${why}. Send document separate.`;
  throw new Refusal("renewal_invoice_not_amendable", message, "document");
}

/**
 * Returns the first invoice of a pending subscription, to be re-priced. Refuses
 * `first_invoice_not_amendable` (STATE-4).
 */
export function requireFirstInvoice({ invoices, period }: BillingState): IssuedInvoice {
  const first = invoices.find(({ type }) => type === "first");
  const why = period.billedSeparately
    ? "an earlier change was billed separately"
    : first === undefined
      ? "it is removed"
      : notAmendable(first);
  if (first !== undefined && why === null) return first;
  throw new Refusal(
    "first_invoice_not_amendable",
    `The first invoice cannot be re-priced: ${why}.`,
  );
}

/** Refuses `ledger_accounts_not_mapped` for every change (DOCUMENT-5). */
export function checkAccounts({ plan, organisation }: BillingState): void {
  if (accountOf(plan, organisation).revenueAccount !== null) return;
  const message = "No revenue account of the ledger is mapped for the plan or the organisation.";
  throw new Refusal("ledger_accounts_not_mapped", message);
}

/**
 * Whether the change was refused because of an invoice that it would amend. Once the ledger has
 * that invoice, the change may be possible.
 */
export function isUnamendable(error: unknown): boolean {
  return (
    error instanceof Refusal &&
    (error.code === "renewal_invoice_not_amendable" || error.code === "first_invoice_not_amendable")
  );
}

/** Refuses `invalid_parameter` if one document cannot hold the lines (MONEY-8). */
export function checkAmount(...checked: Parameters<typeof tooMuch>): void {
  const why = tooMuch(...checked);
  if (why !== null) throw new Refusal("invalid_parameter", why, "units");
}

/**
 * Refuses `invalid_parameter` if the renewal invoice to come could not hold the plan at the new
 * units with everything that is deferred to it (MONEY-8).
 */
export function checkDeferred(
  { plan, subscription, organisation, period, deferred }: BillingState,
  { units }: UnitsChangeRequest,
  charge: ProratedCharge | null,
): void {
  const all = charge === null ? deferred : [...deferred, charge];
  checkAmount([planLine(plan, { ...subscription, units }, period, organisation), ...all]);
}

/**
 * Refuses `invalid_parameter` if the invoice could not hold its new plan line with its other lines.
 * `period` has the units of the old one. The invoice's total has tax, which it holds too (MONEY-8).
 */
export function checkRepriced(
  { plan, subscription }: BillingState,
  { total }: IssuedInvoice,
  { billedUnits }: PeriodState,
  { planLine: line, added }: Pick<InvoiceAmendment, "planLine" | "added">,
): void {
  const before = lineAmount(plan, { ...subscription, units: billedUnits ?? 0 });
  checkAmount([...(line === null ? [] : [line]), ...added], subtract(total, before));
}
