/**
 * Documents that their ledger would refuse are refused without asking it, by what it is known to offer; and those that come to another
 * amount there than here are told, with both. Facts: facts-ledger section 4.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { referenceDataKinds } from "../../../src/domain/billing/ledger-validation.ts";
import { formatDecimal } from "../../../src/domain/money/decimal.ts";
import { createChanges } from "../../../src/store/admin/changes.ts";
import { createDocumentStore } from "../../../src/store/admin/documents/documents.ts";
import { invalidateReferenceData } from "../../../src/store/ledger-connection/reference-data.ts";
import { syncInvoices } from "../../../src/store/ledger-sync/sync-invoices.ts";
import { type CreditParty, type CreditWorld, startCreditWorld } from "./credit-fixture.ts";
import { raiseCredit, raiseInvoice } from "./issue-credit.ts";

let world: CreditWorld;
beforeAll(async () => {
  world = await startCreditWorld();
});
afterAll(() => world?.stop());

const actor = {
  operatorId: null,
  operatorName: "Test",
  tokenId: null,
  operation: "test",
  requestId: null,
};

/** An organisation whose connection was not made just now. */
async function oldParty(): Promise<CreditParty> {
  const party = await world.party();
  const text =
    "UPDATE ledger_connections SET created_at = now() - interval '5 minutes' WHERE organisation_id = $1";
  await world.pool.query(text, [party.organisationId]);
  return party;
}

/** Writes this over what is kept of the organisation's ledger. */
async function know(
  { organisationId }: CreditParty,
  kind: string,
  offer: object,
  toldAgo = "0",
): Promise<void> {
  const { rowCount } = await world.pool.query(
    `UPDATE ledger_reference_data SET data = data || $3, fetched_at = now() - $4::interval, invalidated_at = NULL
      WHERE organisation_id = $1 AND kind = $2`,
    [organisationId, kind, offer, toldAgo],
  );
  expect(rowCount).toBe(1);
}

/** An invoice over 10 with these columns changed, on it or on its line, settled: status, reason and message. */
async function settled(
  party: CreditParty,
  changes: Record<string, string | null> = {},
): Promise<readonly unknown[]> {
  const { organisationId, subscriptionId } = party;
  const { id, jobId } = await raiseInvoice(world.pool, organisationId, subscriptionId, "10");
  for (const [path, value] of Object.entries(changes)) {
    const [table, column] = path.split(".");
    const where = table === "invoices" ? "id = $1" : "invoice_id = $1";
    await world.pool.query(`UPDATE ${table} SET ${column} = $2 WHERE ${where}`, [id, value]);
  }
  await world.settle(party);
  return stateOf(id, jobId);
}

async function stateOf(id: string, jobId: string): Promise<readonly unknown[]> {
  const { rows } = await world.pool.query<{
    status: string;
    reason: string | null;
    sync_error: string | null;
  }>(
    `SELECT i.status, o.reason, i.sync_error FROM invoices i JOIN ledger_jobs o ON o.id = $2 WHERE i.id = $1`,
    [id, jobId],
  );
  return Object.values(rows[0] ?? {});
}

/** The lists that are to be read now. */
async function dueKinds({ organisationId }: CreditParty): Promise<readonly string[]> {
  const { rows } = await world.pool.query<{ kind: string }>(
    "SELECT kind FROM ledger_reference_data WHERE organisation_id = $1 AND next_read_at <= now() ORDER BY kind",
    [organisationId],
  );
  return rows.map(({ kind }) => kind);
}

test("what its ledger would refuse is refused without any call, in words of ours and by the ledger's reasons", async () => {
  // One whose connection was made just now is left to whoever made it.
  await world.party();
  const party = await oldParty();
  expect(await world.readReferenceData()).toBe(4);
  expect(await settled(party)).toEqual(["approved", null, null]);
  const before = await world.calls(party);
  const refusedBy = async (reason: string, changes: Record<string, string | null>) => {
    const [status, told, message] = await settled(party, changes);
    expect([status, told]).toEqual(["not_in_external", reason]);
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
  await know(party, "tax_rates", { OUTPUT2: false });
  expect(await refusedBy("tax_invalid", {})).toMatch(/OUTPUT2 is not active/);
  await know(party, "tax_rates", { OUTPUT2: true });
  await know(party, "organisation", { currency: "GBP" });
  await know(party, "currencies", { NZD: false });
  expect(await refusedBy("currency_not_enabled", {})).toMatch(/NZD is not enabled/);
  await know(party, "organisation", { currency: "NZD", periodLockDate: "2026-04-11" });
  expect(await refusedBy("period_locked", {})).toMatch(
    /dated 2026-04-10, before the ledger's lock date 2026-04-11/,
  );
  const note = await raiseCredit(world.pool, party.organisationId, party.subscriptionId, "5");
  await world.settle(party);
  await know(party, "organisation", { periodLockDate: null });
  const sweep = `INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at, swept_at) VALUES ($1, $2, now(), now())
    ON CONFLICT (organisation_id) DO UPDATE SET swept_at = now()`;
  await world.pool.query(sweep, [party.organisationId, party.tenantId]);
  const status = "UPDATE customers SET status = $2 WHERE organisation_id = $1 AND code = 'ACME'";
  await world.pool.query(status, [party.organisationId, "inactive"]);
  expect(await refusedBy("contact_inactive", {})).toMatch(/contact is archived/);
  expect(await world.calls(party)).toBe(before);
  const { rows } = await world.pool.query("SELECT status FROM credit_notes WHERE id = $1", [
    note.id,
  ]);
  expect(rows).toEqual([{ status: "not_in_external" }]);
  // What was told just now is not read again for it.
  expect(await dueKinds(party)).toEqual([]);
});

test("what is old, doubted or another tenant's refuses nothing: the ledger is asked, and what it contradicts is read again", async () => {
  const party = await oldParty();
  await world.readReferenceData();
  await know(party, "accounts", { "200": false }, "31 minutes");
  expect(await settled(party)).toEqual(["approved", null, null]);
  await know(party, "accounts", { "200": false }, "16 minutes");
  expect(await settled(party)).toMatchObject(["not_in_external", "account_invalid", /./]);
  expect(await dueKinds(party)).toEqual(["accounts"]);
  await world.pool.query(
    "UPDATE ledger_reference_data SET tenant_id = 'other' WHERE organisation_id = $1",
    [party.organisationId],
  );
  expect(await settled(party)).toEqual(["approved", null, null]);
  expect(await world.readReferenceData()).toBe(1);
  expect(await settled(party)).toEqual(["approved", null, null]);
  await know(party, "accounts", { "205": true }, "16 minutes");
  expect(await settled(party, { "invoice_lines.revenue_account": "205" })).toMatchObject([
    "not_in_external",
    "account_invalid",
    expect.stringContaining("archived or has been deleted"),
  ]);
  expect(await dueKinds(party)).toEqual(["accounts"]);
  await know(party, "accounts", { "200": false }, "1 hour");
  await world.pool.query(
    "UPDATE ledger_reference_data SET invalidated_at = now() WHERE organisation_id = $1",
    [party.organisationId],
  );
  expect(await settled(party)).toEqual(["approved", null, null]);
});

test("what an operator has mended is asked of the ledger by a retry, whatever was known, and is known from then on", async () => {
  const party = await oldParty();
  await world.readReferenceData();
  await know(party, "accounts", { "200": false });
  const { organisationId, subscriptionId } = party;
  const { id } = await raiseInvoice(world.pool, organisationId, subscriptionId, "10");
  await world.settle(party);
  const documents = createDocumentStore(world.pool, createChanges(world.pool));
  expect(await documents.get(organisationId, id)).toMatchObject({
    state: "failed",
    reason: "account_invalid",
  });
  expect(await documents.retry(actor, organisationId, id)).toMatchObject({ kind: "retried" });
  await world.settle(party);
  expect(await documents.get(organisationId, id)).toMatchObject({
    state: "synced",
    status: "approved",
  });
  const before = await world.calls(party);
  expect(await world.readReferenceData()).toBe(1);
  expect(await world.calls(party)).toBe(before + 1);
  expect(await settled(party)).toEqual(["approved", null, null]);
});

/** The lists of an organisation: whether something was told of them, and in how many hours they are read again. */
async function readings({ organisationId }: CreditParty): Promise<readonly string[]> {
  const { rows } = await world.pool.query<{ told: string }>(
    `SELECT concat_ws(' ', kind, CASE WHEN fetched_at IS NULL THEN 'unknown' ELSE 'told' END,
        round(extract(epoch FROM next_read_at - now()) / 3600)) AS told
      FROM ledger_reference_data WHERE organisation_id = $1 ORDER BY kind`,
    [organisationId],
  );
  return rows.map(({ told }) => told);
}

test("a list that cannot be read is left alone for an hour, one that may not be read for six and is known no longer", async () => {
  const party = await oldParty();
  expect(await world.readReferenceData()).toBe(4);
  const due = "UPDATE ledger_reference_data SET next_read_at = now() WHERE organisation_id = $1";
  await world.pool.query(due, [party.organisationId]);
  await world.fault(party, {
    match: "GET /api.xro/2.0/Accounts",
    kind: "status",
    status: 500,
    times: 9,
  });
  const body = JSON.stringify({ Detail: "User does not have permission to access this resource" });
  await world.fault(party, {
    match: "GET /api.xro/2.0/TaxRates",
    kind: "status",
    status: 403,
    body,
    times: 9,
  });
  expect(await world.readReferenceData()).toBe(4);
  expect(await world.readReferenceData()).toBe(0);
  const told = ["currencies told 6", "organisation told 6"];
  expect(await readings(party)).toEqual(["accounts told 1", ...told, "tax_rates unknown 6"]);
  // What was never told cannot be contradicted: no call is spent on it.
  await invalidateReferenceData(
    world.pool,
    party.organisationId,
    ["accounts", "tax_rates"],
    "contradicted",
  );
  expect(await readings(party)).toEqual(["accounts told 0", ...told, "tax_rates unknown 6"]);
  await invalidateReferenceData(world.pool, party.organisationId, ["tax_rates"], "mended");
  expect(await dueKinds(party)).toEqual(["tax_rates"]);
  expect(await world.readReferenceData()).toBe(1);
  expect(await dueKinds(party)).toEqual([]);
});

test("a ledger that is paused is left alone, and one whose secret cannot be opened keeps nobody else's from being read", async () => {
  const [party, broken] = [await oldParty(), await oldParty()];
  await world.pool.query(
    "UPDATE ledger_connections SET encrypted_secret = $2 WHERE organisation_id = $1",
    [broken.organisationId, Buffer.alloc(40)],
  );
  const pause =
    "UPDATE ledger_connections SET paused_until = now() + $2::interval WHERE organisation_id = $1";
  await world.pool.query(pause, [party.organisationId, "1 hour"]);
  expect(await world.readReferenceData()).toBe(4);
  expect(world.unreadable).toEqual([broken.organisationId]);
  const unknown = (hours: number) =>
    [...referenceDataKinds].sort().map((kind) => `${kind} unknown ${hours}`);
  expect(await readings(broken)).toEqual(unknown(1));
  await world.pool.query(
    "UPDATE ledger_reference_data SET next_read_at = now() WHERE organisation_id = $1",
    [broken.organisationId],
  );
  await world.pool.query(pause, [party.organisationId, "0"]);
  expect(await world.readReferenceData()).toBe(8);
  expect((await readings(party)).every((one) => one.endsWith(" told 6"))).toBe(true);
  expect(await readings(party)).toHaveLength(4);
});

test("a document that comes to another amount in the ledger is listed with both amounts, is not retried, and drifts no more once it is removed", async () => {
  const party = await oldParty();
  const { organisationId } = party;
  await world.raise(party, "10", "20", "-5");
  const documents = createDocumentStore(world.pool, createChanges(world.pool));
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
  const { rows } = await world.pool.query<{ told: string }>(
    "SELECT ledger_subtotal AS told FROM invoices WHERE organisation_id = $1 UNION ALL SELECT ledger_subtotal FROM credit_notes WHERE organisation_id = $1",
    [organisationId],
  );
  expect(rows.map(({ told }) => told).sort()).toEqual(["10.0000", "20.0000", "5.0000"]);
  expect(await drifting()).toEqual([]);
  const seen = async (status: string, subtotal: string) => {
    const { rows: found } = await world.pool.query<{ id: string; at: string }>(
      "SELECT ledger_invoice_id AS id, now()::text AS at FROM invoices WHERE organisation_id = $1 AND number = 'INV-0002'",
      [organisationId],
    );
    const [{ id, at } = { id: "", at: "" }] = found;
    const updatedAt = new Date(Date.now() + 1_000).toISOString();
    const amounts = { total: "25.2000", amountDue: "25.2000", subtotal };
    return syncInvoices(
      world.pool,
      organisationId,
      [{ id, status, sent: false, updatedAt, ...amounts }],
      at,
    );
  };
  const before = await world.calls(party);
  await seen("approved", "21.0000");
  expect(await drifting()).toEqual([["INV-0002", "20.0000", "21.0000", "drift"]]);
  expect((await documents.list(organisationId, null, page)).data).toEqual([]);
  const [drifted] = (await documents.list(organisationId, "drift", page)).data;
  expect(await documents.retry(actor, organisationId, drifted?.id ?? "")).toEqual({
    kind: "settled",
  });
  expect(await world.calls(party)).toBe(before);
  await seen("voided", "21.0000");
  expect(await drifting()).toEqual([]);
});
