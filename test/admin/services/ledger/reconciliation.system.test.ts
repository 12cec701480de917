/**
 * A reconciliation leaves documents alone that link to another installation, unless an operator
 * asks for them. LEDGER-19.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import {
  aCall,
  contactDraft,
  invoiceDraft,
  okOf,
} from "../../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { createXeroLedger } from "../../../../src/ledger/xero/create-xero-ledger.ts";
import { perFile } from "../../../support/file-fixture.ts";
import { aloneAdminTest } from "../fixtures.ts";
import { createTenant } from "../request.ts";

const publicUrl = "https://billing.example";

const test = aloneAdminTest.extend("settings", perFile, {
  env: { PUBLIC_URL: publicUrl },
  without: ["worker"],
});

test("a reconciliation finds links to the host of PUBLIC_URL, and others on demand", async ({
  system,
  admin,
}) => {
  const tenant = await createTenant(system);
  const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
    name: "New",
    timezone: "Pacific/Auckland",
    defaultCurrency: "NZD",
  });
  const own = { organisation: organisation.id };
  await admin.done("LedgerConnectionService/ConnectLedger", { ...own, ...tenant });
  const ledger = createXeroLedger(tenant);
  try {
    const [contact] = okOf(await ledger.createContacts(aCall(), [contactDraft()]));
    const linked = (number: string, sourceUrl: string | null) =>
      invoiceDraft(okOf(contact).id, { number, currency: "NZD", sourceUrl });
    const drafts = [
      linked("SUB-0001", `${publicUrl}/v1/invoices/${randomUUID()}`),
      linked("SUB-0002", `https://staging.example/v1/invoices/${randomUUID()}`),
      linked("SUB-0009", "https://shop.example/orders/7"),
      linked("SUB-0004", null),
      // No document of ours has such an id, and no number of ours is such a one.
      linked("SHOP-5", `${publicUrl}/v1/invoices/${"-".repeat(36)}`),
    ];
    for (const answer of okOf(await ledger.createInvoices(aCall(), drafts))) okOf(answer);
    const reconcile = async (asked: object) => {
      const numbers: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await admin.done("LedgerReconciliationService/ReconcileLedger", {
          ...own,
          ...asked,
          ...(cursor === undefined ? {} : { cursor }),
        });
        numbers.push(...(page.data ?? []).map(({ number }: { number: string }) => number));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return numbers.toSorted();
    };
    const all = { since: "2020-01-01T00:00:00Z" };
    expect(await reconcile(all)).toEqual(["SUB-0001", "SUB-0004"]);
    expect(await reconcile({ ...all, anyHost: true })).toEqual([
      "SUB-0001",
      "SUB-0002",
      "SUB-0004",
      "SUB-0009",
    ]);
  } finally {
    await ledger.close();
  }
  const list = (startingAfter: string) =>
    admin.refused("LedgerReconciliationService/ListUnknownDocuments", { ...own, startingAfter });
  for (const id of ["none", randomUUID()])
    expect(await list(id)).toBe("invalid_parameter starting_after");
});
