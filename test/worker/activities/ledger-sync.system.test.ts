/**
 * The mirror on a real database and the demo ledger over HTTP: whatever a person does there by hand is so here, found by a webhook's hint
 * or by the sweep, within the budget of calls.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createChanges } from "../../../src/store/admin/changes.ts";
import { createCustomerStore } from "../../../src/store/admin/customers.ts";
import { createLedgerSyncAdminStore } from "../../../src/store/admin/ledger/ledger-sync.ts";
import type { SyncKind } from "../../../src/store/ledger-jobs/pending-notifications.ts";
import { recordNotifications } from "../../../src/store/ledger-sync/record-notifications.ts";
import { createLedgerSync } from "../../../src/store/ledger-sync/sync-store.ts";
import {
  createLedgerSyncActivities,
  type LedgerSyncActivities,
} from "../../../src/worker/activities/sync/ledger-sync.ts";
import { type Bookkeeper, bookkeeper } from "../../support/bookkeeper.ts";
import { until } from "../../support/system.ts";
import { type CreditParty, type CreditWorld, startCreditWorld } from "./credit-fixture.ts";
import { bookedCredit, ourCredit } from "./issue-credit.ts";

let world: CreditWorld;
let mirror: LedgerSyncActivities;
const woken: string[] = [];
const unfollowed: object[] = [];
const credited: string[] = [];

beforeAll(async () => {
  world = await startCreditWorld();
  mirror = createLedgerSyncActivities({
    mirroring: createLedgerSync(world.pool, world.sealing, 3_600_000),
    openLedger: world.openLedger,
    // No fault here is a silent one: nobody waits for it, however slow the machine is.
    callDeadlineMs: 20_000,
    onUnfollowed: (organisationId, what) => unfollowed.push({ organisationId, ...what }),
    startLedgerSync: async (organisationId) => woken.push(organisationId) > 0,
    startAllocation: async ({ subscriptionId }) => credited.push(subscriptionId) > 0,
  });
});
afterAll(() => world?.stop());

/** An organisation whose first sweep, which found nothing changed, is over; and a person at its books. */
async function partyWith(
  ...amounts: readonly string[]
): Promise<{ readonly party: CreditParty; readonly hand: Bookkeeper }> {
  const party = await world.party();
  await world.raise(party, ...amounts);
  await sweep(party);
  return { party, hand: bookkeeper(world.pool, world.demoUrl, party.tenantId) };
}

/** Has everything read again, in as many rounds as that takes. */
async function sweep(party: CreditParty): Promise<void> {
  await due(party);
  await rest(party);
}

/** From now on everything is to be read again. */
async function due({ organisationId, tenantId }: CreditParty): Promise<void> {
  await world.pool.query(
    `INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at) VALUES ($1, $2, now())
      ON CONFLICT (organisation_id) DO UPDATE SET next_sync_at = now(), not_before = NULL`,
    [organisationId, tenantId],
  );
}

/** A webhook's hint of an hour ago: what fails is not tried again within the test, until all hints are due by this. */
async function hintAt(
  { organisationId, tenantId }: CreditParty,
  kind: SyncKind,
  ledgerId?: string,
): Promise<void> {
  if (ledgerId !== undefined)
    await recordNotifications(world.pool, "xero", [{ tenantId, kind, ledgerId, changedAt: null }]);
  await world.pool.query(
    "UPDATE ledger_notifications SET try_at = now(), received_at = now() - interval '1 hour' WHERE organisation_id = $1",
    [organisationId],
  );
}

/** What is still to be looked at: `failures reason`. */
async function hints({ organisationId }: CreditParty): Promise<readonly string[]> {
  const text =
    "SELECT concat_ws(' ', failures, reason) AS told FROM ledger_notifications WHERE organisation_id = $1 ORDER BY told";
  const { rows } = await world.pool.query<{ told: string }>(text, [organisationId]);
  return rows.map(({ told }) => told);
}

/** The ledger's id of an invoice, or of ACME's contact. */
async function ledgerIdOf({ organisationId }: CreditParty, name: string): Promise<string> {
  const { rows } = await world.pool.query<{ id: string }>(
    `SELECT ledger_invoice_id AS id FROM invoices WHERE organisation_id = $1 AND number = $2
      UNION ALL SELECT ledger_contact_id FROM customers WHERE organisation_id = $1 AND code = $2`,
    [organisationId, name],
  );
  return rows[0]?.id ?? "";
}

/** Rounds until nothing is left to be looked at. */
async function rest({ organisationId }: Pick<CreditParty, "organisationId">): Promise<void> {
  await until("nothing is left to be looked at", async () => {
    const round = await mirror.syncBatch({ organisationId });
    expect(round.detail).toMatch(/^looked at \d+ in the ledger, \d+ changed here/);
    return round.state === "settled";
  });
}

/** The organisation's invoices: `status due`. */
async function invoices({ organisationId }: CreditParty): Promise<readonly string[]> {
  const { rows } = await world.pool.query<{ told: string }>(
    `SELECT concat_ws(' ', number, status, round(amount_due, 2)) AS told FROM invoices WHERE organisation_id = $1 ORDER BY number`,
    [organisationId],
  );
  return rows.map(({ told }) => told);
}

async function acme({ organisationId }: CreditParty): Promise<object | undefined> {
  const { rows } = await world.pool.query(
    "SELECT name, email, status, ledger_contact_id AS contact FROM customers WHERE organisation_id = $1 AND code = 'ACME'",
    [organisationId],
  );
  return rows[0];
}

describe.concurrent("what a person does in the ledger", () => {
  test("is found by the sweep: payments, voids, and credit put on an invoice and taken away again", async () => {
    const { party, hand } = await partyWith("10", "20", "30", "-40");
    expect(await invoices(party)).toEqual([
      "INV-0001 approved 12.00",
      "INV-0002 approved 24.00",
      "INV-0003 approved 36.00",
    ]);
    await hand.pay("INV-0001");
    await hand.setStatus("INV-0002", "VOIDED");
    await hand.allocate("CN-0001", "INV-0003", "16");
    await sweep(party);
    expect(await invoices(party)).toEqual([
      "INV-0001 paid 0.00",
      "INV-0002 voided 0.00",
      "INV-0003 approved 20.00",
    ]);
    expect(await ourCredit(world.pool, party)).toEqual(await bookedCredit(world.pool, party));
    await hand.takeBack("CN-0001");
    await hand.unpay("INV-0001");
    await sweep(party);
    expect(await invoices(party)).toContain("INV-0001 approved 12.00");
    expect(await invoices(party)).toContain("INV-0003 approved 36.00");
    await hand.setStatus("CN-0001", "VOIDED");
    await sweep(party);
    expect(await ourCredit(world.pool, party)).toMatchObject([
      { number: "CN-0001", remaining: "0.00", allocations: [] },
    ]);
    // What stays as it was is read again for a while and changes nothing.
    const { rows } = await world.pool.query(
      "SELECT invoices_changed + credit_notes_changed AS changed FROM ledger_sync_cursors WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(rows).toEqual([{ changed: 1 }]);
  });

  test("approving a draft puts held credit on it; deleting one is seen, and so is one that is gone altogether", async () => {
    const party = await world.party();
    await world.raise(party, "-40");
    await world.pool.query(
      "UPDATE organisations SET first_invoice_status = 'draft' WHERE id = $1",
      [party.organisationId],
    );
    await world.raise(party, "10", "20", "30");
    await sweep(party);
    const hand = bookkeeper(world.pool, world.demoUrl, party.tenantId);
    await hand.setStatus("INV-0001", "AUTHORISED");
    await hand.setStatus("INV-0002", "DELETED");
    await sweep(party);
    expect(credited).toContain(party.subscriptionId);
    await world.allocate(party);
    expect(await invoices(party)).toEqual([
      "INV-0001 paid 0.00",
      "INV-0002 deleted 0.00",
      "INV-0003 draft 36.00",
    ]);
    expect(await ourCredit(world.pool, party)).toEqual(await bookedCredit(world.pool, party));

    const text =
      "DELETE FROM demo_ledger.invoices WHERE tenant_id = $1 AND number = 'INV-0003' RETURNING invoice_id AS id";
    const { rows } = await world.pool.query<{ id: string }>(text, [party.tenantId]);
    const hint = {
      tenantId: party.tenantId,
      kind: "invoices",
      ledgerId: rows[0]?.id ?? "",
      changedAt: null,
    } as const;
    // For others' tenants, and for others' documents in ours, nobody is woken.
    const others = [
      { ...hint, tenantId: crypto.randomUUID() },
      { ...hint, ledgerId: crypto.randomUUID() },
    ];
    expect(await recordNotifications(world.pool, "xero", others)).toEqual([]);
    expect(await recordNotifications(world.pool, "xero", [...others, hint])).toEqual([
      party.organisationId,
    ]);
    await rest(party);
    expect(await invoices(party)).toContain("INV-0003 not_in_external 36.00");
    // That is not believed of one whose number is on another document there.
    const other = await ledgerIdOf(party, "INV-0001");
    await world.pool.query(
      "UPDATE invoices SET ledger_invoice_id = $2 WHERE organisation_id = $1 AND number = 'INV-0001'",
      [party.organisationId, crypto.randomUUID()],
    );
    await hintAt(party, "invoices", await ledgerIdOf(party, "INV-0001"));
    expect(await mirror.syncBatch(party)).toMatchObject({
      detail: expect.stringContaining(", 1 cannot be followed"),
    });
    expect(await invoices(party)).toContain("INV-0001 paid 0.00");
    expect(await hints(party)).toEqual(["0 the ledger has its number on another document"]);
    await world.pool.query(
      "UPDATE invoices SET ledger_invoice_id = $2 WHERE organisation_id = $1 AND number = 'INV-0001'",
      [party.organisationId, other],
    );
    await hintAt(party, "invoices");
    await rest(party);
  });

  test("to contacts: renamed, archived, restored and merged, their customers follow", async () => {
    const { party, hand } = await partyWith();
    await hand.changeContact("ACME", {
      Name: "Acme Holdings",
      EmailAddress: "pay@holdings.example",
    });
    await sweep(party);
    expect(await acme(party)).toMatchObject({
      name: "Acme Holdings",
      email: "pay@holdings.example",
      status: "active",
    });
    await hand.changeContact("ACME", { ContactStatus: "ARCHIVED" });
    await sweep(party);
    expect(await acme(party)).toMatchObject({ status: "inactive" });
    await hand.changeContact("ACME", { ContactStatus: "ACTIVE" });
    await sweep(party);
    expect(await acme(party)).toMatchObject({ status: "active" });
    // A contact that is not imported stays no customer, until one of ours is merged into it.
    const contact = await hand.addContact("NEW", "New Holdings");
    await sweep(party);
    expect(await acme(party)).toMatchObject({ name: "Acme Holdings" });
    await hand.mergeContact("ACME", "NEW");
    await sweep(party);
    expect(await acme(party)).toEqual({
      name: "New Holdings",
      email: "new@example.com",
      status: "active",
      contact,
    });
    const { rows } = await world.pool.query("SELECT 1 FROM customers WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    expect(rows).toHaveLength(3);
  });

  test("to a contact that the ledger does not list, or says that it went round and round, is believed once it was asked again", async () => {
    const { party, hand } = await partyWith();
    const contactId = await ledgerIdOf(party, "ACME");
    const look = async () => {
      await hintAt(party, "contacts", contactId);
      await rest(party);
    };
    const unlisted = {
      match: "GET /api.xro/2.0/Contacts?",
      kind: "status",
      status: 200,
      body: '{"Contacts":[]}',
    };
    await world.fault(party, unlisted);
    const before = await world.calls(party);
    await look();
    expect(await world.calls(party)).toBe(before + 2);
    expect(await acme(party)).toMatchObject({ status: "active" });
    await world.fault(party, unlisted);
    await world.fault(party, {
      ...unlisted,
      match: `GET /api.xro/2.0/Contacts/${contactId}`,
      status: 404,
      body: "gone",
    });
    await look();
    expect(await acme(party)).toMatchObject({ status: "inactive" });
    await look();
    expect(await acme(party)).toMatchObject({ status: "active" });

    // Made active by an operator, it is what its contact says.
    await hand.changeContact("ACME", { ContactStatus: "ARCHIVED" });
    await sweep(party);
    const customers = createCustomerStore(world.pool, createChanges(world.pool));
    const found = await customers.findByContacts(party.organisationId, [contactId]);
    const customerId = found.get(contactId)?.id ?? "";
    const actor = {
      operatorId: null,
      operatorName: "Olga",
      tokenId: null,
      operation: "test",
      requestId: null,
    };
    const activated = await customers.setStatus(actor, party.organisationId, customerId, "active");
    expect(activated).toMatchObject({ status: "active" });
    await rest(party);
    expect(await acme(party)).toMatchObject({ status: "inactive" });

    await hand.changeContact("ACME", { ContactStatus: "ACTIVE" });
    await sweep(party);
    const into = await hand.addContact("ROUND", "Round and round");
    const lead = (from: string, to: string) =>
      world.pool.query(
        `UPDATE demo_ledger.contacts SET status = 'ARCHIVED', merged_to = $2, updated_at = date_trunc('milliseconds', clock_timestamp())
          WHERE contact_id = $1`,
        [from, to],
      );
    await lead(contactId, into);
    await lead(into, contactId);
    await sweep(party);
    expect(await acme(party)).toMatchObject({ status: "inactive", contact: contactId });
    expect(await hints(party)).toEqual([]);
  });

  test("is followed past what cannot be read there, which is looked at again and says so", async () => {
    const { party, hand } = await partyWith("10", "20");
    await hand.pay("INV-0001");
    await hand.setStatus("INV-0002", "VOIDED");
    const id = await ledgerIdOf(party, "INV-0001");
    const body = JSON.stringify({
      Invoices: [
        { InvoiceID: id, Status: "UNHEARD" },
        { InvoiceID: crypto.randomUUID() },
        { Status: "UNHEARD" },
      ],
    });
    await world.fault(party, {
      match: "GET /api.xro/2.0/Invoices",
      kind: "status",
      status: 200,
      body,
      times: 2,
    });
    await due(party);
    const { organisationId } = party;
    await until("all that can be read is", async () =>
      /cannot be followed/.test((await mirror.syncBatch(party)).detail),
    );
    const reason = "what the ledger tells of it cannot be read";
    expect(await hints(party)).toEqual([`0 ${reason}`]);
    expect(unfollowed).toContainEqual({ organisationId, kind: "invoices", ids: [id], reason });
    const views = createLedgerSyncAdminStore(world.pool, createChanges(world.pool));
    expect(await views.get(organisationId)).toMatchObject({
      hints: 1,
      notificationsProblem: `1 cannot be followed: ${reason}`,
    });
    expect(unfollowed).toContainEqual({
      organisationId,
      kind: "invoices",
      ids: [],
      reason: "1 of a page cannot be read and have no id",
    });
    const actor = {
      operatorId: null,
      operatorName: "Olga",
      tokenId: null,
      operation: "test",
      requestId: null,
    };
    expect(await views.ask(actor, organisationId)).not.toBeNull();
    await rest(party);
    expect(await invoices(party)).toEqual(["INV-0001 paid 0.00", "INV-0002 voided 0.00"]);

    // Hints that fail keep no sweep from being made.
    await hand.unpay("INV-0001");
    await world.fault(party, {
      match: "GET /api.xro/2.0/Invoices?IDs",
      kind: "status",
      status: 500,
      times: 1,
    });
    await hintAt(party, "invoices", id);
    await due(party);
    await until("the sweep is made all the same", async () => {
      await mirror.syncBatch(party);
      return (await invoices(party)).includes("INV-0001 approved 12.00");
    });
    expect(await hints(party)).toEqual(["1 the ledger answered 500"]);

    // One that is asked for alone by now puts off only itself.
    await world.fault(party, {
      match: "GET /api.xro/2.0/Invoices?IDs",
      kind: "status",
      status: 500,
      times: 1,
    });
    await world.pool.query(
      "UPDATE ledger_notifications SET failures = 2 WHERE organisation_id = $1",
      [organisationId],
    );
    await hintAt(party, "invoices");
    expect(await mirror.syncBatch(party)).toMatchObject({
      detail: "waits: the ledger answered 500",
    });
    expect(await hints(party)).toEqual(["3 the ledger answered 500"]);
    expect(
      await createLedgerSync(world.pool, world.sealing, 3_600_000).open(organisationId).look(),
    ).toMatchObject({
      waitMs: 0,
    });
    await hintAt(party, "invoices");
    await rest(party);
    expect(await hints(party)).toEqual([]);
    expect(await views.get(organisationId)).toMatchObject({
      hints: 0,
      notificationsProblem: null,
      problem: null,
    });
  });
});

test("a ledger that cannot be asked is asked again later, and a limit of calls is waited for", async () => {
  const { party, hand } = await partyWith("10");
  const { organisationId } = party;
  await hand.pay("INV-0001");
  await due(party);
  await world.fault(party, { match: "GET /api.xro/2.0/Contacts", kind: "status", status: 503 });
  expect(await mirror.syncBatch({ organisationId })).toMatchObject({
    state: "waiting",
    detail: "waits: the ledger answered 503",
    nextInMs: 1_000,
  });
  await world.pool.query(
    "UPDATE ledger_sync_cursors SET not_before = not_before + interval '1 hour' WHERE organisation_id = $1",
    [organisationId],
  );
  expect(await mirror.syncBatch({ organisationId })).toMatchObject({
    detail: "waits: the ledger answered 503",
  });
  // What else is to be looked at goes on before the page that failed does.
  await world.pool.query(
    "UPDATE ledger_sync_cursors SET not_before = now(), next_sync_at = now() + interval '1 hour' WHERE organisation_id = $1",
    [organisationId],
  );
  await hintAt(party, "invoices", await ledgerIdOf(party, "INV-0001"));
  await mirror.syncBatch({ organisationId });
  expect(await invoices(party)).toEqual(["INV-0001 paid 0.00"]);
  expect(
    await createLedgerSyncAdminStore(world.pool, createChanges(world.pool)).get(organisationId),
  ).toMatchObject({
    isWaiting: true,
    problem: "the ledger answered 503",
    hints: 0,
  });
  await due(party);
  await world.fault(party, {
    match: "GET /api.xro/2.0/Contacts",
    kind: "rate_limit",
    problem: "day",
    retryAfterSeconds: 7_200,
  });
  expect(await mirror.syncBatch({ organisationId })).toMatchObject({
    detail: "paused: day limit",
    nextInMs: 7_200_000,
  });
  expect(await mirror.startMirrors({ after: null })).toMatchObject({ next: null });
  expect(woken).not.toContain(organisationId);
  await world.pool.query(
    "UPDATE ledger_connections SET paused_until = NULL WHERE organisation_id = $1",
    [organisationId],
  );
  await mirror.startMirrors({ after: null });
  expect(woken).toContain(organisationId);
  await rest(party);
  expect(await invoices(party)).toEqual(["INV-0001 paid 0.00"]);
});
