/** Credit notes to make in tests of the ledger. */
import { randomUUID } from "node:crypto";
import { aLine } from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { LedgerCreditNoteDraft } from "../../../src/ledger/port/ledger.ts";

/** An approved credit note of one line of 3 × 10.50 without tax, under a new number. */
export function creditNoteDraft(
  contactId: string,
  changes: Partial<LedgerCreditNoteDraft> = {},
): LedgerCreditNoteDraft {
  return {
    number: `CN-${randomUUID().slice(0, 13)}`,
    reference: "PO 42",
    contactId,
    currency: "GBP",
    issueDate: "2026-03-05",
    lineAmounts: "exclusive",
    status: "approved",
    sourceUrl: "https://billing.example.com/credit_notes/1",
    lines: [aLine("3", "10.5000", "31.5000")],
    ...changes,
  };
}
