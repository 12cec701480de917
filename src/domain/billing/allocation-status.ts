/** How much of a credit note has been applied. */
import type { CreditNote } from "../model/credit-note.ts";
import { compare, isZero } from "../money/decimal.ts";
import { keepsPlace } from "./document-presence.ts";

/** The values of `allocation_status` (OBJECT-11). */
type AllocationStatus = "unapplied" | "partially_applied" | "applied" | "not_applicable";

/**
 * Returns how much of a note has been applied, computed from its remaining credit and never stored.
 * Credit used on an invoice that the service does not have counts, although no allocation shows it
 * (OBJECT-11).
 */
export function allocationStatus(
  note: Pick<CreditNote, "status" | "total" | "remainingCredit" | "ledger">,
): AllocationStatus {
  const inLedger = note.ledger.invoiceId !== null;
  if (!keepsPlace({ status: note.status, inLedger }) || isZero(note.total)) return "not_applicable";
  if (isZero(note.remainingCredit)) return "applied";
  return compare(note.remainingCredit, note.total) < 0 ? "partially_applied" : "unapplied";
}
