/** Customers that follow their contacts, which a person changes in the demo ledger (CUSTOMER-5). */
import { describe, expect } from "vitest";
import { createChanges } from "../../../src/store/admin/changes.ts";
import { createCustomerStore } from "../../../src/store/admin/customers.ts";
import { tables } from "../../support/rows.ts";
import { syncTest as test } from "./ledger-sync-fixture.ts";

describe.concurrent("a customer", () => {
  test("follows a rename, an archive, a restore and a merge", async ({
    credit,
    partyWith,
    syncAll,
    acme,
  }) => {
    const { party, hand } = await partyWith();
    await hand.changeContact("ACME", {
      Name: "Acme Holdings",
      EmailAddress: "pay@holdings.example",
    });
    await syncAll(party);
    expect(await acme(party)).toMatchObject({
      name: "Acme Holdings",
      email: "pay@holdings.example",
      status: "active",
    });
    await hand.changeContact("ACME", { ContactStatus: "ARCHIVED" });
    await syncAll(party);
    expect(await acme(party)).toMatchObject({ status: "inactive" });
    await hand.changeContact("ACME", { ContactStatus: "ACTIVE" });
    await syncAll(party);
    expect(await acme(party)).toMatchObject({ status: "active" });
    // A contact is no customer until one of ours is merged into it.
    const contact = await hand.addContact("NEW", "New Holdings");
    await syncAll(party);
    expect(await acme(party)).toMatchObject({ name: "Acme Holdings" });
    await hand.mergeContact("ACME", "NEW");
    await syncAll(party);
    expect(await acme(party)).toEqual({
      name: "New Holdings",
      email: "new@example.com",
      status: "active",
      contact,
    });
    const where = { organisationId: party.organisationId };
    expect(await tables(credit.pool).customer.count({ where })).toBe(3);
  });

  test("of an unlisted contact or a merge cycle is inactive only after a second read", async ({
    credit,
    partyWith,
    syncAll,
    notify,
    pending,
    ledgerIdOf,
    rest,
    acme,
  }) => {
    const { party, hand } = await partyWith();
    const contactId = await ledgerIdOf(party, "ACME");
    const readAgain = async () => {
      await notify(party, "contacts", contactId);
      await rest(party);
    };
    const unlisted = {
      match: "GET /api.xro/2.0/Contacts?",
      kind: "status",
      status: 200,
      body: '{"Contacts":[]}',
    };
    await credit.fault(party, unlisted);
    const before = await credit.calls(party);
    await readAgain();
    expect(await credit.calls(party)).toBe(before + 2);
    expect(await acme(party)).toMatchObject({ status: "active" });
    await credit.fault(party, unlisted);
    await credit.fault(party, {
      ...unlisted,
      match: `GET /api.xro/2.0/Contacts/${contactId}`,
      status: 404,
      body: "gone",
    });
    await readAgain();
    expect(await acme(party)).toMatchObject({ status: "inactive" });
    await readAgain();
    expect(await acme(party)).toMatchObject({ status: "active" });

    // An operator activates it, and the contact archives it again.
    await hand.changeContact("ACME", { ContactStatus: "ARCHIVED" });
    await syncAll(party);
    const customers = createCustomerStore(credit.pool, createChanges(credit.pool));
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
    await syncAll(party);
    const into = await hand.addContact("CYCLE", "Merged in a cycle");
    const lead = (from: string, to: string) =>
      credit.pool.query(
        `UPDATE demo_ledger.contacts
          SET status = 'ARCHIVED', merged_to = $2, updated_at = date_trunc('milliseconds',
          clock_timestamp())
          WHERE contact_id = $1`,
        [from, to],
      );
    await lead(contactId, into);
    await lead(into, contactId);
    await syncAll(party);
    expect(await acme(party)).toMatchObject({ status: "inactive", contact: contactId });
    expect(await pending(party)).toEqual([]);
  });
});
