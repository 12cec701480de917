/**
 * Drafts that a person posts or deletes in Tryton: its number is shown beside ours (LEDGER-24), and
 * the sync finds what is gone, though Tryton reports no deletion (LEDGER-25).
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { rpcAt } from "../../../packages/dev/src/tryton/company.ts";
import { perFile } from "../../support/file-fixture.ts";
import { setOrganisation } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { rpcContext } from "./both-books.ts";
import { connectToTryton, createCustomers, trytonTest } from "./service-fixture.ts";
import { whyNoTryton } from "./tryton-fixture.ts";

const test = trytonTest
  /** Creates a subscription and returns its invoice, which has this status. */
  .extend("issue", perFile, async ({ system, admin, own, key, access }) => {
    await connectToTryton(admin, own, access);
    await createCustomers(system, key, 1);
    return async (firstInvoiceStatus: "draft" | "approved") => {
      await setOrganisation(system.pool, own.organisation, { firstInvoiceStatus });
      const body = { customer_code: "C0", plan_code: "team", units: 3 };
      const request = { key, idempotencyKey: randomUUID(), body };
      const { status, json, text } = await system.ask("POST", "/v1/subscriptions", request);
      expect(status, text).toBe(201);
      expect(json.invoice.status).toBe(firstInvoiceStatus);
      return json.invoice;
    };
  })
  /** A person's act in Tryton's own client on a document. */
  .extend(
    "act",
    perFile,
    ({ access }) =>
      (method: string, ledgerId: string, ...more: unknown[]) =>
        rpcAt(access.databaseUrl, access.password)(
          `model.account.invoice.${method}`,
          ...[[Number(ledgerId)], ...more, rpcContext],
        ),
  )
  /** Syncs until the document is so. */
  .extend("synced", perFile, ({ admin, own }) => async (id: string, status: string) => {
    await admin.done("LedgerSyncService/SyncLedger", own);
    return until(`the document is ${status}`, async () => {
      const { document } = await admin.done("DocumentService/GetDocument", { ...own, id });
      return document.status === `DOCUMENT_STATUS_${status}` && document;
    });
  });

test.skipIf(whyNoTryton !== null)(
  "a document has Tryton's number beside ours once a person posts it",
  async ({ system, admin, own, key, issue, act, synced }) => {
    const { id, number, ledger } = await issue("draft");
    const before = await admin.done("DocumentService/GetDocument", { ...own, id });
    expect(before.document.ledgerNumber).toBeUndefined();
    await act("post", ledger.invoice_id);
    const [posted] = (await act("read", ledger.invoice_id, ["number"])) as [{ number: string }];
    const shown = await synced(id, "APPROVED");
    expect(shown).toMatchObject({ number, ledgerNumber: posted.number });
    const got = await admin.done("InvoiceService/GetInvoice", { ...own, id });
    expect(got.ledgerNumber).toBe(posted.number);
    const text = posted.number.toLowerCase();
    const { hits } = await admin.done("SearchService/Search", { ...own, text });
    const hit = { objectId: id, by: "SEARCHED_BY_LEDGER_NUMBER", exact: true };
    expect(hits).toEqual([expect.objectContaining(hit)]);
    const api = await system.ask("GET", `/v1/invoices/${id}`, { key });
    expect(api.text).not.toContain(posted.number);
  },
);

test.skipIf(whyNoTryton !== null)(
  "a document that is created approved has Tryton's number from the beginning",
  async ({ admin, own, issue }) => {
    const { id } = await issue("approved");
    const { document } = await admin.done("DocumentService/GetDocument", { ...own, id });
    expect(document.ledgerNumber).toMatch(/\d/);
  },
);

test.skipIf(whyNoTryton !== null)(
  "a draft that a person deletes in Tryton is lost here at the next sync, also if it was copied",
  async ({ admin, own, issue, act, synced }) => {
    const [gone, left] = [await issue("draft"), await issue("draft")];
    // A copy with its number is a document of that person.
    await act("copy", gone.ledger.invoice_id, { reference: gone.number });
    await act("delete", gone.ledger.invoice_id);
    const lost = await synced(gone.id, "NOT_IN_EXTERNAL");
    expect(lost).toMatchObject({ message: "The ledger does not have it any more." });
    const { document } = await admin.done("DocumentService/GetDocument", { ...own, id: left.id });
    expect(document.status).toBe("DOCUMENT_STATUS_DRAFT");
  },
);

test.skipIf(whyNoTryton !== null)(
  "Tryton deletes nothing that has its number",
  async ({ issue, act }) => {
    const { ledger } = await issue("draft");
    await act("post", ledger.invoice_id);
    await act("cancel", ledger.invoice_id);
    await expect(act("delete", ledger.invoice_id)).rejects.toThrow("refused");
  },
);
