/**
 * A leased termination, one removal, and the ledger's answer to it. SQL, because an invoice keeps
 * what the ledger did not report.
 */
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import { type LockedOrganisation, shareOrganisation } from "../billing/locked-subscription.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import type { ObservedInvoiceState } from "../documents/credit-note-state.ts";
import { isUnwritable, reportedValues } from "../ledger-jobs/document-outcomes.ts";

/**
 * A leased termination and its attempt. Only the attempt that holds the lease may record an
 * outcome.
 */
export interface LeasedTermination {
  readonly terminationId: string;
  readonly subscriptionId: string;
  readonly attempt: number;
}

/**
 * A leased termination with an invoice to remove. `triedMs`: for how long the removal has been
 * tried. `isAwaited`: a caller waits for the end. `isAhead`: the invoice bills a period that never
 * begins, so the subscription cannot end while it stands. `isOnlyUnsent`: the invoice stays if a
 * person has approved or sent it in the ledger (END-5).
 */
export interface LeasedRemoval extends LeasedTermination {
  readonly step: number;
  readonly invoiceId: string;
  readonly number: string;
  readonly triedMs: number;
  readonly isAwaited: boolean;
  readonly isAhead: boolean;
  readonly isOnlyUnsent: boolean;
}

/** Why an invoice that an option requested to remove stays. The ledger knew this and we did not. */
export type LeftBecause = "has_payment_or_credit" | "approved_or_sent";

/** An invoice as the ledger reported it. Amounts are decimal text. */
export interface ReportedInvoice extends Omit<ObservedInvoiceState, "subtotal"> {
  readonly status: DocumentStatus;
}

/**
 * What the ledger did to remove an invoice. `invoice` is its state afterwards, null if the ledger
 * does not have it. Such an invoice becomes `deleted` here.
 */
export interface Removed {
  readonly outcome: "deleted" | "voided" | "already_removed" | "not_found";
  readonly invoice: ReportedInvoice | null;
}

/**
 * The ledger's refusal of a removal: its reason and its message. `invoice` is null if the ledger
 * did not report the invoice.
 */
export interface RemovalRefused {
  readonly reason: string;
  readonly message: string;
  readonly invoice: ReportedInvoice | null;
}

/**
 * SQL: job `o` is termination `$2` in attempt `$3` and still under way. Only the attempt that holds
 * the lease may record an outcome.
 */
export const isHeld = sql`o.id = $2 AND o.attempts = $3 AND o.kind = 'end_subscription'
    AND o.state IN ('sending', 'uncertain')`;

/** SQL: invoice `i` bills a period of its subscription `s` that never begins if that ends. */
export const isAhead = sql`(i.type = 'renewal' AND i.period_index > s.current_period
          OR i.type = 'first' AND s.status = 'pending')`;

/**
 * Saves an outcome of a termination under its subscription's lock, in one transaction. What the
 * ledger reported is left out if it does not fit the columns here.
 */
export async function saveOutcome<T>(
  pool: Pool,
  organisationId: string,
  { subscriptionId }: LeasedTermination,
  reported: ReportedInvoice | null,
  save: (
    client: Transaction,
    locked: LockedOrganisation,
    reported: ReportedInvoice | null,
  ) => Promise<T>,
): Promise<T> {
  const run = (fitting: ReportedInvoice | null) =>
    inTransaction(pool, async (client) => {
      const locked = await shareOrganisation(client, organisationId);
      await lockSubscriptions(client, organisationId, [subscriptionId]);
      return save(client, locked, fitting);
    });
  try {
    return await run(reported);
  } catch (error) {
    if (!isUnwritable(error) || reported === null) throw error;
    return run(null);
  }
}

const report = command({
  name: "report_invoice",
  text: sql`
    UPDATE invoices i
    SET
      status = $4,
      total = coalesce($5, i.total),
      amount_due = coalesce($6, i.amount_due),
      sent = coalesce($7, i.sent),
      ledger_updated_at = coalesce($8, i.ledger_updated_at),
      ledger_reported_at = now(),
      sync_error = CASE WHEN NOT $3 THEN i.sync_error END
    WHERE i.organisation_id = $1 AND i.id = $2
  `,
});

/** Writes what the ledger reported of an invoice. One that is removed has no error any more. */
export async function reportInvoice(
  client: Transaction,
  organisationId: string,
  invoiceId: string,
  reported: Partial<ReportedInvoice>,
  isRemoved = false,
): Promise<void> {
  await report(client, organisationId, invoiceId, isRemoved, ...reportedValues(reported));
}
