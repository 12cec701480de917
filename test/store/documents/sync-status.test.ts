/** The sync status that the API shows for a document, by its stored state. */
import { expect, test } from "vitest";
import { readLedgerState, unreachable } from "../../../src/store/documents/invoices.ts";

test.each([
  ["a document in sync", "draft", null, false, "synced", null],
  ["an unsent one", "scheduled", null, false, "failed", unreachable],
  ["a refused one", "not_in_external", "No more today.", false, "failed", "No more today."],
  ["an invoice with unsent lines", "approved", null, true, "failed", unreachable],
  ["an invoice with refused lines", "approved", "It is locked.", true, "failed", "It is locked."],
  ["a removed invoice with unsent lines", "voided", null, true, "synced", null],
  ["an invoice with an abandoned amendment", "paid", "It is paid.", false, "failed", "It is paid."],
] as const)("%s has its sync status", (_, status, error, isAmending, syncStatus, syncError) => {
  expect(readLedgerState(status, "id", error, isAmending)).toEqual({
    syncStatus,
    invoiceId: "id",
    syncError,
  });
});
