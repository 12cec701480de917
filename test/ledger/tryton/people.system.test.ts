/** What a person does in Tryton with our documents and customers, as it is read here. */
import { expect } from "vitest";
import { perFile } from "../../support/file-fixture.ts";
import { expectEqualBooks, readTryton } from "./both-books.ts";
import { personAt } from "./person.ts";
import {
  changeUnits,
  connectToTryton,
  createCustomers,
  createPlan,
  posted,
  subscribe,
  sync,
  trytonTest,
} from "./service-fixture.ts";
import { whyNoTryton } from "./tryton-fixture.ts";

const test = trytonTest
  /** A person, and customers C0 to C4. */
  .extend("person", perFile, async ({ system, admin, own, key, access }) => {
    await connectToTryton(admin, own, access);
    const twelve = { code: "twelve", name: "Twelve", type: "PLAN_TYPE_FLAT_FEE", price: "12" };
    await createPlan(admin, own, twelve);
    await createCustomers(system, key, 5);
    return personAt(access);
  })
  /** An object as the API shows it. */
  .extend("shown", perFile, ({ system, key }) => async (path: string) => {
    const { status, json, text } = await system.ask("GET", `/v1/${path}`, { key });
    expect(status, text).toBe(200);
    return json;
  })
  /** Waits until both sides know all, and compares the books. */
  .extend("synced", perFile, ({ system, admin, own, access }) => async () => {
    await posted(system, own);
    await sync(system, admin, own);
    await posted(system, own);
    await expectEqualBooks(system, access, own.organisation);
  });

test.skipIf(whyNoTryton !== null)(
  "a credit note that a person reconciles with an invoice is allocated to it, until they undo it",
  async ({ system, key, person, shown, synced }) => {
    const eleven = await subscribe(system, key, {
      ...{ customer_code: "C0", plan_code: "bands", units: 10 },
    });
    const body = { units: 11, prorate: true, effective_date: eleven.start_date };
    const { change } = await changeUnits(system, key, eleven.id, body);
    const { invoice } = await subscribe(system, key, { customer_code: "C0", plan_code: "twelve" });
    await synced();
    const [path, notePath] = [`invoices/${invoice.id}`, `credit_notes/${change.credit_note}`];
    const note = await shown(notePath);
    expect(note).toMatchObject({ remaining_credit: "13.8000", allocations: [] });

    await person.reconcile(note.number, invoice.number);
    await synced();
    expect(await shown(path)).toMatchObject({ status: "paid", amount_due: "0.0000" });
    expect(await shown(notePath)).toMatchObject({
      remaining_credit: "0.0000",
      allocations: [{ invoice: invoice.id, amount: "13.8000" }],
    });

    await person.unreconcile(note.number);
    await synced();
    expect(await shown(path)).toMatchObject({ status: "approved", amount_due: "13.8000" });
    expect(await shown(notePath)).toMatchObject({
      remaining_credit: "13.8000",
      allocations: [{ amount: "13.8000", status: "removed" }],
    });
  },
);

test.skipIf(whyNoTryton !== null)(
  "a part that a person books by the form of payments is paid here, and then the rest",
  async ({ system, key, person, shown, synced }) => {
    const { invoice } = await subscribe(system, key, { customer_code: "C1", plan_code: "twelve" });
    await person.pay(invoice.number, "3.80");
    await synced();
    const path = `invoices/${invoice.id}`;
    expect(await shown(path)).toMatchObject({ status: "approved", amount_due: "10.0000" });
    await person.pay(invoice.number);
    await synced();
    expect(await shown(path)).toMatchObject({ status: "paid", amount_due: "0.0000" });
  },
);

test.skipIf(whyNoTryton !== null)(
  "a posted invoice that a person cancels is voided here",
  async ({ system, key, person, shown, synced }) => {
    const { invoice } = await subscribe(system, key, { customer_code: "C2", plan_code: "twelve" });
    await person.cancel(invoice.number);
    await synced();
    expect(await shown(`invoices/${invoice.id}`)).toMatchObject({
      status: "voided",
      amount_due: "0.0000",
    });
  },
);

test.skipIf(whyNoTryton !== null)(
  "a customer whose party a person replaces has its documents at the surviving party",
  async ({ system, key, access, person, shown, synced }) => {
    const body = { customer_code: "C3", plan_code: "twelve" };
    await person.addParty("SURVIVOR", "Survivor Ltd");
    await person.merge("C3", "SURVIVOR");
    await synced();
    const { customer } = await subscribe(system, key, body);
    await synced();
    expect(await shown(`customers/${customer}`)).toMatchObject({
      ...{ code: "C3", name: "Survivor Ltd", status: "active" },
    });
    const [survivor] = await readTryton(access, "party.party", [["code", "=", "SURVIVOR"]], ["id"]);
    const documents = await readTryton(
      access,
      "account.invoice",
      [["party", "=", survivor?.id]],
      ["state"],
    );
    expect(documents.map(({ state }) => state)).toEqual(["posted"]);
    // Tryton replaces no party that has posted documents.
    await person.addParty("ANOTHER", "Another Ltd");
    await expect(person.merge("SURVIVOR", "ANOTHER")).rejects.toThrow(/UserError/);
  },
);

test.skipIf(whyNoTryton !== null)(
  "a customer follows the name of its party, and takes no document once the party is archived",
  async ({ system, key, person, shown, synced }) => {
    const body = { customer_code: "C4", plan_code: "twelve" };
    const { customer } = await subscribe(system, key, body);
    await person.changeParty("C4", { name: "Renamed Ltd" });
    await synced();
    expect(await shown(`customers/${customer}`)).toMatchObject({ name: "Renamed Ltd" });
    await person.changeParty("C4", { active: false });
    const { invoice } = await subscribe(system, key, body);
    expect(invoice).toMatchObject({
      ledger: { sync_status: "failed", sync_error: "The party is archived in Tryton." },
    });
    await synced();
    expect(await shown(`customers/${customer}`)).toMatchObject({ status: "inactive" });
    const request = { key, idempotencyKey: "archived", body };
    const refused = await system.ask("POST", "/v1/subscriptions", request);
    expect([refused.status, refused.json.error.code]).toEqual([422, "customer_not_active"]);
  },
);
