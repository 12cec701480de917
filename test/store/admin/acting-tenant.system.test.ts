/** An operator's changes on behalf of a platform, each with its audit entry (ADMIN-13). */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { createActingTenants } from "../../../src/store/admin/acting-tenant.ts";
import type { Actor } from "../../../src/store/admin/changes.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { db } from "../../../src/store/database/prisma/client.ts";
import type { Store } from "../../../src/store/tenant.ts";
import { createByStore } from "../../support/store-creation.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { type BillingFixture, billingTest as test } from "../billing/billing-fixture.ts";

const actor: Actor = {
  operatorId: null,
  operatorName: "Olga",
  tokenId: null,
  operation: "Test/Act",
  requestId: "req_1",
};

/** Nothing refers to this operator, so that its entries cannot be saved. */
const nobody: Actor = { ...actor, operatorId: randomUUID() };

function storeOf({ pool }: BillingFixture, by: Actor): Store {
  const open = createActingTenants({ reading: pool, writing: pool }, () => undefined);
  const acting = { actor: by, reason: "Asked by telephone", previewedState: null };
  return { tenant: (id, now) => open(id, now, acting) };
}

const now = new Date("2026-03-10T12:00:00Z");

const units = {
  units: 12,
  prorate: false,
  behaviour: null,
  effectiveDate: null,
  document: null,
} as const;

const atPeriodEnd = {
  when: "period_end",
  deleteUnsentInvoices: false,
  voidApprovedInvoices: false,
} as const;

/** Everything that the changes write, as text. */
async function stateOf({ pool }: BillingFixture, organisationId: string): Promise<string> {
  const tables = ["subscriptions", "unit_changes", "terminations", "restorations", "audit_log"];
  const texts = await Promise.all(
    [...tables, "invoices", "ledger_jobs", "document_counters"].map((table) =>
      pool.query(
        `SELECT coalesce(string_agg(t::text, ' ' ORDER BY t::text), '') AS text FROM ${table} t
          WHERE organisation_id = $1`,
        [organisationId],
      ),
    ),
  );
  return texts.map(({ rows }) => rows[0].text).join("\n");
}

test("a change and its audit entry are saved together or not at all", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const own = storeOf(fixture, actor);
  const unsaved = storeOf(fixture, nobody);
  const writes = tenantWrites(fixture.pool, organisation, own);
  const lost = tenantWrites(fixture.pool, organisation, unsaved);

  const empty = await stateOf(fixture, organisation);
  await expect(createByStore(unsaved, organisation, now)).rejects.toThrow("audit_log");
  expect(await stateOf(fixture, organisation)).toBe(empty);
  const id = await createByStore(own, organisation, now);

  const order = { id, now };
  const steps = [
    (by: typeof writes) => by.changeUnits(order, units),
    (by: typeof writes) => by.end(order, atPeriodEnd),
    (by: typeof writes) => by.restore(order),
  ];
  for (const step of steps) {
    const before = await stateOf(fixture, organisation);
    await expect(step(lost)).rejects.toThrow();
    expect(await stateOf(fixture, organisation)).toBe(before);
    await step(writes);
    expect(await stateOf(fixture, organisation)).not.toBe(before);
  }

  const where = { organisationId: organisation, targetId: id };
  const entries = await db(fixture.pool).auditEntry.findMany({ where, orderBy: { seq: "asc" } });
  const reason = "Asked by telephone";
  const request = expect.any(String);
  expect(entries).toMatchObject([
    { ...actor, targetKind: "subscription", before: null, after: { request: id, reason } },
    { before: { units: 10 }, after: { units: 12, deferred: false, request, reason } },
    { before: { status: "active" }, after: { cancel_at_period_end: true, request, reason } },
    {
      before: { cancel_at_period_end: true },
      after: { cancel_at_period_end: false, request, reason },
    },
  ]);
});

test("a repeat of a saved request adds no audit entry", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const store = storeOf(fixture, actor);
  const id = await createByStore(store, organisation, now);
  const writes = tenantWrites(fixture.pool, organisation, store);
  const order = { id, now, requestId: newId() };
  await writes.end(order, atPeriodEnd);
  const before = await stateOf(fixture, organisation);
  // A second end with its period changes nothing.
  expect(await writes.end({ id, now }, atPeriodEnd)).toMatchObject({ kind: "unchanged" });
  expect(await stateOf(fixture, organisation)).toBe(before);
});
