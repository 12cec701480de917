/** An ending that a round holds, one of its removals, and what the ledger said to that. */
import type { DocumentStatus } from "../../domain/billing/invoice.ts";

/** An ending that is held, and by which attempt: only the round that holds it may settle it. */
export interface HeldTermination {
  readonly terminationId: string;
  readonly subscriptionId: string;
  readonly attempt: number;
}

/**
 * A held ending with an invoice to remove. `triedMs`: for how long it has been tried to; `isAwaited`: a caller waits for the end;
 * `isAhead`: it bills a period that never begins, so that nothing ends while it cannot be removed. `isOnlyUnsent`: it is left alone where
 * somebody has approved or sent it in the ledger. Spec: End, rule 6; decisions §6.
 */
export interface HeldRemoval extends HeldTermination {
  readonly step: number;
  readonly invoiceId: string;
  readonly number: string;
  readonly triedMs: number;
  readonly isAwaited: boolean;
  readonly isAhead: boolean;
  readonly isOnlyUnsent: boolean;
}

/** Why an invoice that an option asked to remove is left alone: what the ledger knows of it, and we did not. */
export type LeftBecause = "has_payment_or_credit" | "approved_or_sent";

/** An invoice as the ledger told it; amounts are decimal text. */
export interface ReportedInvoice {
  readonly status: DocumentStatus;
  readonly total: string;
  readonly amountDue: string;
  readonly sent: boolean;
  /** The ledger's own time of it (ISO 8601); left out where that is not known. */
  readonly updatedAt?: string;
}

/**
 * What the ledger did to remove an invoice; `invoice` is as it was told afterwards, null where the ledger does not have it. One that it does
 * not have is deleted here.
 */
export interface Removed {
  readonly outcome: "deleted" | "voided" | "already_removed" | "not_found";
  readonly invoice: ReportedInvoice | null;
}

/** The ledger's no to a removal: its reason and its own words; `invoice` is as it was told, null where it was not. */
export interface RemovalRefused {
  readonly reason: string;
  readonly message: string;
  readonly invoice: ReportedInvoice | null;
}

/** Whether operation `o` is the ending `$2` in attempt `$3`: only the round that holds it may settle it. */
export const isHeld = `o.id = $2 AND o.attempts = $3 AND o.kind = 'end_subscription'
    AND o.state IN ('sending', 'uncertain')`;
