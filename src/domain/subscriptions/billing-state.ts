/**
 * The facts of one subscription that its operations decide by: periods, live invoices, deferred
 * charges, running jobs.
 */

import type { DocumentStatus, InvoiceType } from "../billing/invoice.ts";
import type { ProratedCharge } from "../billing/invoice-lines.ts";
import type { CivilDate } from "../calendar/civil-date.ts";
import type { Period } from "../calendar/period.ts";
import type { Plan } from "../catalogue/plan.ts";
import { type Decimal, equals, isZero } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import type { OpenUsage, UsageBills } from "../usage/rating.ts";
import type { OrganisationSettings } from "./organisation-settings.ts";
import type { Subscription } from "./subscription.ts";

/**
 * A period and what it was billed for. `billedUnits` is null on a flat fee (MONEY-5). `setupMode`:
 * it began in Setup Mode and is never billed. `prorationClosed`: units rose above the billed units
 * without proration (UNITS-2). `billedSeparately`: a change was billed on its own invoice after
 * this period's invoice was issued (UNITS-8).
 */
export interface PeriodState extends Period {
  readonly billedUnits: number | null;
  readonly setupMode: boolean;
  readonly prorationClosed: boolean;
  readonly billedSeparately: boolean;
}

/**
 * An invoice that is not removed, with the members that rules read. `inLedger`: the ledger has it.
 * `isPlanLineKnown`: if it has a plan line, the ledger's id of that line is known.
 */
export interface IssuedInvoice {
  readonly id: string;
  readonly number: string;
  readonly type: InvoiceType;
  readonly periodIndex: number;
  readonly status: DocumentStatus;
  readonly total: Decimal;
  readonly amountDue: Decimal;
  readonly inLedger: boolean;
  readonly isPlanLineKnown: boolean;
}

/** A prorated charge that is deferred to the renewal invoice (UNITS-12). */
export interface DeferredLine extends ProratedCharge {
  readonly id: string;
}

/** An unfinished job of the subscription: a second operation is refused (STATE-3). */
export interface RunningJob {
  readonly id: string;
  readonly kind: "amend_invoice" | "end_subscription";
  /** In words, for the refusal's message: `invoice INV-0042 is being amended`. */
  readonly description: string;
}

/**
 * A subscription with everything that its rules read. `nextPeriod` exists once its invoice was
 * issued ahead. `invoices` are those of the current and the next period that are not removed,
 * newest first. `usage` is all unbilled usage, or null if it was not loaded because no bill of it
 * is due. `today` is the date in the subscription's zone.
 */
export interface BillingState {
  readonly organisation: OrganisationSettings;
  readonly subscription: Subscription;
  readonly plan: Plan;
  readonly period: PeriodState;
  readonly nextPeriod: PeriodState | null;
  readonly invoices: readonly IssuedInvoice[];
  readonly deferred: readonly DeferredLine[];
  readonly usage: readonly OpenUsage[] | null;
  readonly usageBills: UsageBills;
  readonly running: RunningJob | null;
  readonly today: CivilDate;
}

/**
 * Returns the renewal invoice that was issued ahead and is not removed. While it exists the
 * subscription is inside its invoice window (UNITS-7).
 */
export function issuedAhead({
  nextPeriod,
  invoices,
}: Pick<BillingState, "nextPeriod" | "invoices">): IssuedInvoice | null {
  if (nextPeriod === null) return null;
  return (
    invoices.find(
      ({ type, periodIndex }) => type === "renewal" && periodIndex === nextPeriod.index,
    ) ?? null
  );
}

/**
 * Returns why an invoice's plan line cannot be re-priced, as the end of a sentence; null if it can
 * (UNITS-8).
 */
export function notAmendable(invoice: IssuedInvoice): string | null {
  const { number, status, inLedger, total, amountDue, isPlanLineKnown } = invoice;
  if (status === "scheduled") return `invoice ${number} is still to be sent to the ledger`;
  if (!inLedger || status === "not_in_external") return `invoice ${number} is not in the ledger`;
  if (status === "paid") return `invoice ${number} is paid`;
  if (!equals(total, amountDue)) return `invoice ${number} has a payment or credit on it`;
  if (status === "voided" || status === "deleted") return `invoice ${number} is removed`;
  // A line that is sent without the ledger's id would be added a second time (LEDGER-13).
  return isPlanLineKnown ? null : `it is not known which line of invoice ${number} is the plan's`;
}

/** Whether the invoice has a payment or credit on it, which prevents its removal (END-3). */
export function hasMoney({
  status,
  total,
  amountDue,
}: Pick<IssuedInvoice, "status" | "total" | "amountDue">): boolean {
  return (status === "paid" && !isZero(total)) || !equals(total, amountDue);
}

/**
 * Refuses `invalid_state` while another operation of the subscription runs, and names that
 * operation (STATE-3).
 */
export function checkNothingRuns({ running }: Pick<BillingState, "running">): void {
  if (running === null) return;
  const message = `Another operation on this subscription is still running: ${running.description}.`;
  throw new Refusal("invalid_state", message);
}
