/** The fixtures of tests on a demo ledger: the ledger, and organisations in it. */
import { test } from "vitest";
import { failOnce, perFile, started, stopInTime } from "../../../test/support/file-fixture.ts";
import { testPool } from "../../../test/support/pool.ts";
import type { DemoLedgerOptions } from "../src/server.ts";
import { addLedgerContact, startDemoLedgerFixture } from "./demo-ledger-fixture.ts";
import { openDemoHttp } from "./request.ts";

const startOnce = failOnce(startDemoLedgerFixture);

/**
 * Tests on a new demo ledger. `http` and `connection` are two organisations; `contactId` is a
 * contact of the second.
 */
export const demoLedgerTest = test
  .extend(
    "demoOptions",
    perFile,
    started((): Partial<DemoLedgerOptions> => ({})),
  )
  .extend("fixture", perFile, async ({ demoOptions }, { onCleanup }) => {
    const fixture = await startOnce(demoOptions);
    onCleanup(() => stopInTime(() => fixture.stop()));
    return fixture;
  })
  .extend("http", perFile, async ({ fixture }) => openDemoHttp(await fixture.connect()))
  .extend("database", perFile, ({ fixture }, { onCleanup }) => {
    const database = testPool(fixture.databaseUrl, 1);
    onCleanup(() => stopInTime(() => database.end()));
    return database;
  })
  .extend("connection", perFile, ({ fixture }) => fixture.connect())
  .extend("contactId", perFile, async ({ connection }) => (await addLedgerContact(connection)).id);

/**
 * Tests that allocate credit of notes to invoices. `approvedInvoice` and `approvedNote` create a
 * document and return its id. `pay` records a payment, by default of all that is due.
 */
export const allocationTest = demoLedgerTest
  .extend(
    "approvedInvoice",
    perFile,
    ({ http }) =>
      async (changes: object = {}) =>
        (await http.invoice({ Status: "AUTHORISED", ...changes })).InvoiceID ?? "",
  )
  .extend(
    "approvedNote",
    perFile,
    ({ http }) =>
      async (changes: object = {}) =>
        (await http.creditNote({ Status: "AUTHORISED", ...changes })).CreditNoteID ?? "",
  )
  .extend(
    "removeAllocation",
    perFile,
    ({ http }) =>
      (noteId: string, allocationId = "") =>
        http.send("DELETE", `CreditNotes/${noteId}/Allocations/${allocationId}`),
  )
  .extend(
    "pay",
    perFile,
    ({ fixture, http }) =>
      (id: string, amount?: number) =>
        fixture.admin(`tenants/${http.connection.tenantId}/invoices/${id}/payments`, {
          amount,
          date: "2026-05-09",
        }),
  );

/** One line of this amount, without tax. */
export const linesOf = (UnitAmount: number) => [
  { Description: "Work", Quantity: 1, UnitAmount, AccountCode: "200", TaxType: "NONE" },
];
