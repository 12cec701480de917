/** Customers that follow changes of their contacts in the ledger (CUSTOMER-5). */
import type pg from "pg";
import { describe, expect } from "vitest";
import type { ObservedContact } from "../../../src/store/ledger-sync/sync-customers.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { tables } from "../../support/rows.ts";
import { anId } from "../../worker/activities/issue-credit.ts";
import type { Party } from "../ledger-jobs/credit-party.ts";
import { addConnectedParty, ledgerTime, notificationsOf, open } from "./sync-fixture.ts";

describe.concurrent("a customer", () => {
  const contact = (changes: Partial<ObservedContact> = {}): ObservedContact => ({
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

  async function customerOf(pool: pg.Pool, { organisationId }: Party): Promise<object | undefined> {
    const { rows } = await pool.query(
      `SELECT name, first_name, email, status, ledger_contact_id AS contact
        FROM customers WHERE organisation_id = $1 AND code = 'ACME'`,
      [organisationId],
    );
    return rows[0];
  }

  test("gets newer names and address, and is inactive while its contact is archived", async ({
    pool,
  }) => {
    const party = await addConnectedParty(pool);
    const sync = open(pool, party);
    const named = contact({
      name: "Acme Holdings",
      firstName: "Ada",
      email: "b@acme.example",
      updatedAt: ledgerTime(3),
    });
    expect(await sync.syncContacts([named, contact({ id: anId() })])).toMatchObject({
      changed: 1,
    });
    const after = {
      name: "Acme Holdings",
      first_name: "Ada",
      email: "b@acme.example",
      status: "active",
      contact: "contact",
    };
    expect(await customerOf(pool, party)).toEqual(after);
    expect(
      await sync.syncContacts([contact({ name: "Older", updatedAt: ledgerTime(2) })]),
    ).toMatchObject({
      changed: 0,
    });
    const archived = { ...named, status: "archived", updatedAt: ledgerTime(4) } as const;
    expect(await sync.syncContacts([archived])).toMatchObject({ changed: 1 });
    expect(await customerOf(pool, party)).toEqual({ ...after, status: "inactive" });
    // A contact without an address leaves the customer's.
    await sync.syncContacts([{ ...named, email: null, updatedAt: ledgerTime(5) }]);
    expect(await customerOf(pool, party)).toEqual(after);
    await sync.loseContacts(["contact"]);
    expect(await customerOf(pool, party)).toEqual({ ...after, status: "inactive" });
    // Observed again without a change, the customer is active again.
    expect(await sync.syncContacts([{ ...named, updatedAt: ledgerTime(5) }])).toMatchObject({
      changed: 1,
    });
    expect(await customerOf(pool, party)).toEqual(after);
  });

  test("that an operator made inactive stays so when its contact is restored", async ({ pool }) => {
    const party = await addConnectedParty(pool);
    await tables(pool).customer.updateMany({
      where: { organisationId: party.organisationId },
      data: { status: "inactive", deactivatedAt: new Date() },
    });
    await open(pool, party).syncContacts([contact({ name: "Renamed" })]);
    expect(await customerOf(pool, party)).toMatchObject({ name: "Renamed", status: "inactive" });
  });

  test("of a merged contact moves to the other contact, unless that is a customer", async ({
    pool,
  }) => {
    const party = await addConnectedParty(pool);
    const into = anId();
    const merged = contact({ status: "archived", mergedInto: into });
    // An active contact carries documents itself, even if it names another.
    await open(pool, party).syncContacts([
      { ...merged, status: "active", updatedAt: ledgerTime(-1) },
    ]);
    expect(await customerOf(pool, party)).toMatchObject({ contact: "contact", status: "active" });
    expect(await open(pool, party).syncContacts([merged])).toMatchObject({ changed: 1 });
    expect(await customerOf(pool, party)).toMatchObject({ contact: into, status: "active" });
    expect(await notificationsOf(party)).toEqual([`contacts ${into}`]);
    expect(await open(pool, party).claimNotifications()).toMatchObject({ kind: "contacts" });

    const both = await addConnectedParty(pool);
    await pool.query(
      `INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
        VALUES (gen_random_uuid(), $1, 'OTHER', 'Other', 'o@acme.example', 'active', $2)`,
      [both.organisationId, into],
    );
    expect(await open(pool, both).syncContacts([merged])).toMatchObject({ changed: 1 });
    expect(await customerOf(pool, both)).toMatchObject({ contact: "contact", status: "inactive" });
  });
});
