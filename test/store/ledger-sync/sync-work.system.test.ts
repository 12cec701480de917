/** What is to be looked at in the ledger and when: hints of webhooks, and the sweep behind them. */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { leaveNotifications } from "../../../src/store/ledger-jobs/pending-notifications.ts";
import { recordNotifications } from "../../../src/store/ledger-sync/record-notifications.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { addSubscription, anId, raiseInvoice } from "../../worker/activities/issue-credit.ts";
import {
  addInvoice,
  addNote,
  ledgerIdOf,
  type Party,
  take,
  takenInvoices,
} from "../ledger-jobs/credit-party.ts";
import {
  addConnectedParty,
  clockOf,
  hintsOf,
  invoiceLooked,
  ledgerTime,
  mirroringOf,
  syncIntervalMs,
} from "./sync-fixture.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 8);
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const open = (party: Party) => mirroringOf(pool).open(party.organisationId);

const leave = (party: Party, ledgerId: string, changedAt: string | null = null) =>
  leaveNotifications(pool, party.organisationId, "invoices", [{ ledgerId, changedAt }]);

async function isFound({ organisationId }: Party): Promise<boolean> {
  return (await mirroringOf(pool).find(null, 1_000)).includes(organisationId);
}

describe.concurrent("a hint", () => {
  test("is taken once, and one that comes while it is looked at stays", async () => {
    const party = await addConnectedParty(pool);
    await addInvoice(party, "100");
    const id = await ledgerIdOf(party, "INV-0001");
    await leave(party, id);
    expect(await isFound(party)).toBe(true);
    const first = await open(party).claimNotifications();
    expect(first).toMatchObject({ kind: "invoices", hints: [{ ledgerId: id }] });
    await leave(party, id);
    if (first !== null) await open(party).finishNotifications(first, [], []);
    const second = await open(party).claimNotifications();
    expect(second?.hints).toHaveLength(1);
    // One that has to be looked at again is, in a while that grows with the time that it has waited.
    await pool.query(
      "UPDATE ledger_notifications SET received_at = now() - interval '1 hour' WHERE organisation_id = $1",
      [party.organisationId],
    );
    if (second !== null) await open(party).finishNotifications(second, [id], []);
    expect(await open(party).claimNotifications()).toBeNull();
    expect(await hintsOf(party)).toEqual([`invoices ${id}`]);
    await pool.query(
      "UPDATE ledger_sync_cursors SET next_sync_at = now() + interval '1 hour' WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect((await open(party).look()).nextInMs).toBeGreaterThan(0);
  });

  test("whose call failed is asked for again, from the second time on alone and behind the others, and later each time", async () => {
    const party = await addConnectedParty(pool);
    for (const amount of ["10", "20", "30"]) await addInvoice(party, amount);
    const ids = await Promise.all(
      ["INV-0001", "INV-0002", "INV-0003"].map((number) => ledgerIdOf(party, number)),
    );
    const [poor = "", other = "", fresh = ""] = ids;
    const due = (ledgerIds: readonly string[]) =>
      pool.query(
        `UPDATE ledger_notifications SET try_at = now(), received_at = now() - interval '100 seconds'
          WHERE organisation_id = $1 AND ledger_id = ANY ($2)`,
        [party.organisationId, ledgerIds],
      );
    const taken = async () => {
      const some = await open(party).claimNotifications();
      if (some === null) throw new Error("something is to be looked at");
      return { some, ids: some.hints.map(({ ledgerId }) => ledgerId).sort() };
    };
    await leave(party, poor);
    await leave(party, other);
    for (const _ of [1, 2]) {
      await due([poor, other]);
      const together = await taken();
      expect(together.ids).toEqual([poor, other].sort());
      await open(party).failNotifications(together.some, "the ledger answered 500");
      expect(await open(party).claimNotifications()).toBeNull();
    }
    await leave(party, fresh);
    await due([poor, other, fresh]);
    const first = await taken();
    expect(first.ids).toEqual([fresh]);
    await open(party).finishNotifications(first.some, [], []);
    const alone = await taken();
    expect(alone.ids).toHaveLength(1);
    await open(party).failNotifications(alone.some, "the ledger answered 500");
    const last = await taken();
    expect([...alone.ids, ...last.ids].sort()).toEqual([poor, other].sort());
    // What was looked at and cannot be followed stays, says why, and is no reason to be alone, nor for the others to be any longer.
    await open(party).finishNotifications(
      last.some,
      [],
      [{ ledgerId: last.ids[0] ?? "", reason: "unread" }],
    );
    const { rows } = await pool.query<{ told: string; in_s: number }>(
      `SELECT concat_ws(' ', failures, reason) AS told, extract(epoch FROM try_at - now())::float8 AS in_s FROM ledger_notifications
        WHERE organisation_id = $1 ORDER BY failures`,
      [party.organisationId],
    );
    expect(rows.map(({ told }) => told)).toEqual(["0 unread", "1 the ledger answered 500"]);
    for (const { in_s: inSeconds } of rows) expect(inSeconds).toBeGreaterThan(30);
    // Found again by a sweep it waits as it did, and told of anew for a minute at most.
    const soon = async () => {
      const text =
        "SELECT 1 FROM ledger_notifications WHERE organisation_id = $1 AND ledger_id = $2 AND try_at <= now() + interval '1 minute'";
      return (await pool.query(text, [party.organisationId, last.ids[0]])).rowCount;
    };
    await pool.query(
      "UPDATE ledger_notifications SET try_at = now() + interval '1 hour' WHERE organisation_id = $1",
      [party.organisationId],
    );
    const received =
      "SELECT received_at FROM ledger_notifications WHERE organisation_id = $1 AND ledger_id = $2";
    const before = await pool.query(received, [party.organisationId, last.ids[0]]);
    await open(party).leaveNotifications("invoices", [
      { ledgerId: last.ids[0] ?? "", changedAt: null },
    ]);
    expect(await soon()).toBe(0);
    expect((await pool.query(received, [party.organisationId, last.ids[0]])).rows).toEqual(
      before.rows,
    );
    await leave(party, last.ids[0] ?? "");
    expect(await soon()).toBe(1);
  });

  test("that calls failed for keeps none of any kind waiting, and the first that is looked at again brings the others of its kind along", async () => {
    const party = await addConnectedParty(pool);
    for (const amount of ["10", "20", "30", "40"]) await addInvoice(party, amount);
    const names = ["INV-0001", "INV-0002", "INV-0003", "INV-0004"];
    const [fresh = "", ...failed] = await Promise.all(
      names.map((number) => ledgerIdOf(party, number)),
    );
    const contacts =
      "SELECT ledger_contact_id AS id FROM customers WHERE organisation_id = $1 LIMIT 1";
    const { rows } = await pool.query<{ id: string }>(contacts, [party.organisationId]);
    const contact = rows[0]?.id ?? "";
    await leaveNotifications(pool, party.organisationId, "contacts", [
      { ledgerId: contact, changedAt: null },
    ]);
    for (const id of [fresh, ...failed]) await leave(party, id);
    await pool.query(
      `UPDATE ledger_notifications SET failures = 5, reason = 'the ledger answered 500', received_at = now() - interval '1 hour',
          try_at = now() - CASE WHEN ledger_id = $2 THEN interval '2 hours' WHEN kind = 'contacts' THEN interval '1 hour' ELSE interval '0' END
        WHERE organisation_id = $1 AND ledger_id <> $3`,
      [party.organisationId, failed[0], fresh],
    );
    const looked: (readonly string[])[] = [];
    for (;;) {
      const some = await open(party).claimNotifications();
      if (some === null) break;
      looked.push([
        `${some.kind} ${some.isAlone}`,
        ...some.hints.map(({ ledgerId }) => ledgerId).sort(),
      ]);
      if (some.kind === "contacts")
        await open(party).failNotifications(some, "the ledger answered 500");
      else await open(party).finishNotifications(some, [], []);
    }
    expect(looked).toEqual([
      ["invoices false", fresh],
      ["invoices true", failed[0]],
      ["invoices false", ...failed.slice(1).sort()],
      ["contacts true", contact],
    ]);
    expect(await hintsOf(party)).toEqual([`contacts ${contact}`]);
  });

  test("is noted only for who is connected, and wakes only who can be asked now", async () => {
    const party = await addConnectedParty(pool);
    await addInvoice(party, "100");
    const tenantId = party.organisationId;
    const ledgerId = await ledgerIdOf(party, "INV-0001");
    const note = () =>
      recordNotifications(pool, "xero", [
        { tenantId, kind: "invoices", ledgerId, changedAt: null },
      ]);
    const connection = (assignments: string) =>
      pool.query(`UPDATE ledger_connections SET ${assignments} WHERE organisation_id = $1`, [
        party.organisationId,
      ]);
    await connection(
      "disconnected_at = now(), disconnected_reason = 'taken back', encrypted_secret = NULL, encryption_key_id = NULL",
    );
    expect(await note()).toEqual([]);
    expect(await hintsOf(party)).toEqual([]);
    await connection(
      `disconnected_at = NULL, disconnected_reason = NULL, encrypted_secret = '\\x00', encryption_key_id = 'key',
        paused_until = now() + interval '1 hour', paused_reason = 'day limit'`,
    );
    expect(await note()).toEqual([]);
    expect(await hintsOf(party)).toEqual([`invoices ${ledgerId}`]);
    await connection("paused_until = NULL, paused_reason = NULL");
    await open(party).look();
    await open(party).reschedule({
      delayMs: 3_600_000,
      reason: "the ledger answered 503",
      isFailure: true,
    });
    expect(await note()).toEqual([]);
    await open(party).reschedule(null);
    expect(await note()).toEqual([party.organisationId]);
  });

  test("of what is not ours, or is known to be as new already, needs no call", async () => {
    const party = await addConnectedParty(pool);
    await addInvoice(party, "100");
    const id = await ledgerIdOf(party, "INV-0001");
    await open(party).syncInvoices(
      [invoiceLooked(id, { updatedAt: ledgerTime(7) })],
      await clockOf(party),
    );
    await leave(party, anId());
    await leave(party, id, ledgerTime(7));
    await leaveNotifications(pool, party.organisationId, "contacts", [
      { ledgerId: anId(), changedAt: null },
    ]);
    await leaveNotifications(pool, party.organisationId, "credit_notes", [
      { ledgerId: anId(), changedAt: null },
    ]);
    expect(await open(party).claimNotifications()).toBeNull();
    expect(await hintsOf(party)).toEqual([]);
    // A later change, and one of which the time is not told, are looked at.
    await leave(party, id, ledgerTime(8));
    expect((await open(party).claimNotifications())?.hints).toHaveLength(1);
    await leave(party, id);
    await leave(party, id, ledgerTime(7));
    expect((await open(party).claimNotifications())?.hints).toHaveLength(1);
  });

  test("waits where the document may be on its way to become ours, or one of our operations is on its way with it", async () => {
    const party = await addConnectedParty(pool);
    await addNote(party, "30");
    await addInvoice(party, "100");
    const id = await ledgerIdOf(party, "INV-0001");
    await take(party);
    await leave(party, id);
    const other = { ...party, subscriptionId: await addSubscription(pool, party.organisationId) };
    await raiseInvoice(pool, party.organisationId, other.subscriptionId, "10");
    await takenInvoices(other, "10", { status: "approved" });
    const unknown = anId();
    await leave(party, unknown);
    expect(await open(party).claimNotifications()).toBeNull();
    expect(await hintsOf(party)).toEqual([`invoices ${id}`, `invoices ${unknown}`].sort());
  });
});

describe.concurrent("a sweep", () => {
  test("reads kind after kind and page after page from its mark, and then waits for its time", async () => {
    const party = await addConnectedParty(pool);
    const scope = open(party);
    expect(await isFound(party)).toBe(true);
    expect(await scope.look()).toMatchObject({ waitMs: 0, nextInMs: 0 });
    const contacts = await scope.claimSyncPage();
    const created = Date.now() - 3_600_000;
    expect(contacts).toMatchObject({ kind: "contacts", cursor: null });
    expect(Math.abs(Date.parse(contacts?.since ?? "") + 300_000 - created)).toBeLessThan(60_000);
    if (contacts === null) throw new Error("a sweep is due");
    await scope.endPage(contacts, { cursor: "2", highWater: ledgerTime(100), changed: 2 });
    // Another round that had the same page moves nothing.
    await scope.endPage(contacts, { cursor: "7", highWater: ledgerTime(50), changed: 2 });
    const last = await scope.claimSyncPage();
    // The newest come first: the mark stays until all pages are read.
    expect(last).toMatchObject({ kind: "contacts", cursor: "2", since: contacts.since });
    if (last === null) throw new Error("it goes on");
    await scope.endPage(last, { cursor: null, highWater: null, changed: 1 });
    for (const kind of ["credit_notes", "invoices"]) {
      const page = await scope.claimSyncPage();
      expect(page?.kind).toBe(kind);
      if (page !== null) await scope.endPage(page, { cursor: null, highWater: null, changed: 0 });
    }
    expect(await scope.claimSyncPage()).toBeNull();
    expect(await scope.look()).toMatchObject({ nextInMs: null });
    expect(await isFound(party)).toBe(false);
    const { rows } = await pool.query(
      `SELECT contacts_changed, invoices_changed, round(extract(epoch FROM next_sync_at - now()) * 1000 / $2, 1)::float8 AS next
        FROM ledger_sync_cursors WHERE organisation_id = $1`,
      [party.organisationId, syncIntervalMs],
    );
    expect(rows).toEqual([{ contacts_changed: 3, invoices_changed: 0, next: 1 }]);
  });

  /** Ends the sweep that is due; in how many times of the setting the next one is. */
  async function sweepOnce(party: Party): Promise<number> {
    await open(party).look();
    for (;;) {
      const page = await open(party).claimSyncPage();
      if (page === null) break;
      await open(party).endPage(page, { cursor: null, highWater: null, changed: 0 });
    }
    const { rows } = await pool.query<{ next: number }>(
      "SELECT round(extract(epoch FROM next_sync_at - now()) * 1000 / $2)::float8 AS next FROM ledger_sync_cursors WHERE organisation_id = $1",
      [party.organisationId, syncIntervalMs],
    );
    return rows[0]?.next ?? 0;
  }

  test("is four times rarer while less than a fifth of the most that was ever left of the ledger's day is left", async () => {
    const party = await addConnectedParty(pool);
    const left = (day: number) =>
      pool.query(
        `INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until, day_remaining) VALUES ($1, '{}', '{}', '{}', $2)
          ON CONFLICT (organisation_id) DO UPDATE SET day_remaining = $2`,
        [party.organisationId, day],
      );
    const due = () =>
      pool.query("UPDATE ledger_sync_cursors SET next_sync_at = now() WHERE organisation_id = $1", [
        party.organisationId,
      ]);
    await left(4_800);
    expect(await sweepOnce(party)).toBe(1);
    await left(900);
    await due();
    expect(await sweepOnce(party)).toBe(4);
    await left(1_000);
    await due();
    expect(await sweepOnce(party)).toBe(1);
  });

  test("that is asked for while one is under way is made after it", async () => {
    const party = await addConnectedParty(pool);
    await open(party).look();
    await open(party).claimSyncPage();
    await pool.query(
      "UPDATE ledger_sync_cursors SET requested_at = clock_timestamp() WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(await sweepOnce(party)).toBe(1);
    const { rows } = await pool.query(
      "SELECT began_at > requested_at AS is_after FROM ledger_sync_cursors WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(rows).toEqual([{ is_after: true }]);
  });

  test("waits where the ledger could not be asked, and reads everything anew of another tenant", async () => {
    const party = await addConnectedParty(pool);
    const scope = open(party);
    await scope.look();
    const page = await scope.claimSyncPage();
    if (page !== null)
      await scope.endPage(page, { cursor: null, highWater: ledgerTime(0), changed: 0 });
    await scope.failSyncPage(7_200_000);
    await scope.reschedule({
      delayMs: 3_600_000,
      reason: "the ledger answered 503",
      isFailure: true,
    });
    expect(await scope.look()).toMatchObject({ reason: "the ledger answered 503", failures: 1 });
    expect((await scope.look()).waitMs).toBeGreaterThan(3_000_000);
    expect(await isFound(party)).toBe(false);
    // What else can be looked at meanwhile says nothing of the page that failed.
    await scope.reschedule(null);
    expect(await scope.look()).toMatchObject({
      waitMs: 0,
      failures: 1,
      reason: "the ledger answered 503",
    });
    expect((await scope.look()).nextInMs).toBeGreaterThan(6_000_000);
    expect([await isFound(party), await scope.claimSyncPage()]).toEqual([false, null]);
    await pool.query(
      "UPDATE ledger_sync_cursors SET next_sync_at = now() WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(await isFound(party)).toBe(true);
    const again = await scope.claimSyncPage();
    if (again !== null) await scope.endPage(again, { cursor: "2", highWater: null, changed: 0 });
    expect(await scope.look()).toMatchObject({ waitMs: 0, failures: 0, reason: null });
    await pool.query(
      "UPDATE ledger_connections SET tenant_id = 'another' WHERE organisation_id = $1",
      [party.organisationId],
    );
    await scope.look();
    const { rows } = await pool.query(
      "SELECT tenant_id, sync_kind, contacts_since FROM ledger_sync_cursors WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(rows).toEqual([{ tenant_id: "another", sync_kind: null, contacts_since: null }]);
  });

  test("is made first somewhere within the time between two, and not before the connection is as old as that", async () => {
    const parties = await Promise.all(Array.from({ length: 4 }, () => addConnectedParty(pool)));
    const ids = parties.map(({ organisationId }) => organisationId);
    const [made, looked] = ids;
    await pool.query(
      "UPDATE ledger_connections SET created_at = now() WHERE organisation_id = $1",
      [made],
    );
    await pool.query("DELETE FROM ledger_sync_cursors WHERE organisation_id = ANY ($1)", [ids]);
    await mirroringOf(pool)
      .open(looked ?? "")
      .look();
    await mirroringOf(pool).find(null, 1_000);
    const { rows } = await pool.query<{ id: string; share: number }>(
      `SELECT s.organisation_id AS id, extract(epoch FROM s.next_sync_at - now())::float8 * 1000 / $2 AS share
        FROM ledger_sync_cursors s WHERE s.organisation_id = ANY ($1)`,
      [ids, syncIntervalMs],
    );
    const shares = rows.filter(({ id }) => id !== made).map(({ share }) => share);
    // At the same instant for all would be so by design, not by chance: three random ones differ.
    expect(new Set(shares).size).toBe(3);
    for (const share of shares) expect(share).toBeLessThanOrEqual(1);
    // A minute for the test itself.
    expect(rows.find(({ id }) => id === made)?.share).toBeGreaterThan(1 - 60_000 / syncIntervalMs);
  });
});
