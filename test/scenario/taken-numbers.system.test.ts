/** Numbers that documents of others have in the ledger. POSTING-9, DOCUMENT-6 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { askWith } from "../admin/services/request.ts";
import { synced } from "../faults/ledger-documents.ts";
import { bookkeeper } from "../support/bookkeeper.ts";
import { perFile } from "../support/file-fixture.ts";
import type { TestSystem } from "../support/system.ts";
import { scenarioTest } from "./fixtures.ts";

const test = scenarioTest.extend("admin", perFile, async ({ system }) =>
  askWith(system, await system.operator()),
);

/** A person has issued the first invoices of the ledger, to this customer. */
async function issuedByHand(
  { pool, demoUrl }: TestSystem,
  { tenantId }: CreatedOrganisation,
  count: number,
  code = "GLOBEX",
): Promise<void> {
  const person = bookkeeper(pool, demoUrl, tenantId);
  for (let at = 1; at <= count; at += 1)
    await person.issue(`INV-${String(at).padStart(4, "0")}`, code, "12.00");
}

describe.concurrent("a document whose number is on a foreign invoice", () => {
  test("takes the next free one by itself", async ({ system, builder }) => {
    const own = await builder.sandbox();
    await issuedByHand(system, own, 3);
    const { id } = await builder.subscribe(own);
    const [invoice] = await builder.invoices(own, id);
    expect(invoice).toMatchObject({ ...synced, number: "INV-0004" });
    const next = await builder.subscribe(own);
    expect((await builder.invoices(own, next.id))[0]).toMatchObject({ number: "INV-0005" });
  });

  test("is refused after ten tries, and an operator's retry goes on", async ({
    system,
    builder,
    admin,
  }) => {
    const own = await builder.sandbox();
    await issuedByHand(system, own, 12);
    const { id } = await builder.subscribe(own);
    const [invoice] = await builder.invoices(own, id);
    expect(invoice).toMatchObject({ number: "INV-0011", status: "not_in_external" });
    expect(invoice.ledger.sync_error).toContain("choose another prefix");
    const retried = { organisation: own.organisationId, id: invoice.id };
    await admin.done("DocumentService/RetryDocument", retried);
    await builder.posted(own);
    expect((await builder.invoices(own, id))[0]).toMatchObject({ ...synced, number: "INV-0013" });
  });

  test("is refused if the invoice is the customer's own and may be ours", async ({
    system,
    builder,
  }) => {
    const own = await builder.sandbox();
    await issuedByHand(system, own, 1, "ACME");
    const { id } = await builder.subscribe(own);
    const [invoice] = await builder.invoices(own, id);
    expect(invoice).toMatchObject({ number: "INV-0001", status: "not_in_external" });
  });
});

test("the check of a connection says which numbers with the prefix others have", async ({
  system,
  builder,
  admin,
}) => {
  const own = await builder.sandbox();
  await builder.subscribe(own);
  const organisation = own.organisationId;
  const check = () => admin.done("LedgerConnectionService/CheckLedgerConnection", { organisation });
  expect((await check()).warnings ?? []).toEqual([]);
  const person = bookkeeper(system.pool, system.demoUrl, own.tenantId);
  await person.issue("INV-0009", "GLOBEX", "12.00");
  await person.issue("INV-0010", "GLOBEX", "12.00");
  expect((await check()).warnings).toEqual([
    "2 other invoices of the last 3 changed in the ledger have numbers with the prefix INV-, the " +
      "highest INV-0010, INV-0009: choose another prefix, or each document may need several tries.",
  ]);
});

test("a new organisation has another prefix than the ledger's own", async ({ admin }) => {
  const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
    name: "Prefixed",
    timezone: "UTC",
    defaultCurrency: "NZD",
  });
  expect(organisation.numberPrefix).toBe("SUB-");
});
