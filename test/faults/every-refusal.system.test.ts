/**
 * Every refusal of an amendment and of a removal ends in a way that bills what is due: no units are
 * moved and billed by nothing. LEDGER-2, UNITS-8, END-4.
 */
import { describe, expect } from "vitest";
import { askWith } from "../admin/services/request.ts";
import { scenarioTest } from "../scenario/fixtures.ts";
import type { UnitsBuilder } from "../scenario/units-builder.ts";
import { perFile } from "../support/file-fixture.ts";
import { synced } from "./ledger-documents.ts";
import { refusalFault, spokenRefusals } from "./ledger-refusals.ts";

const test = scenarioTest.extend("admin", perFile, async ({ system }) =>
  askWith(system, await system.operator()),
);

/** A subscription of ten units inside its invoice window, and its renewal draft. */
async function prepared(builder: UnitsBuilder) {
  const own = await builder.sandbox({ invoice_create_days: 20 });
  await builder.setClock(own, "2026-04-16");
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
  const [invoice] = await builder.invoices(own, id);
  const element = invoice.ledger.invoice_id;
  return { own, id, invoice, target: { element, tenantId: own.tenantId } };
}

describe.concurrent("an amendment that the ledger refuses", () => {
  test.for(spokenRefusals)("as $reason is $amendment", async ({ says, amendment }, {
    system,
    builder,
    admin,
  }) => {
    const { own, id, invoice, target } = await prepared(builder);
    const match = says === 404 ? "GET /api.xro/2.0/Invoices/" : "POST /api.xro/2.0/Invoices/";
    await system.fault({ ...refusalFault(says, match), ...target });
    const body = { units: 13, document: "amend" };
    const { change } = await builder.changed(own, id, body);
    await builder.posted(own);
    if (amendment === "retried") {
      expect(change.renewal_invoice).toMatchObject({ ledger: { sync_status: "failed" } });
      const asked = { organisation: own.organisationId, id: invoice.id };
      await admin.done("DocumentService/RetryDocument", asked);
      await builder.posted(own);
    }
    const [newest] = await builder.invoices(own, id);
    const expected =
      amendment === "elsewhere"
        ? { ...synced, type: "change", subtotal: "30.0000" }
        : { ...synced, id: invoice.id, subtotal: "130.0000" };
    expect(newest).toMatchObject(expected);
    await builder.expectEqualDocuments(own);
  });
});

describe.concurrent("an end whose removal the ledger refuses", () => {
  test.for(spokenRefusals)("as $reason: $removal", async ({ says, removal }, {
    system,
    builder,
  }) => {
    const { own, id, invoice, target } = await prepared(builder);
    const match = says === 404 ? "GET /api.xro/2.0/Invoices/" : "POST /api.xro/2.0/Invoices/";
    await system.fault({ ...refusalFault(says, match), ...target });
    const answer = await builder.end(own, id, { when: "now" });
    const shown = (await builder.invoices(own, id)).find((one) => one.id === invoice.id);
    const { status } = await builder.subscription(own, id);
    expect([answer.status, status, shown.status]).toEqual(
      removal === "ends" ? [409, "active", "draft"] : [200, "ended", "deleted"],
    );
    await builder.expectEqualDocuments(own);
  });
});
