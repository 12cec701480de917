/**
 * The facts of one subscription that its operations decide by: periods, live invoices, deferred
 * charges, running jobs.
 */
import type { CivilDate } from "../calendar/civil-date.ts";
import type { Period } from "../calendar/period.ts";
import type { Plan } from "../catalogue/plan.ts";
import type { ProrationFacts } from "../explanation/facts.ts";
import type { Decimal } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import type { Invoice, InvoicePeriod, ProrationParts } from "./invoice.ts";
import type { OrganisationSettings } from "./organisation-settings.ts";
import type { Subscription } from "./subscription.ts";
import type { OpenUsage, UsageBills } from "./usage.ts";

/**
 * A period and what it was billed for. `billedUnits` is null on a flat fee (MONEY-5). `billedBy`
 * names units and what set them: `billedFor` writes it, and `billedByOf` reads it. `setupMode`: it
 * began in Setup Mode and is never billed. `prorationClosed`: units rose above the billed units
 * without proration (UNITS-2). `billedSeparately`: a change was billed on its own invoice after
 * this period's invoice was issued (UNITS-8).
 */
export interface PeriodState extends Period {
  readonly billedUnits: number | null;
  readonly billedBy: string | null;
  readonly setupMode: boolean;
  readonly prorationClosed: boolean;
  readonly billedSeparately: boolean;
}

/**
 * An invoice that keeps its place (DOCUMENT-7), with the members that rules read. `inLedger`: the
 * ledger has it. `isAltered`: it has another currency, kind of amounts or contact there
 * (LEDGER-20).
 * `isPlanLineKnown`: if it has a plan line, the ledger's id of that line is known.
 */
export interface IssuedInvoice
  extends Pick<Invoice, "id" | "number" | "type" | "status" | "total" | "amountDue"> {
  readonly periodIndex: number;
  readonly inLedger: boolean;
  readonly isAltered: boolean;
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
 * issued ahead. `endRemovedRenewal`: an end of ours removed that invoice, and it was not issued
 * again. `invoices` are those of the current and the next period that keep their place, newest
 * first. `usage` is all unbilled usage, or null if it was not loaded because no bill of it is due.
 * `today` is the date in the subscription's zone.
 */
export interface BillingState {
  readonly organisation: OrganisationSettings;
  readonly subscription: Subscription;
  readonly plan: Plan;
  readonly period: PeriodState;
  readonly nextPeriod: PeriodState | null;
  readonly endRemovedRenewal: boolean;
  readonly invoices: readonly IssuedInvoice[];
  readonly deferred: readonly DeferredLine[];
  readonly usage: readonly OpenUsage[] | null;
  readonly usageBills: UsageBills;
  readonly running: RunningJob | null;
  readonly today: CivilDate;
}

/**
 * A prorated charge as it is printed and deferred: everything except the account it is booked to.
 * `facts` are absent on one that was deferred before they were stored.
 */
export interface ProratedCharge extends ProrationParts {
  readonly name: string;
  readonly description: string;
  readonly amount: Decimal;
  readonly facts?: ProrationFacts;
  readonly period: InvoicePeriod;
}

/**
 * Refuses `invalid_state` while another operation of the subscription runs, and names that
 * operation (STATE-3).
 */
export function checkNothingRuns({ running }: Pick<BillingState, "running">): void {
  if (running === null) return;
  const message = "Another operation on this subscription is still running";
  throw new Refusal("invalid_state", `${message}: ${running.description}.`);
}

/** Returns the running operation. Refuses `invalid_state` if none runs (END-12). */
export function requireRunning({ running }: Pick<BillingState, "running">): RunningJob {
  if (running !== null) return running;
  const message = "No end and no change of an invoice of this subscription waits for the ledger.";
  throw new Refusal("invalid_state", message);
}

/**
 * Returns the period as it begins: in Setup Mode it is never billed, nor its usage. A switch first
 * bills what is due, so that the step that begins a period sees the mode of that instant (SETUP-3).
 */
export function asBegun<Opened extends object>(
  period: Opened,
  { setupMode }: Pick<OrganisationSettings, "setupMode">,
): Opened & { readonly setupMode: boolean } {
  return { ...period, setupMode };
}
