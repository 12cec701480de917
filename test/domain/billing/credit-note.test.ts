/** How much of a credit note has been applied, by what is left of it. OBJECT-11. */
import { expect, test } from "vitest";
import { allocationStatus } from "../../../src/domain/billing/allocation-status.ts";
import type { DocumentStatus } from "../../../src/domain/model/invoice.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";

test.each([
  ["approved", "12.0000", "12.0000", "unapplied"],
  ["scheduled", "12.0000", "12.0000", "unapplied"],
  ["not_in_external", "12.0000", "12.0000", "unapplied"],
  // Also when it was applied to an invoice unknown here, so that no allocation can be shown.
  ["approved", "12.0000", "11.9999", "partially_applied"],
  ["paid", "12.0000", "0.0000", "applied"],
  ["approved", "12.0000", "0.0000", "applied"],
  ["voided", "12.0000", "0.0000", "not_applicable"],
  ["deleted", "12.0000", "12.0000", "not_applicable"],
  ["approved", "0.0000", "0.0000", "not_applicable"],
] as const satisfies readonly (readonly [
  DocumentStatus,
  string,
  string,
  string,
])[])("of one that is %s over %s, with %s left, it is %s", (status, total, left, expected) => {
  const ledger = { syncStatus: "synced", invoiceId: null, syncError: null } as const;
  const amounts = { total: parseDecimal(total), remainingCredit: parseDecimal(left) };
  const note = { status, ledger, ...amounts };
  expect(allocationStatus(note)).toBe(expected);
});
