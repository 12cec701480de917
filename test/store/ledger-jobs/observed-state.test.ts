/** What is told of a document and its ledger, by what is kept of it. decisions §4. */
import { expect, test } from "vitest";
import { readLedgerState, unreachable } from "../../../src/store/documents/invoices.ts";

test.each([
  ["a document that the ledger has as it is here", "draft", null, false, "synced", null],
  ["one that is still to be sent", "scheduled", null, false, "failed", unreachable],
  [
    "one that the ledger refused",
    "not_in_external",
    "No more today.",
    false,
    "failed",
    "No more today.",
  ],
  ["an invoice whose new lines are on their way", "approved", null, true, "failed", unreachable],
  [
    "an invoice whose new lines the ledger refused",
    "approved",
    "It is locked.",
    true,
    "failed",
    "It is locked.",
  ],
  [
    "an invoice that was removed, whatever was to be changed of it",
    "voided",
    null,
    true,
    "synced",
    null,
  ],
  [
    "an invoice whose last amendment was given up",
    "paid",
    "It is paid.",
    false,
    "failed",
    "It is paid.",
  ],
] as const)("%s is told so", (_, status, kept, isAmending, syncStatus, syncError) => {
  expect(readLedgerState(status, "id", kept, isAmending)).toEqual({
    syncStatus,
    invoiceId: "id",
    syncError,
  });
});
