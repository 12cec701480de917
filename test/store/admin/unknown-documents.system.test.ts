/**
 * What counts as unknown after a restore where organisations share a tenant of the ledger, who may
 * take it, and the order of the number counters' locks. LEDGER-19, INVARIANT-5.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type AdminStore, createAdminStore } from "../../../src/store/admin/admin-store.ts";
import type { Actor } from "../../../src/store/admin/changes.ts";
import type { FoundUnknown } from "../../../src/store/admin/ledger/unknown-documents.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { createUnknownDocuments } from "../../../src/store/ledger-jobs/unknown-documents.ts";
import { perFile } from "../../support/file-fixture.ts";
import { setOrganisation, tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { isWaiting, type UsageFixture, usageTest } from "../billing/usage-fixture.ts";

const actor: Actor = {
  operatorId: null,
  operatorName: "Test",
  tokenId: null,
  operation: "Test",
  requestId: null,
};

const test = usageTest.extend("unknown", perFile, ({ fixture: { pool } }) => {
  const admin: AdminStore = createAdminStore(
    { reading: pool, writing: pool },
    createEncryption(randomBytes(32)),
  );
  return Promise.resolve(admin.unknownDocuments);
});

const contactId = "common contact";

/** A document of the ledger over 125.00. */
const found = (number: string, ledgerId: string = randomUUID()): FoundUnknown => ({
  ledgerId,
  number,
  contactId,
  status: "approved",
  currency: "NZD",
  reference: "",
  issueDate: "2026-03-10",
  subtotal: "125.0000",
  total: "125.0000",
  lines: [],
});

/** Two organisations on one tenant with a common contact, and an invoice of the second one. */
async function sharing(fixture: UsageFixture) {
  const [one, other] = [
    await fixture.sandbox("2026-03-10"),
    await fixture.sandbox("2026-03-10", { number_prefix: "INV-B-" }),
  ];
  const both = [one, other];
  await tables(fixture.pool).customer.updateMany({
    where: { organisationId: { in: both } },
    data: { ledgerContactId: contactId },
  });
  await tables(fixture.pool).ledgerConnection.updateMany({
    where: { organisationId: { in: both } },
    data: { tenantId: randomUUID() },
  });
  const id = await fixture.subscribe(other);
  await fixture.posted(other);
  const { rows } = await fixture.pool.query<{ id: string; number: string; ledgerId: string }>(
    `SELECT id, number, ledger_invoice_id AS "ledgerId" FROM invoices WHERE subscription_id = $1`,
    [id],
  );
  const [invoice] = rows;
  if (invoice === undefined) throw new Error("there is no invoice");
  return { one, other, invoice };
}

test("another organisation's document is known, by its link and by its id in the ledger", async ({
  fixture,
  unknown,
}) => {
  const { one, invoice } = await sharing(fixture);
  const { number, ledgerId } = invoice;
  const compared = [
    { ledgerId, number, ownId: invoice.id },
    { ledgerId: "posted at this moment", number, ownId: invoice.id },
    { ledgerId, number: "INV-0007", ownId: null },
    { ledgerId: "lost by the restore", number: "INV-0008", ownId: null },
    { ledgerId: "lost and linked", number, ownId: randomUUID() },
  ];
  const ids = await unknown.unknownOf(one, "invoice", compared);
  expect([...ids].toSorted()).toEqual(["lost and linked", "lost by the restore"]);
});

test("a document that another organisation has by now is neither taken nor waited for", async ({
  fixture,
  unknown,
}) => {
  const { one, invoice } = await sharing(fixture);
  const lost = found("INV-0009");
  // As an earlier version stored it.
  await unknown.save(actor, one, "invoice", [found("INV-0007", invoice.ledgerId), lost], false);
  const loaded = await createUnknownDocuments(fixture.pool, one).load("invoice", [contactId], []);
  expect(loaded.map(({ ledgerId }) => ledgerId)).toEqual([lost.ledgerId]);
  await fixture.subscribe(one);
  const rows = await tables(fixture.pool).invoice.findMany({
    where: { organisationId: one },
    select: { id: true },
  });
  const [own] = rows.map(({ id }) => id);
  await expect(unknown.resolve(actor, one, invoice.ledgerId, own ?? null)).rejects.toThrow(
    "Another organisation has it.",
  );
  expect(await unknown.resolve(actor, one, invoice.ledgerId, null)).toMatchObject({
    state: "dismissed",
  });
});

test("no document takes one of the ledger in Setup Mode, and one can be dismissed", async ({
  fixture,
  unknown,
}) => {
  const { one } = await sharing(fixture);
  const lost = found("INV-0009");
  await unknown.save(actor, one, "invoice", [lost], false);
  await setOrganisation(fixture.pool, one, { setupMode: true });
  await expect(unknown.resolve(actor, one, lost.ledgerId, randomUUID())).rejects.toThrow(
    "The organisation is in Setup Mode: no document takes one of the ledger.",
  );
  expect(await unknown.resolve(actor, one, lost.ledgerId, null)).toMatchObject({
    state: "dismissed",
  });
});

test("moving the numbers locks the invoices' counter before the notes', as billing does", async ({
  fixture,
  unknown,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await fixture.subscribe(organisation);
  await unknown.save(actor, organisation, "invoice", [found("INV-0099")], false);
  const billing = await fixture.pool.connect();
  try {
    await billing.query("BEGIN");
    await billing.query(
      `UPDATE document_counters SET next = next + 1
        WHERE organisation_id = $1 AND kind = 'invoice'`,
      [organisation],
    );
    const saving = unknown.save(actor, organisation, "credit_note", [found("CN-0099")], true);
    await until("the reconciliation waits", () => isWaiting(fixture));
    // NOWAIT fails at once if the reconciliation holds this counter already.
    await billing.query(
      `SELECT FROM document_counters WHERE organisation_id = $1 AND kind = 'credit_note'
        FOR NO KEY UPDATE NOWAIT`,
      [organisation],
    );
    await billing.query("COMMIT");
    await saving;
  } finally {
    billing.release(true);
  }
  const { rows } = await fixture.pool.query<{ kind: string; next: string }>(
    "SELECT kind, next FROM document_counters WHERE organisation_id = $1 ORDER BY kind",
    [organisation],
  );
  expect(rows.map(({ kind, next }) => `${kind} ${next}`)).toEqual([
    "credit_note 100",
    "invoice 100",
  ]);
});
