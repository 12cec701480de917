/** What is known of one subscription when an operation on it is judged: periods, live invoices, what is deferred, what runs. */

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
 * A period and what it was billed for. `billedUnits` null on a flat fee; `setupMode`: it began in Setup Mode and is never billed;
 * `prorationClosed`: units rose above the billed ones without proration (Spec: Change units, rule 2); `billedSeparately`: a
 * change was billed on an invoice of its own after this period's invoice was raised (rule 7). decisions §5.
 */
export interface PeriodState extends Period {
  readonly billedUnits: number | null;
  readonly setupMode: boolean;
  readonly prorationClosed: boolean;
  readonly billedSeparately: boolean;
}

/**
 * An invoice that is not removed, as far as rules look at it. `inLedger`: the ledger has it; `isPlanLineKnown`: it is known which of
 * its lines there is the plan's, where it has one.
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

/** A prorated charge that waits for the renewal invoice. Spec: Change units, `charge_on_renewal`. */
export interface DeferredLine extends ProratedCharge {
  readonly id: string;
}

/** An operation on the subscription that is still on its way: a second one is refused. decisions §6. */
export interface RunningJob {
  readonly id: string;
  readonly kind: "amend_invoice" | "end_subscription";
  /** In words, for the refusal's message: `invoice INV-0042 is being amended`. */
  readonly description: string;
}

/**
 * A subscription with all that its rules look at. `nextPeriod` is there once its invoice was raised ahead; `invoices` are those of
 * the current and the next period that are not removed, newest first; `usage` is all that is not billed, null where it was not loaded
 * because no bill of it is due; `today` is the day in the subscription's zone.
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
 * The renewal invoice that was raised ahead and is not removed: while it is there the subscription is inside its invoice window.
 * decisions §6.
 */
export function issuedAhead({
  nextPeriod,
  invoices,
}: Pick<BillingState, "nextPeriod" | "invoices">): IssuedInvoice | null {
  if (nextPeriod === null) return null;
  return invoices.find(({ type, periodIndex }) => type === "renewal" && periodIndex === nextPeriod.index) ?? null;
}

/** Why the plan line of an invoice cannot be re-priced, as the end of a sentence; null where it can. decisions §6. */
export function notAmendable(invoice: IssuedInvoice): string | null {
  const { number, status, inLedger, total, amountDue, isPlanLineKnown } = invoice;
  if (status === "scheduled") return `invoice ${number} is still to be sent to the ledger`;
  if (!inLedger || status === "not_in_external") return `invoice ${number} is not in the ledger`;
  if (status === "paid") return `invoice ${number} is paid`;
  if (!equals(total, amountDue)) return `invoice ${number} has a payment or credit on it`;
  if (status === "voided" || status === "deleted") return `invoice ${number} is removed`;
  // Sent without the ledger's id of it, it would stand there twice. Facts: facts-ledger section 1.3.
  return isPlanLineKnown ? null : `it is not known which line of invoice ${number} is the plan's`;
}

/** Whether a payment or credit is on the invoice: what keeps it from being removed. Spec: End, rule 6. */
export function hasMoney({ status, total, amountDue }: Pick<IssuedInvoice, "status" | "total" | "amountDue">): boolean {
  return (status === "paid" && !isZero(total)) || !equals(total, amountDue);
}

/** Refuses `invalid_state` while another operation of the subscription is on its way, and says which. decisions §6. */
export function checkNothingRuns({ running }: Pick<BillingState, "running">): void {
  if (running === null) return;
  const message = `Another operation on this subscription is still running: ${running.description}.`;
  throw new Refusal("invalid_state", message);
}
