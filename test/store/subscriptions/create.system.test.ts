/** A creation is saved only if its facts are still true. CREATE-11. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { decideCreation } from "../../../src/domain/subscriptions/create.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { requestOf } from "../../domain/subscriptions/creation-builder.ts";
import { tables } from "../../support/rows.ts";
import { type BillingFixture, billingTest as test } from "../billing/billing-fixture.ts";

const setStatus = (fixture: BillingFixture, organisation: string, status: string) =>
  tables(fixture.pool).customer.updateMany({
    where: { organisationId: organisation },
    data: { status },
  });

test("a creation is not saved if its customer became inactive after the facts loaded", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const now = new Date("2026-03-10T12:00:00Z");
  const { subscriptions } = createStore(fixture.pool).tenant(organisation, now);
  const subscriptionId = newId();
  const codes = { customerCode: "ACME", planCode: "team", chargeCodes: [] };
  const { facts, catalogueVersion } = await subscriptions.loadCreation({
    subscriptionId,
    ...codes,
  });
  const decision = decideCreation({ ...facts, now }, requestOf({ ...codes, units: 10 }));
  const first = { invoiceId: newId(), jobId: newId() };
  const creation = {
    subscriptionId,
    setupMode: false,
    catalogueVersion,
    decision,
    first,
    awaitedUntil: now,
  };
  const save = () => subscriptions.saveCreation({ ...creation, requestHash: randomBytes(32) });
  await setStatus(fixture, organisation, "inactive");
  expect(await save()).toBe("changed");
  expect(await fixture.row(subscriptionId)).toBeUndefined();
  await setStatus(fixture, organisation, "active");
  expect(await save()).toBe("saved");
  expect((await fixture.invoices(subscriptionId)).map(({ number }) => number)).toEqual([
    "INV-0001",
  ]);
});

test("each creation loads the facts of its codes and its id", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const now = new Date("2026-03-10T12:00:00Z");
  const { subscriptions } = createStore(fixture.pool).tenant(organisation, now);
  const existing = await fixture.subscribe(organisation);
  const load = (subscriptionId: string, customerCode: string, planCode: string) =>
    subscriptions.loadCreation({ subscriptionId, customerCode, planCode, chargeCodes: ["none"] });
  const loaded = await Promise.all([
    load(newId(), "ACME", "team"),
    load(newId(), "UNKNOWN", "team"),
    load(newId(), "ACME", "nothing"),
    load(existing, "ACME", "team"),
  ]);
  expect(
    loaded.map(({ requestHash, facts }) => ({
      customer: facts.customer?.code,
      plan: facts.plan?.code,
      organisation: facts.organisation.id,
      charges: facts.charges.size,
      isCreated: requestHash !== null,
    })),
  ).toEqual([
    { customer: "ACME", plan: "team", organisation, charges: 0, isCreated: false },
    { customer: undefined, plan: "team", organisation, charges: 0, isCreated: false },
    { customer: "ACME", plan: undefined, organisation, charges: 0, isCreated: false },
    { customer: "ACME", plan: "team", organisation, charges: 0, isCreated: true },
  ]);
});

test("creations that arrive together have consecutive numbers, whichever of them fails", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const now = new Date("2026-03-10T12:00:00Z");
  const { subscriptions } = createStore(fixture.pool).tenant(organisation, now);
  const codes = { customerCode: "ACME", planCode: "team", chargeCodes: [] };
  const subscriptionIds = Array.from({ length: 12 }, newId);
  const loaded = await subscriptions.loadCreation({ subscriptionId: newId(), ...codes });
  const decision = decideCreation({ ...loaded.facts, now }, requestOf({ ...codes, units: 10 }));
  const save = (subscriptionId: string, catalogueVersion = loaded.catalogueVersion) =>
    subscriptions.saveCreation({
      subscriptionId,
      requestHash: randomBytes(32),
      setupMode: false,
      catalogueVersion,
      decision,
      first: { invoiceId: newId(), jobId: newId() },
      awaitedUntil: now,
    });
  const [id = "", ...others] = subscriptionIds;
  const all = await Promise.all([...others.map((one) => save(one)), save(newId(), "999")]);
  expect(all).toEqual([...others.map(() => "saved"), "changed"]);
  const twins = await Promise.all([save(id), save(id)]);
  expect(twins.toSorted()).toEqual(["exists", "saved"]);
  const rows = await tables(fixture.pool).invoice.findMany({
    where: { organisationId: organisation },
    orderBy: { number: "asc" },
    select: { number: true },
  });
  expect(rows.map(({ number }) => number)).toEqual(
    subscriptionIds.map((_, index) => `INV-${String(index + 1).padStart(4, "0")}`),
  );
});
