/**
 * When an incremental sync runs and from which cursors it reads, and the documents that it has read
 * because the ledger reports some of their changes in no list. LEDGER-18, LEDGER-25
 */
import type pg from "pg";
import { describe, expect } from "vitest";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { copiedId, copyRows } from "../../support/row-copies.ts";
import { fromNow, tables } from "../../support/rows.ts";
import { addInvoice, ledgerIdOf, type Party } from "../ledger-jobs/credit-party.ts";
import {
  addConnectedParty,
  isFound,
  ledgerSyncOf,
  ledgerTime,
  notificationsOf,
  open,
  syncIntervalMs,
} from "./sync-fixture.ts";

describe.concurrent("an incremental sync", () => {
  test("reads each kind by page from its cursor, and is due again after an interval", async ({
    pool,
  }) => {
    const party = await addConnectedParty(pool);
    const sync = open(pool, party);
    expect(await isFound(pool, party)).toBe(true);
    expect(await sync.state()).toMatchObject({ waitMs: 0, nextInMs: 0 });
    const contacts = await sync.claimSyncPage();
    const created = Date.now() - 3_600_000;
    expect(contacts).toMatchObject({ kind: "contacts", cursor: null });
    expect(Math.abs(Date.parse(contacts?.since ?? "") + 300_000 - created)).toBeLessThan(60_000);
    if (contacts === null) throw new Error("a sync is due");
    await sync.endPage(contacts, { cursor: "2", highWater: ledgerTime(100), changed: 2 });
    // Another batch with the same page moves nothing.
    await sync.endPage(contacts, { cursor: "7", highWater: ledgerTime(50), changed: 2 });
    const last = await sync.claimSyncPage();
    // The newest come first, so the cursor stays until all pages are read.
    expect(last).toMatchObject({ kind: "contacts", cursor: "2", since: contacts.since });
    if (last === null) throw new Error("a page is left");
    await sync.endPage(last, { cursor: null, highWater: null, changed: 1 });
    for (const kind of ["credit_notes", "invoices"]) {
      const page = await sync.claimSyncPage();
      expect(page?.kind).toBe(kind);
      if (page !== null) await sync.endPage(page, { cursor: null, highWater: null, changed: 0 });
    }
    expect(await sync.claimSyncPage()).toBeNull();
    expect(await sync.state()).toMatchObject({ nextInMs: null });
    expect(await isFound(pool, party)).toBe(false);
    const { rows } = await pool.query(
      `SELECT contacts_changed, invoices_changed, round(extract(epoch
        FROM next_sync_at - now()) * 1000 / $2, 1)::float8 AS next
        FROM ledger_sync_cursors WHERE organisation_id = $1`,
      [party.organisationId, syncIntervalMs],
    );
    expect(rows).toEqual([{ contacts_changed: 3, invoices_changed: 0, next: 1 }]);
  });

  /** Ends the due sync. Returns after how many intervals the next one is due. */
  async function syncOnce(pool: pg.Pool, party: Party): Promise<number> {
    await open(pool, party).state();
    for (;;) {
      const page = await open(pool, party).claimSyncPage();
      if (page === null) break;
      await open(pool, party).endPage(page, { cursor: null, highWater: null, changed: 0 });
    }
    const { rows } = await pool.query<{ next: number }>(
      `SELECT round(extract(epoch FROM next_sync_at - now()) * 1000 / $2)::float8 AS next
        FROM ledger_sync_cursors WHERE organisation_id = $1`,
      [party.organisationId, syncIntervalMs],
    );
    return rows[0]?.next ?? 0;
  }

  test("is four times rarer while less than a fifth of the daily calls is left", async ({
    pool,
  }) => {
    const party = await addConnectedParty(pool);
    const left = (day: number) =>
      pool.query(
        `INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until, day_remaining)
          VALUES ($1, '{}', '{}', '{}', $2)
          ON CONFLICT (organisation_id) DO UPDATE SET day_remaining = $2`,
        [party.organisationId, day],
      );
    const due = () =>
      pool.query("UPDATE ledger_sync_cursors SET next_sync_at = now() WHERE organisation_id = $1", [
        party.organisationId,
      ]);
    await left(4_800);
    expect(await syncOnce(pool, party)).toBe(1);
    await left(900);
    await due();
    expect(await syncOnce(pool, party)).toBe(4);
    await left(1_000);
    await due();
    expect(await syncOnce(pool, party)).toBe(1);
  });

  test("requested during another one follows it", async ({ pool }) => {
    const party = await addConnectedParty(pool);
    await open(pool, party).state();
    await open(pool, party).claimSyncPage();
    await pool.query(
      "UPDATE ledger_sync_cursors SET requested_at = clock_timestamp() WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(await syncOnce(pool, party)).toBe(1);
    const { rows } = await pool.query(
      `SELECT began_at > requested_at AS is_after FROM ledger_sync_cursors
        WHERE organisation_id = $1`,
      [party.organisationId],
    );
    expect(rows).toEqual([{ is_after: true }]);
  });

  test("waits after a failed call, and reads everything again for another tenant", async ({
    pool,
  }) => {
    const party = await addConnectedParty(pool);
    const sync = open(pool, party);
    await sync.state();
    const page = await sync.claimSyncPage();
    if (page !== null)
      await sync.endPage(page, { cursor: null, highWater: ledgerTime(0), changed: 0 });
    await sync.reschedule({
      delayMs: 3_600_000,
      reason: "the ledger answered 503",
      isFailure: true,
      pageMs: 7_200_000,
    });
    expect(await sync.state()).toMatchObject({ reason: "the ledger answered 503", failures: 1 });
    expect((await sync.state()).waitMs).toBeGreaterThan(3_000_000);
    expect(await isFound(pool, party)).toBe(false);
    // Other successful reads say nothing about the failed page.
    await sync.reschedule(null);
    expect(await sync.state()).toMatchObject({
      waitMs: 0,
      failures: 1,
      reason: "the ledger answered 503",
    });
    expect((await sync.state()).nextInMs).toBeGreaterThan(6_000_000);
    expect([await isFound(pool, party), await sync.claimSyncPage()]).toEqual([false, null]);
    await tables(pool).ledgerSyncCursor.updateMany({
      where: { organisationId: party.organisationId },
      data: { nextSyncAt: new Date() },
    });
    expect(await isFound(pool, party)).toBe(true);
    const again = await sync.claimSyncPage();
    if (again !== null) await sync.endPage(again, { cursor: "2", highWater: null, changed: 0 });
    expect(await sync.state()).toMatchObject({ waitMs: 0, failures: 0, reason: null });
    await tables(pool).ledgerConnection.updateMany({
      where: { organisationId: party.organisationId },
      data: { tenantId: "another" },
    });
    await sync.state();
    const where = { organisationId: party.organisationId };
    expect(await tables(pool).ledgerSyncCursor.findMany({ where })).toMatchObject([
      { tenantId: "another", syncKind: null, contactsSince: null },
    ]);
  });

  test("is first due at a random time within one interval of the connection", async ({ pool }) => {
    const parties = await Promise.all(Array.from({ length: 4 }, () => addConnectedParty(pool)));
    const ids = parties.map(({ organisationId }) => organisationId);
    const [recent, read] = ids;
    await tables(pool).ledgerConnection.updateMany({
      where: { organisationId: recent ?? "" },
      data: { createdAt: new Date() },
    });
    await tables(pool).ledgerSyncCursor.deleteMany({ where: { organisationId: { in: ids } } });
    await ledgerSyncOf(pool)
      .open(read ?? "")
      .state();
    await ledgerSyncOf(pool).find(null, 1_000);
    const { rows } = await pool.query<{ id: string; share: number }>(
      `SELECT s.organisation_id AS id, extract(epoch
        FROM s.next_sync_at - now())::float8 * 1000 / $2 AS share
        FROM ledger_sync_cursors s WHERE s.organisation_id = ANY ($1)`,
      [ids, syncIntervalMs],
    );
    const shares = rows.filter(({ id }) => id !== recent).map(({ share }) => share);
    // Three random instants differ.
    expect(new Set(shares).size).toBe(3);
    for (const share of shares) expect(share).toBeLessThanOrEqual(1);
    // A minute is left for the test itself.
    expect(rows.find(({ id }) => id === recent)?.share).toBeGreaterThan(
      1 - 60_000 / syncIntervalMs,
    );
  });
});

/** Reads every page of a due sync up to `highWater`. Returns from when each kind was read. */
async function syncedSince(
  pool: pg.Pool,
  party: Party,
  highWater: string | null,
  forgetsDrafts = false,
): Promise<Record<string, number>> {
  await tables(pool).ledgerSyncCursor.updateMany({
    where: { organisationId: party.organisationId },
    data: { nextSyncAt: new Date() },
  });
  const since: Record<string, number> = {};
  for (;;) {
    const page = await open(pool, party).claimSyncPage(forgetsDrafts);
    if (page === null) return since;
    since[page.kind] = Date.parse(page.since);
    await open(pool, party).endPage(page, { cursor: null, highWater, changed: 0 });
  }
}

test("an incremental sync moves its cursors with time, at most to its start", async ({ pool }) => {
  const party = await addConnectedParty(pool);
  const began = Date.now();
  await syncedSince(pool, party, null);
  // The cursor is five minutes before the sync, and the next one begins five minutes earlier.
  const idle = await syncedSince(pool, party, null);
  for (const kind of ["contacts", "credit_notes", "invoices"]) {
    expect(Math.abs((idle[kind] ?? 0) + 600_000 - began)).toBeLessThan(60_000);
  }
  // A newer change moves the cursor. A change in the future does not hide others.
  const newest = new Date(began - 60_000).toISOString();
  await syncedSince(pool, party, newest);
  expect((await syncedSince(pool, party, "9999-12-31T23:59:59.000Z")).invoices).toBe(
    Date.parse(newest) - 300_000,
  );
  const late = await syncedSince(pool, party, null);
  expect(Math.abs((late.invoices ?? 0) + 300_000 - Date.now())).toBeLessThan(60_000);
});

test("an incremental sync reads partly paid, unsent invoices once a day", async ({ pool }) => {
  const party = await addConnectedParty(pool);
  for (const amount of ["100", "100", "100", "100"]) await addInvoice(party, amount);
  for (const [number, due, sent] of [
    ["INV-0001", "40", false],
    ["INV-0002", "40", true],
    ["INV-0003", "100", false],
    ["INV-0004", "99", false],
  ] as const) {
    await tables(pool).invoice.updateMany({
      where: { organisationId: party.organisationId, number },
      data: { amountDue: due, sent },
    });
  }
  await syncedSince(pool, party, null);
  const expected = [await ledgerIdOf(party, "INV-0001"), await ledgerIdOf(party, "INV-0004")];
  expect(await notificationsOf(party)).toEqual(expected.map((id) => `invoices ${id}`).sort());
  const where = { organisationId: party.organisationId };
  await tables(pool).ledgerNotification.deleteMany({ where });
  await syncedSince(pool, party, null);
  expect(await notificationsOf(party)).toEqual([]);
  await tables(pool).ledgerSyncCursor.updateMany({
    where,
    data: { partPaidCheckedAt: fromNow(-25 * 60) },
  });
  await syncedSince(pool, party, null);
  expect(await notificationsOf(party)).toHaveLength(2);
});

test("an incremental sync looks up 200 drafts in turn if the ledger forgets deleted ones", async ({
  pool,
}) => {
  const party = await addConnectedParty(pool);
  const { organisationId } = party;
  await addInvoice(party, "100", { status: "draft" });
  await inTransaction(pool, async (client) => {
    await client.query("SET LOCAL session_replication_role = replica");
    const values = {
      id: copiedId("id"),
      number: "t.number || '-' || n",
      ledger_invoice_id: "t.ledger_invoice_id || n",
    };
    await copyRows(client, { organisationId, table: "invoices", copies: 300, values });
  });
  await addInvoice(party, "100", { status: "awaiting_approval" });
  await addInvoice(party, "100");
  await syncedSince(pool, party, null);
  expect(await notificationsOf(party)).toEqual([]);
  const looked = async () => {
    await syncedSince(pool, party, null, true);
    const found = await notificationsOf(party);
    await tables(pool).ledgerNotification.deleteMany({ where: { organisationId } });
    return found;
  };
  const [first, second, again] = [await looked(), await looked(), await looked()];
  expect([first.length, second.length]).toEqual([200, 102]);
  expect(new Set([...first, ...second]).size).toBe(302);
  expect(again).toEqual(first);
});
