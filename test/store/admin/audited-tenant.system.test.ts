/** Changes of an organisation that are decided under its locks, and their audit log (ADMIN-2). */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { createAuditedTenants } from "../../../src/store/admin/audited-tenant.ts";
import { type Actor, createChanges } from "../../../src/store/admin/changes.ts";
import { db } from "../../../src/store/database/prisma/client.ts";
import { type BillingFixture, billingFixture } from "../billing/billing-fixture.ts";

let fixture: BillingFixture;

beforeAll(async () => {
  fixture = await billingFixture();
});

afterAll(async () => {
  await fixture?.drop();
});

const actor: Actor = {
  operatorId: null,
  operatorName: "Olga",
  tokenId: null,
  operation: "Test/Change",
  requestId: "req_1",
};

const billing = { isNeeded: () => false, onIssued: async () => undefined };

const tenant = (organisationId: string) =>
  createAuditedTenants(fixture.pool, createChanges(fixture.pool))(organisationId, actor);

const entries = (organisationId: string) =>
  db(fixture.pool).auditEntry.findMany({ where: { organisationId }, orderBy: { seq: "asc" } });

const nameOf = async (id: string) =>
  (await db(fixture.pool).organisation.findFirst({ where: { id } }))?.name;

test("each change in the transaction of a tenant has its audit entry, in order", async () => {
  const id = await fixture.sandbox("2026-03-10");
  await tenant(id).onCurrentOrganisation(billing, async (tx, before) => {
    if (before === null) throw new Error("the organisation exists");
    await tx.organisation.save(before, { name: "First" });
    await tx.organisation.save({ ...before, name: "First" }, { name: "First" });
    return tx.organisation.save({ ...before, name: "First" }, { name: "Second" });
  });
  expect(await nameOf(id)).toBe("Second");
  const logged = await entries(id);
  expect(logged.map(({ after }) => after)).toMatchObject([{ name: "First" }, { name: "Second" }]);
  expect(logged[0]).toMatchObject({ ...actor, targetKind: "organisation", targetId: id });
});

test("a refusal after a change of a tenant keeps neither the change nor its entry", async () => {
  const id = await fixture.sandbox("2026-03-10");
  const name = await nameOf(id);
  const refused = tenant(id).onCurrentOrganisation(billing, async (tx, before) => {
    if (before === null) throw new Error("the organisation exists");
    await tx.organisation.save(before, { name: "Lost" });
    throw new Refusal("invalid_state", "Not now.");
  });
  await expect(refused).rejects.toThrow("Not now.");
  expect(await nameOf(id)).toBe(name);
  expect(await entries(id)).toEqual([]);
});
