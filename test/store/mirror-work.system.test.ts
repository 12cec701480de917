/**
 * What is to be looked at in the ledger and when: hints of webhooks, the sweep behind them, and customers that follow their contacts.
 */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContactLooked } from "../../src/store/mirror-customers.ts";
import { leaveHints } from "../../src/store/mirror-hints.ts";
import { createPool } from "../../src/store/pool.ts";
import { addSubscription, anId, raiseInvoice } from "../activities/raise-credit.ts";
import { type FreshDatabase, freshDatabase } from "../support/database.ts";
import { addInvoice, addNote, ledgerIdOf, type Party, take, takenInvoices } from "./credit-party.ts";
import {
  addConnectedParty,
  clockOf,
  hintsOf,
  invoiceLooked,
  ledgerTime,
  mirroringOf,
  sweepMs,
} from "./mirror-world.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = createPool({ databaseUrl: database.url, size: 8, name: "test" }, () => undefined);
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const open = (party: Party) => mirroringOf(pool).open(party.organisationId);

const leave = (party: Party, ledgerId: string, changedAt: string | null = null) =>
  leaveHints(pool, party.organisationId, "invoices", [{ ledgerId, changedAt }]);

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
    const first = await open(party).takeHints();
    expect(first).toMatchObject({ kind: "invoices", hints: [{ ledgerId: id }] });
    await leave(party, id);
    if (first !== null) await open(party).endHints(first, []);
    const second = await open(party).takeHints();
    expect(second?.hints).toHaveLength(1);
    // One that has to be looked at again is, in a moment.
    if (second !== null) await open(party).endHints(second, [id]);
    expect(await open(party).takeHints()).toBeNull();
    expect(await hintsOf(party)).toEqual([`invoices ${id}`]);
    await pool.query("UPDATE ledger_connections SET created_at = now() WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    expect((await open(party).look()).nextInMs).toBeGreaterThan(0);
  });

  test("of what is not ours, or is known to be as new already, needs no call", async () => {
    const party = await addConnectedParty(pool);
    await addInvoice(party, "100");
    const id = await ledgerIdOf(party, "INV-0001");
    await open(party).followInvoices([invoiceLooked(id, { updatedAt: ledgerTime(7) })], await clockOf(party));
    await leave(party, anId());
    await leave(party, id, ledgerTime(7));
    await leaveHints(pool, party.organisationId, "contacts", [{ ledgerId: anId(), changedAt: null }]);
    await leaveHints(pool, party.organisationId, "credit_notes", [{ ledgerId: anId(), changedAt: null }]);
    expect(await open(party).takeHints()).toBeNull();
    expect(await hintsOf(party)).toEqual([]);
    // A later change, and one of which the time is not told, are looked at.
    await leave(party, id, ledgerTime(8));
    expect((await open(party).takeHints())?.hints).toHaveLength(1);
    await leave(party, id);
    await leave(party, id, ledgerTime(7));
    expect((await open(party).takeHints())?.hints).toHaveLength(1);
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
    expect(await open(party).takeHints()).toBeNull();
    expect(await hintsOf(party)).toEqual([`invoices ${id}`, `invoices ${unknown}`].sort());
  });
});

describe.concurrent("a sweep", () => {
  test("reads kind after kind and page after page from the newest change seen, and then waits for its time", async () => {
    const party = await addConnectedParty(pool);
    const scope = open(party);
    expect(await isFound(party)).toBe(true);
    expect(await scope.look()).toMatchObject({ waitMs: 0, nextInMs: 0 });
    const contacts = await scope.takeSweep();
    const created = Date.now() - 3_600_000;
    expect(contacts).toMatchObject({ kind: "contacts", cursor: null });
    expect(Math.abs(Date.parse(contacts?.since ?? "") + 300_000 - created)).toBeLessThan(60_000);
    if (contacts === null) throw new Error("a sweep is due");
    await scope.endPage(contacts, { cursor: "2", highWater: ledgerTime(100), changed: 2 });
    // Another round that had the same page moves nothing.
    await scope.endPage(contacts, { cursor: "7", highWater: ledgerTime(50), changed: 2 });
    const more = await scope.takeSweep();
    expect(more).toMatchObject({ kind: "contacts", cursor: "2", since: ledgerTime(100 - 300_000) });
    if (more === null) throw new Error("it goes on");
    await scope.endPage(more, { cursor: null, highWater: null, changed: 1 });
    for (const kind of ["credit_notes", "invoices"]) {
      const page = await scope.takeSweep();
      expect(page?.kind).toBe(kind);
      if (page !== null) await scope.endPage(page, { cursor: null, highWater: null, changed: 0 });
    }
    expect(await scope.takeSweep()).toBeNull();
    expect(await scope.look()).toMatchObject({ nextInMs: null });
    expect(await isFound(party)).toBe(false);
    const { rows } = await pool.query(
      `SELECT contacts_changed, invoices_changed, round(extract(epoch FROM next_sweep_at - now()) * 1000 / $2, 1)::float8 AS next
        FROM ledger_sweeps WHERE organisation_id = $1`,
      [party.organisationId, sweepMs],
    );
    expect(rows).toEqual([{ contacts_changed: 3, invoices_changed: 0, next: 1 }]);
  });

  /** Ends the sweep that is due; in how many times of the setting the next one is. */
  async function sweepOnce(party: Party): Promise<number> {
    await open(party).look();
    for (;;) {
      const page = await open(party).takeSweep();
      if (page === null) break;
      await open(party).endPage(page, { cursor: null, highWater: null, changed: 0 });
    }
    const { rows } = await pool.query<{ next: number }>(
      "SELECT round(extract(epoch FROM next_sweep_at - now()) * 1000 / $2)::float8 AS next FROM ledger_sweeps WHERE organisation_id = $1",
      [party.organisationId, sweepMs],
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
      pool.query("UPDATE ledger_sweeps SET next_sweep_at = now() WHERE organisation_id = $1", [party.organisationId]);
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
    await open(party).takeSweep();
    await pool.query("UPDATE ledger_sweeps SET asked_at = clock_timestamp() WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    expect(await sweepOnce(party)).toBe(1);
    const { rows } = await pool.query(
      "SELECT began_at > asked_at AS is_after FROM ledger_sweeps WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(rows).toEqual([{ is_after: true }]);
  });

  test("waits where the ledger could not be asked, and reads everything anew of another tenant", async () => {
    const party = await addConnectedParty(pool);
    const scope = open(party);
    await scope.look();
    const page = await scope.takeSweep();
    if (page !== null) await scope.endPage(page, { cursor: null, highWater: ledgerTime(0), changed: 0 });
    await scope.putOff({ delayMs: 60_000, reason: "the ledger answered 503", isFailure: true });
    expect(await scope.look()).toMatchObject({ reason: "the ledger answered 503", failures: 1 });
    expect((await scope.look()).waitMs).toBeGreaterThan(50_000);
    expect(await isFound(party)).toBe(false);
    await scope.putOff(null);
    expect(await scope.look()).toMatchObject({ waitMs: 0, failures: 0, reason: null });
    expect(await isFound(party)).toBe(true);
    await pool.query("UPDATE ledger_connections SET tenant_id = 'another' WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    await scope.look();
    const { rows } = await pool.query(
      "SELECT tenant_id, sweep_kind, contacts_since FROM ledger_sweeps WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(rows).toEqual([{ tenant_id: "another", sweep_kind: null, contacts_since: null }]);
  });

  test("of a connection that was just made is not due yet", async () => {
    const party = await addConnectedParty(pool);
    await pool.query("UPDATE ledger_connections SET created_at = now() WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    expect(await isFound(party)).toBe(false);
    expect(await open(party).look()).toMatchObject({ nextInMs: null });
  });
});

describe.concurrent("a customer", () => {
  const contact = (changes: Partial<ContactLooked> = {}): ContactLooked => ({
    id: "contact",
    name: "Acme",
    firstName: null,
    lastName: null,
    email: "a@acme.example",
    status: "active",
    mergedInto: null,
    updatedAt: ledgerTime(0),
    ...changes,
  });

  async function customerOf({ organisationId }: Party): Promise<object | undefined> {
    const { rows } = await pool.query(
      "SELECT name, first_name, email, status, ledger_contact_id AS contact FROM customers WHERE organisation_id = $1 AND code = 'ACME'",
      [organisationId],
    );
    return rows[0];
  }

  test("follows names and address, is inactive while its contact is archived, and stays what is newer", async () => {
    const party = await addConnectedParty(pool);
    const scope = open(party);
    const named = contact({
      name: "Acme Holdings",
      firstName: "Ada",
      email: "b@acme.example",
      updatedAt: ledgerTime(3),
    });
    expect(await scope.followContacts([named, contact({ id: anId() })])).toMatchObject({ changed: 1 });
    const after = {
      name: "Acme Holdings",
      first_name: "Ada",
      email: "b@acme.example",
      status: "active",
      contact: "contact",
    };
    expect(await customerOf(party)).toEqual(after);
    expect(await scope.followContacts([contact({ name: "Older", updatedAt: ledgerTime(2) })])).toMatchObject({
      changed: 0,
    });
    const archived = { ...named, status: "archived", updatedAt: ledgerTime(4) } as const;
    expect(await scope.followContacts([archived])).toMatchObject({ changed: 1 });
    expect(await customerOf(party)).toEqual({ ...after, status: "inactive" });
    // Without an address the contact leaves the customer's.
    await scope.followContacts([{ ...named, email: null, updatedAt: ledgerTime(5) }]);
    expect(await customerOf(party)).toEqual(after);
    await scope.loseContacts(["contact"]);
    expect(await customerOf(party)).toEqual({ ...after, status: "inactive" });
  });

  test("that an operator made inactive stays so when its contact is restored", async () => {
    const party = await addConnectedParty(pool);
    await pool.query("UPDATE customers SET status = 'inactive', deactivated_at = now() WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    await open(party).followContacts([contact({ name: "Renamed" })]);
    expect(await customerOf(party)).toMatchObject({ name: "Renamed", status: "inactive" });
  });

  test("whose contact was merged is of the other contact, which is looked at; one of two customers of it is inactive", async () => {
    const party = await addConnectedParty(pool);
    const into = anId();
    const merged = contact({ status: "archived", mergedInto: into });
    expect(await open(party).followContacts([merged])).toMatchObject({ changed: 1 });
    expect(await customerOf(party)).toMatchObject({ contact: into, status: "active" });
    expect(await hintsOf(party)).toEqual([`contacts ${into}`]);
    expect(await open(party).takeHints()).toMatchObject({ kind: "contacts" });

    const both = await addConnectedParty(pool);
    await pool.query(
      `INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
        VALUES (gen_random_uuid(), $1, 'OTHER', 'Other', 'o@acme.example', 'active', $2)`,
      [both.organisationId, into],
    );
    expect(await open(both).followContacts([merged])).toMatchObject({ changed: 1 });
    expect(await customerOf(both)).toMatchObject({ contact: "contact", status: "inactive" });
  });
});
