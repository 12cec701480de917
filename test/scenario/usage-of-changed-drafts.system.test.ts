/** Usage does not join a renewal draft that a person changed in the ledger. USAGE-9, LEDGER-20 */
import { expect } from "vitest";
import { askWith } from "../admin/services/request.ts";
import { bookkeeper } from "../support/bookkeeper.ts";
import { perFile } from "../support/file-fixture.ts";
import { until } from "../support/system.ts";
import { meteredTest } from "./usage-billing-fixture.ts";

const test = meteredTest.extend("admin", perFile, async ({ system }) =>
  askWith(system, await system.operator()),
);

test.for([
  ["before the sync knows it", false],
  ["after the sync", true],
] as const)("usage has an invoice of type usage if the draft's currency was changed, %s", async ([
  _when,
  isSynced,
], { system, builder, admin, metered, use, to }) => {
  const [own, id] = await metered({ invoice_create_days: 10 });
  await use(own, id, ["100", "2026-04-01"]);
  await to(own, "2026-04-25");
  const [renewal] = await builder.invoices(own, id);
  const person = bookkeeper(system.pool, system.demoUrl, own.tenantId);
  await person.change(renewal.number, { CurrencyCode: "EUR" });
  if (isSynced) {
    const organisation = own.organisationId;
    await admin.done("LedgerSyncService/SyncLedger", { organisation });
    const asked = { organisation, state: "DOCUMENT_STATE_DRIFT" };
    await until("the change was synced", async () => {
      const { data = [] } = await admin.done("DocumentService/ListDocuments", asked);
      return data.length === 1;
    });
  }
  await to(own, "2026-05-01");
  const [usage, kept] = await builder.invoices(own, id);
  expect(usage).toMatchObject({ type: "usage", subtotal: "2.0000", ledger: { sync_error: null } });
  expect(kept).toMatchObject({ id: renewal.id, lines: renewal.lines });
});
