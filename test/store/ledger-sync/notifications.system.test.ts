/** Which change notifications are read and when: their claim, their failure and their cleanup. */
import type pg from "pg";
import { describe, expect } from "vitest";
import { saveNotifications } from "../../../src/store/ledger-sync/pending-notifications.ts";
import { recordNotifications } from "../../../src/store/ledger-sync/record-notifications.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { fromNow, tables } from "../../support/rows.ts";
import { addSubscription, anId, issueInvoice } from "../../worker/activities/issue-credit.ts";
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
  isFound,
  ledgerTime,
  notificationsOf,
  observedInvoice,
  open,
} from "./sync-fixture.ts";

const notify = (pool: pg.Pool, party: Party, ledgerId: string, changedAt: string | null = null) =>
  saveNotifications(pool, party.organisationId, "invoices", [{ ledgerId, changedAt }]);

describe.concurrent("a change notification", () => {
  test("is claimed once, and one that arrives during the read stays", async ({ pool }) => {
    const party = await addConnectedParty(pool);
    await addInvoice(party, "100");
    const id = await ledgerIdOf(party, "INV-0001");
    await notify(pool, party, id);
    expect(await isFound(pool, party)).toBe(true);
    const first = await open(pool, party).claimNotifications();
    expect(first).toMatchObject({ kind: "invoices", notifications: [{ ledgerId: id }] });
    await notify(pool, party, id);
    if (first !== null) await open(pool, party).finishNotifications(first, [], []);
    const second = await open(pool, party).claimNotifications();
    expect(second?.notifications).toHaveLength(1);
    // A notification that must be read again is, after a pause that grows with its age.
    await tables(pool).ledgerNotification.updateMany({
      where: { organisationId: party.organisationId },
      data: { receivedAt: fromNow(-60) },
    });
    if (second !== null) await open(pool, party).finishNotifications(second, [id], []);
    expect(await open(pool, party).claimNotifications()).toBeNull();
    expect(await notificationsOf(party)).toEqual([`invoices ${id}`]);
    await tables(pool).ledgerSyncCursor.updateMany({
      where: { organisationId: party.organisationId },
      data: { nextSyncAt: fromNow(60) },
    });
    expect((await open(pool, party).state()).nextInMs).toBeGreaterThan(0);
  });

  test("whose call failed is requested again later, after two failures alone", async ({ pool }) => {
    const party = await addConnectedParty(pool);
    for (const amount of ["10", "20", "30"]) await addInvoice(party, amount);
    const ids = await Promise.all(
      ["INV-0001", "INV-0002", "INV-0003"].map((number) => ledgerIdOf(party, number)),
    );
    const [poor = "", other = "", fresh = ""] = ids;
    const due = (ledgerIds: readonly string[]) =>
      pool.query(
        `UPDATE ledger_notifications
          SET try_at = now(), received_at = now() - interval '100 seconds'
          WHERE organisation_id = $1 AND ledger_id = ANY ($2)`,
        [party.organisationId, ledgerIds],
      );
    const taken = async () => {
      const some = await open(pool, party).claimNotifications();
      if (some === null) throw new Error("a notification is due");
      return { some, ids: some.notifications.map(({ ledgerId }) => ledgerId).sort() };
    };
    await notify(pool, party, poor);
    await notify(pool, party, other);
    for (const _ of [1, 2]) {
      await due([poor, other]);
      const together = await taken();
      expect(together.ids).toEqual([poor, other].sort());
      await open(pool, party).failNotifications(together.some, "the ledger answered 500");
      expect(await open(pool, party).claimNotifications()).toBeNull();
    }
    await notify(pool, party, fresh);
    await due([poor, other, fresh]);
    const first = await taken();
    expect(first.ids).toEqual([fresh]);
    await open(pool, party).finishNotifications(first.some, [], []);
    const alone = await taken();
    expect(alone.ids).toHaveLength(1);
    await open(pool, party).failNotifications(alone.some, "the ledger answered 500");
    const last = await taken();
    expect([...alone.ids, ...last.ids].sort()).toEqual([poor, other].sort());
    // A skipped notification stays with its reason. The others are no longer requested alone.
    await open(pool, party).finishNotifications(
      last.some,
      [],
      [{ ledgerId: last.ids[0] ?? "", reason: "unread" }],
    );
    const { rows } = await pool.query<{ text: string; in_s: number }>(
      `SELECT concat_ws(' ', failures, reason) AS text, extract(epoch
        FROM try_at - now())::float8 AS in_s FROM ledger_notifications
        WHERE organisation_id = $1 ORDER BY failures`,
      [party.organisationId],
    );
    expect(rows.map(({ text }) => text)).toEqual(["0 unread", "1 the ledger answered 500"]);
    for (const { in_s: inSeconds } of rows) expect(inSeconds).toBeGreaterThan(30);
    // An incremental sync keeps its pause. A new notification shortens the pause to a minute.
    const soon = async () => {
      const text = `SELECT 1 FROM ledger_notifications WHERE organisation_id = $1 AND ledger_id = $2
          AND try_at <= now() + interval '1 minute'`;
      return (await pool.query(text, [party.organisationId, last.ids[0]])).rowCount;
    };
    await tables(pool).ledgerNotification.updateMany({
      where: { organisationId: party.organisationId },
      data: { tryAt: fromNow(60) },
    });
    const received =
      "SELECT received_at FROM ledger_notifications WHERE organisation_id = $1 AND ledger_id = $2";
    const before = await pool.query(received, [party.organisationId, last.ids[0]]);
    await open(pool, party).saveNotifications("invoices", [
      { ledgerId: last.ids[0] ?? "", changedAt: null },
    ]);
    expect(await soon()).toBe(0);
    expect((await pool.query(received, [party.organisationId, last.ids[0]])).rows).toEqual(
      before.rows,
    );
    await notify(pool, party, last.ids[0] ?? "");
    expect(await soon()).toBe(1);
  });

  test("with failed calls delays no other, and one success rejoins its kind", async ({ pool }) => {
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
    await saveNotifications(pool, party.organisationId, "contacts", [
      { ledgerId: contact, changedAt: null },
    ]);
    for (const id of [fresh, ...failed]) await notify(pool, party, id);
    await pool.query(
      `UPDATE ledger_notifications
        SET failures = 5, reason = 'the ledger answered 500',
        received_at = now() - interval '1 hour',
          try_at = now() - CASE WHEN ledger_id = $2 THEN interval '2 hours' WHEN kind = 'contacts'
            THEN interval '1 hour' ELSE interval '0' END
        WHERE organisation_id = $1 AND ledger_id <> $3`,
      [party.organisationId, failed[0], fresh],
    );
    const claimed: (readonly string[])[] = [];
    for (;;) {
      const some = await open(pool, party).claimNotifications();
      if (some === null) break;
      claimed.push([
        `${some.kind} ${some.isAlone}`,
        ...some.notifications.map(({ ledgerId }) => ledgerId).sort(),
      ]);
      if (some.kind === "contacts")
        await open(pool, party).failNotifications(some, "the ledger answered 500");
      else await open(pool, party).finishNotifications(some, [], []);
    }
    expect(claimed).toEqual([
      ["invoices false", fresh],
      ["invoices true", failed[0]],
      ["invoices false", ...failed.slice(1).sort()],
      ["contacts true", contact],
    ]);
    expect(await notificationsOf(party)).toEqual([`contacts ${contact}`]);
  });

  test("is stored for connected tenants, and wakes those whose ledger accepts calls", async ({
    pool,
  }) => {
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
      `disconnected_at = now(), disconnected_reason = 'taken back',
        encrypted_secret = NULL, encryption_key_id = NULL`,
    );
    expect(await note()).toEqual([]);
    expect(await notificationsOf(party)).toEqual([]);
    await connection(
      `disconnected_at = NULL, disconnected_reason = NULL, encrypted_secret = '\\x00',
        encryption_key_id = 'key', paused_until = now() + interval '1 hour',
        paused_reason = 'day limit'`,
    );
    expect(await note()).toEqual([]);
    expect(await notificationsOf(party)).toEqual([`invoices ${ledgerId}`]);
    await connection("paused_until = NULL, paused_reason = NULL");
    await open(pool, party).state();
    await open(pool, party).reschedule({
      delayMs: 3_600_000,
      reason: "the ledger answered 503",
      isFailure: true,
    });
    expect(await note()).toEqual([]);
    await open(pool, party).reschedule(null);
    expect(await note()).toEqual([party.organisationId]);
  });

  test("of a foreign object, or of an object that is as new here, needs no call", async ({
    pool,
  }) => {
    const party = await addConnectedParty(pool);
    await addInvoice(party, "100");
    const id = await ledgerIdOf(party, "INV-0001");
    await open(pool, party).syncInvoices(
      [observedInvoice(id, { updatedAt: ledgerTime(7) })],
      await clockOf(party),
    );
    await notify(pool, party, anId());
    await notify(pool, party, id, ledgerTime(7));
    await saveNotifications(pool, party.organisationId, "contacts", [
      { ledgerId: anId(), changedAt: null },
    ]);
    await saveNotifications(pool, party.organisationId, "credit_notes", [
      { ledgerId: anId(), changedAt: null },
    ]);
    expect(await open(pool, party).claimNotifications()).toBeNull();
    expect(await notificationsOf(party)).toEqual([]);
    // A later change, and a change without a time, are read.
    await notify(pool, party, id, ledgerTime(8));
    expect((await open(pool, party).claimNotifications())?.notifications).toHaveLength(1);
    await notify(pool, party, id);
    await notify(pool, party, id, ledgerTime(7));
    expect((await open(pool, party).claimNotifications())?.notifications).toHaveLength(1);
  });

  test("waits while one of our jobs creates or changes the document", async ({ pool }) => {
    const party = await addConnectedParty(pool);
    await addNote(party, "30");
    await addInvoice(party, "100");
    const id = await ledgerIdOf(party, "INV-0001");
    await take(party);
    await notify(pool, party, id);
    const other = { ...party, subscriptionId: await addSubscription(pool, party.organisationId) };
    await issueInvoice(pool, party.organisationId, other.subscriptionId, "10");
    await takenInvoices(other, "10", { status: "approved" });
    const unknown = anId();
    await notify(pool, party, unknown);
    expect(await open(pool, party).claimNotifications()).toBeNull();
    expect(await notificationsOf(party)).toEqual([`invoices ${id}`, `invoices ${unknown}`].sort());
  });

  test("of an object that may be becoming ours starts no sync, and is read later", async ({
    pool,
  }) => {
    const party = await addConnectedParty(pool);
    await addInvoice(party, "100");
    const id = await ledgerIdOf(party, "INV-0001");
    const other = { ...party, subscriptionId: await addSubscription(pool, party.organisationId) };
    await issueInvoice(pool, party.organisationId, other.subscriptionId, "10");
    await takenInvoices(other, "10", { status: "approved" });
    const noteOf = (ledgerId: string) =>
      recordNotifications(pool, "xero", [
        { tenantId: party.organisationId, kind: "invoices", ledgerId, changedAt: null },
      ]);
    const unknown = anId();
    expect(await noteOf(unknown)).toEqual([]);
    expect(await noteOf(id)).toEqual([party.organisationId]);
    expect(await notificationsOf(party)).toEqual([`invoices ${id}`, `invoices ${unknown}`].sort());
    const next = "SELECT try_at > now() AS later FROM ledger_notifications WHERE ledger_id = $1";
    expect((await pool.query(next, [unknown])).rows).toEqual([{ later: true }]);
    // A person changes it as soon as it is ours: it is read at once.
    const become = (from: string, to: string) =>
      tables(pool).invoice.updateMany({
        where: { ledgerInvoiceId: from },
        data: { ledgerInvoiceId: to },
      });
    await become(id, unknown);
    await tables(pool).ledgerNotification.deleteMany({ where: { ledgerId: id } });
    expect(await noteOf(unknown)).toEqual([party.organisationId]);
    await become(unknown, id);
    await noteOf(id);
    // When no job is being sent any more, it is not ours.
    await pool.query(
      "UPDATE ledger_jobs SET state = 'done', lease_until = NULL, finished_at = now() " +
        "WHERE organisation_id = $1",
      [party.organisationId],
    );
    await tables(pool).ledgerNotification.updateMany({
      where: { organisationId: party.organisationId },
      data: { tryAt: new Date() },
    });
    await open(pool, party).claimNotifications();
    expect(await notificationsOf(party)).toEqual([`invoices ${id}`]);
  });
});
