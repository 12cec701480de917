/**
 * Documents that the ledger would refuse are refused without a call, by its reference data
 * (POSTING-5). Documents with another amount in the ledger are listed with both amounts.
 */
import { expect } from "vitest";
import { referenceDataKinds } from "../../../src/domain/ledger/validation.ts";
import { formatDecimal } from "../../../src/domain/money/decimal.ts";
import { createDocumentStore } from "../../../src/store/admin/documents/documents.ts";
import { invalidateReferenceData } from "../../../src/store/ledger-connection/reference-data.ts";
import { syncInvoices } from "../../../src/store/ledger-sync/sync-invoices.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { tables } from "../../support/rows.ts";
import { type CreditFixture, type CreditParty, creditTest as test } from "./credit-fixture.ts";
import { issueCredit, issueInvoice } from "./issue-credit.ts";

/** Adds an organisation whose connection is five minutes old. */
async function oldParty(fixture: CreditFixture): Promise<CreditParty> {
  const party = await fixture.party();
  const text = `UPDATE ledger_connections SET created_at = now() - interval '5 minutes'
      WHERE organisation_id = $1`;
  await fixture.pool.query(text, [party.organisationId]);
  return party;
}

/** Overwrites cached reference data of the organisation. */
async function know(
  fixture: CreditFixture,
  { organisationId }: CreditParty,
  kind: string,
  data: object,
  age = "0",
): Promise<void> {
  const { rowCount } = await fixture.pool.query(
    `UPDATE ledger_reference_data
      SET data = data || $3, fetched_at = now() - $4::interval, invalidated_at = NULL
      WHERE organisation_id = $1 AND kind = $2`,
    [organisationId, kind, data, age],
  );
  expect(rowCount).toBe(1);
}

/** Posts an invoice over 10 with changed columns. Returns status, reason and message. */
async function posted(
  fixture: CreditFixture,
  party: CreditParty,
  changes: Record<string, string | null> = {},
): Promise<readonly unknown[]> {
  const { organisationId, subscriptionId } = party;
  const { id, jobId } = await issueInvoice(fixture.pool, organisationId, subscriptionId, "10");
  for (const [path, value] of Object.entries(changes)) {
    const [table, column] = path.split(".");
    const where = table === "invoices" ? "id = $1" : "invoice_id = $1";
    await fixture.pool.query(`UPDATE ${table} SET ${column} = $2 WHERE ${where}`, [id, value]);
  }
  await fixture.postAll(party);
  return stateOf(fixture, id, jobId);
}

async function stateOf(
  fixture: CreditFixture,
  id: string,
  jobId: string,
): Promise<readonly unknown[]> {
  const { rows } = await fixture.pool.query<{
    status: string;
    reason: string | null;
    sync_error: string | null;
  }>(
    `SELECT i.status, o.reason, i.sync_error FROM invoices i JOIN ledger_jobs o ON o.id = $2
      WHERE i.id = $1`,
    [id, jobId],
  );
  return Object.values(rows[0] ?? {});
}

/** Returns the kinds of reference data that are due. */
async function dueKinds(
  fixture: CreditFixture,
  { organisationId }: CreditParty,
): Promise<readonly string[]> {
  const { rows } = await fixture.pool.query<{ kind: string }>(
    `SELECT kind FROM ledger_reference_data WHERE organisation_id = $1 AND next_read_at <= now()
      ORDER BY kind`,
    [organisationId],
  );
  return rows.map(({ kind }) => kind);
}

test("a document that the ledger would refuse is refused without a call", async ({ fixture }) => {
  // The lists of a new connection are read by the operator who created it.
  await fixture.party();
  const party = await oldParty(fixture);
  expect(await fixture.readReferenceData()).toBe(4);
  expect(await posted(fixture, party)).toEqual(["approved", null, null]);
  const before = await fixture.calls(party);
  const refusedBy = async (reason: string, changes: Record<string, string | null>) => {
    const [status, code, message] = await posted(fixture, party, changes);
    expect([status, code]).toEqual(["not_in_external", reason]);
    return message;
  };
  expect(await refusedBy("account_invalid", { "invoice_lines.revenue_account": null })).toMatch(
    /No revenue account/,
  );
  expect(await refusedBy("account_invalid", { "invoice_lines.revenue_account": "999" })).toMatch(
    /no account 999/,
  );
  expect(await refusedBy("account_invalid", { "invoice_lines.revenue_account": "205" })).toMatch(
    /205 is archived/,
  );
  await know(fixture, party, "tax_rates", { OUTPUT2: false });
  expect(await refusedBy("tax_invalid", {})).toMatch(/OUTPUT2 is not active/);
  await know(fixture, party, "tax_rates", { OUTPUT2: true });
  await know(fixture, party, "organisation", { currency: "GBP" });
  await know(fixture, party, "currencies", { NZD: false });
  expect(await refusedBy("currency_not_enabled", {})).toMatch(/NZD is not enabled/);
  await know(fixture, party, "organisation", { currency: "NZD", periodLockDate: "2026-04-11" });
  expect(await refusedBy("period_locked", {})).toMatch(
    /dated 2026-04-10, before the ledger's lock date 2026-04-11/,
  );
  const note = await issueCredit(fixture.pool, party.organisationId, party.subscriptionId, "5");
  await fixture.postAll(party);
  await know(fixture, party, "organisation", { periodLockDate: null });
  const dueSync = `INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at,
    synced_at) VALUES ($1, $2, now(), now())
    ON CONFLICT (organisation_id) DO UPDATE SET synced_at = now()`;
  await fixture.pool.query(dueSync, [party.organisationId, party.tenantId]);
  await tables(fixture.pool).customer.updateMany({
    where: { organisationId: party.organisationId, code: "ACME" },
    data: { status: "inactive" },
  });
  expect(await refusedBy("contact_inactive", {})).toMatch(/contact is archived/);
  expect(await fixture.calls(party)).toBe(before);
  const rows = await tables(fixture.pool).creditNote.findMany({
    where: { id: note.id },
    select: { status: true },
  });
  expect(rows).toEqual([{ status: "not_in_external" }]);
  // Recent reference data is not read again for it.
  expect(await dueKinds(fixture, party)).toEqual([]);
});

test("old, invalidated or another tenant's reference data refuses nothing", async ({ fixture }) => {
  const party = await oldParty(fixture);
  await fixture.readReferenceData();
  await know(fixture, party, "accounts", { "200": false }, "31 minutes");
  expect(await posted(fixture, party)).toEqual(["approved", null, null]);
  await know(fixture, party, "accounts", { "200": false }, "16 minutes");
  expect(await posted(fixture, party)).toMatchObject(["not_in_external", "account_invalid", /./]);
  expect(await dueKinds(fixture, party)).toEqual(["accounts"]);
  await tables(fixture.pool).ledgerReferenceData.updateMany({
    where: { organisationId: party.organisationId },
    data: { tenantId: "other" },
  });
  expect(await posted(fixture, party)).toEqual(["approved", null, null]);
  expect(await fixture.readReferenceData()).toBe(1);
  expect(await posted(fixture, party)).toEqual(["approved", null, null]);
  await know(fixture, party, "accounts", { "205": true }, "16 minutes");
  expect(await posted(fixture, party, { "invoice_lines.revenue_account": "205" })).toMatchObject([
    "not_in_external",
    "account_invalid",
    expect.stringContaining("archived or has been deleted"),
  ]);
  expect(await dueKinds(fixture, party)).toEqual(["accounts"]);
  await know(fixture, party, "accounts", { "200": false }, "1 hour");
  await tables(fixture.pool).ledgerReferenceData.updateMany({
    where: { organisationId: party.organisationId },
    data: { invalidatedAt: new Date() },
  });
  expect(await posted(fixture, party)).toEqual(["approved", null, null]);
});

test("an operator's retry skips reference data, which is then read again", async ({ fixture }) => {
  const party = await oldParty(fixture);
  await fixture.readReferenceData();
  await know(fixture, party, "accounts", { "200": false });
  const { organisationId, subscriptionId } = party;
  const { id } = await issueInvoice(fixture.pool, organisationId, subscriptionId, "10");
  await fixture.postAll(party);
  const documents = createDocumentStore(fixture.pool);
  expect(await documents.get(organisationId, id)).toMatchObject({
    state: "failed",
    reason: "account_invalid",
  });
  await operatorWrites(fixture.pool).retryDocument(organisationId, id);
  await fixture.postAll(party);
  expect(await documents.get(organisationId, id)).toMatchObject({
    state: "synced",
    status: "approved",
  });
  const before = await fixture.calls(party);
  expect(await fixture.readReferenceData()).toBe(1);
  expect(await fixture.calls(party)).toBe(before + 1);
  expect(await posted(fixture, party)).toEqual(["approved", null, null]);
});

/** Returns each kind, whether it is known, and in how many hours it is read again. */
async function readings(
  fixture: CreditFixture,
  { organisationId }: CreditParty,
): Promise<readonly string[]> {
  const { rows } = await fixture.pool.query<{ reading: string }>(
    `SELECT concat_ws(' ', kind, CASE WHEN fetched_at IS NULL THEN 'unknown' ELSE 'known' END,
        round(extract(epoch FROM next_read_at - now()) / 3600)) AS reading
      FROM ledger_reference_data WHERE organisation_id = $1 ORDER BY kind`,
    [organisationId],
  );
  return rows.map(({ reading }) => reading);
}

test("a failed read is repeated in an hour, a forbidden one in six hours", async ({ fixture }) => {
  const party = await oldParty(fixture);
  expect(await fixture.readReferenceData()).toBe(4);
  const due = "UPDATE ledger_reference_data SET next_read_at = now() WHERE organisation_id = $1";
  await fixture.pool.query(due, [party.organisationId]);
  await fixture.fault(party, {
    match: "GET /api.xro/2.0/Accounts",
    kind: "status",
    status: 500,
    times: 9,
  });
  const body = JSON.stringify({ Detail: "User does not have permission to access this resource" });
  await fixture.fault(party, {
    match: "GET /api.xro/2.0/TaxRates",
    kind: "status",
    status: 403,
    body,
    times: 9,
  });
  expect(await fixture.readReferenceData()).toBe(4);
  expect(await fixture.readReferenceData()).toBe(0);
  const unchanged = ["currencies known 6", "organisation known 6"];
  expect(await readings(fixture, party)).toEqual([
    "accounts known 1",
    ...unchanged,
    "tax_rates unknown 6",
  ]);
  // Unknown data cannot be contradicted, so no call is spent on it.
  await invalidateReferenceData(
    fixture.pool,
    party.organisationId,
    ["accounts", "tax_rates"],
    "contradicted",
  );
  expect(await readings(fixture, party)).toEqual([
    "accounts known 0",
    ...unchanged,
    "tax_rates unknown 6",
  ]);
  await invalidateReferenceData(fixture.pool, party.organisationId, ["tax_rates"], "mended");
  expect(await dueKinds(fixture, party)).toEqual(["tax_rates"]);
  expect(await fixture.readReferenceData()).toBe(1);
  expect(await dueKinds(fixture, party)).toEqual([]);
});

test("a paused ledger is not read, and one bad secret does not stop the others", async ({
  fixture,
}) => {
  const [party, broken] = [await oldParty(fixture), await oldParty(fixture)];
  await tables(fixture.pool).ledgerConnection.updateMany({
    where: { organisationId: broken.organisationId },
    data: { encryptedSecret: Buffer.alloc(40) },
  });
  const pause =
    "UPDATE ledger_connections SET paused_until = now() + $2::interval WHERE organisation_id = $1";
  await fixture.pool.query(pause, [party.organisationId, "1 hour"]);
  expect(await fixture.readReferenceData()).toBe(4);
  expect(fixture.unreadable).toEqual([broken.organisationId]);
  const unknown = (hours: number) =>
    [...referenceDataKinds].sort().map((kind) => `${kind} unknown ${hours}`);
  expect(await readings(fixture, broken)).toEqual(unknown(1));
  await tables(fixture.pool).ledgerReferenceData.updateMany({
    where: { organisationId: broken.organisationId },
    data: { nextReadAt: new Date() },
  });
  await fixture.pool.query(pause, [party.organisationId, "0"]);
  expect(await fixture.readReferenceData()).toBe(8);
  expect((await readings(fixture, party)).every((one) => one.endsWith(" known 6"))).toBe(true);
  expect(await readings(fixture, party)).toHaveLength(4);
});

test("a document with another amount in the ledger drifts until it is removed", async ({
  fixture,
}) => {
  const party = await oldParty(fixture);
  const { organisationId } = party;
  await fixture.issue(party, "10", "20", "-5");
  const documents = createDocumentStore(fixture.pool);
  const page = { limit: 10, startingAfter: null };
  const drifting = async () => {
    const { data } = await documents.list(organisationId, "drift", page);
    return data.map(({ number, subtotal, ledgerSubtotal, state }) => {
      return [
        number,
        formatDecimal(subtotal),
        ledgerSubtotal && formatDecimal(ledgerSubtotal),
        state,
      ];
    });
  };
  const { rows } = await fixture.pool.query<{ subtotal: string }>(
    `SELECT ledger_subtotal AS subtotal FROM invoices WHERE organisation_id = $1 UNION ALL
      SELECT ledger_subtotal FROM credit_notes WHERE organisation_id = $1`,
    [organisationId],
  );
  expect(rows.map(({ subtotal }) => subtotal).sort()).toEqual(["10.0000", "20.0000", "5.0000"]);
  expect(await drifting()).toEqual([]);
  const seen = async (status: string, subtotal: string) => {
    const { rows: found } = await fixture.pool.query<{ id: string; at: string }>(
      `SELECT ledger_invoice_id AS id, now()::text AS at FROM invoices WHERE organisation_id = $1
        AND number = 'INV-0002'`,
      [organisationId],
    );
    const [{ id, at } = { id: "", at: "" }] = found;
    const updatedAt = new Date(Date.now() + 1_000).toISOString();
    const amounts = { total: "25.2000", amountDue: "25.2000", subtotal };
    return syncInvoices(
      fixture.pool,
      organisationId,
      [{ id, status, sent: false, updatedAt, ...amounts }],
      at,
    );
  };
  const before = await fixture.calls(party);
  await seen("approved", "21.0000");
  expect(await drifting()).toEqual([["INV-0002", "20.0000", "21.0000", "drift"]]);
  expect((await documents.list(organisationId, null, page)).data).toEqual([]);
  const [drifted] = (await documents.list(organisationId, "drift", page)).data;
  const retrying = operatorWrites(fixture.pool).retryDocument(organisationId, drifted?.id ?? "");
  await expect(retrying).rejects.toThrow("The document has no failed or pending ledger job");
  expect(await fixture.calls(party)).toBe(before);
  await seen("voided", "21.0000");
  expect(await drifting()).toEqual([]);
});
