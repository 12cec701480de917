/**
 * Break-offs in the store, while a worker holds the end or the amendment. Nothing that the worker
 * reports afterwards is recorded. END-12, ADMIN-15.
 */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { isBreakOffDue } from "../../../src/store/admin/break-off.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { createAmendments } from "../../../src/store/ledger-jobs/amendments/amendments.ts";
import { createTerminations } from "../../../src/store/subscriptions/end-removals.ts";
import { reissueLateRemovals } from "../../../src/store/subscriptions/late-removals.ts";
import { changeTo } from "../../domain/subscriptions/billing-state-builder.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { setOrganisation, tables } from "../../support/rows.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";
import { windowFixture } from "../ledger-jobs/window-fixture.ts";

const now = "2026-04-01T12:00:00Z";
const encryption = createEncryption(randomBytes(32));

/** An end whose first removal a worker has claimed: of a renewal invoice that the ledger has. */
async function endUnderWay(fixture: UsageFixture) {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, now);
  await fixture.bill(organisation);
  const inLedger = `WITH sent AS (
      UPDATE ledger_jobs SET state = 'done', finished_at = now() WHERE organisation_id = $1)
    UPDATE invoices SET status = 'draft', ledger_invoice_id = gen_random_uuid()
      WHERE organisation_id = $1`;
  await fixture.pool.query(inLedger, [organisation]);
  const none = { deleteUnsentInvoices: false, voidApprovedInvoices: false };
  const begun = await tenantWrites(fixture.pool, organisation).end(
    { id, now, requestId: organisation },
    { when: "now", ...none },
  );
  if (begun.kind !== "removing") throw new Error(begun.kind);
  const terminations = createTerminations(fixture.pool, encryption)(organisation);
  const task = await terminations.take(begun.terminationId, 60_000);
  if (task?.kind !== "remove") throw new Error(`the task is ${task?.kind}`);
  return { organisation, id, terminations, task };
}

const gone = { status: "deleted", total: "125", amountDue: "0", sent: false } as const;

test("a break-off is due while an end waits for the ledger, and not afterwards", async ({
  fixture,
}) => {
  const { organisation, id } = await endUnderWay(fixture);
  expect(await isBreakOffDue(fixture.pool, organisation, id)).toBe(true);
  await operatorWrites(fixture.pool).breakOff(organisation, id);
  expect(await isBreakOffDue(fixture.pool, organisation, id)).toBe(false);
});

test("the outcome of a removal under way is not recorded after its end was broken off", async ({
  fixture,
}) => {
  const { organisation, id, terminations, task } = await endUnderWay(fixture);
  const message = await operatorWrites(fixture.pool).breakOff(organisation, id);
  expect(message).toMatch(/Whether the ledger has removed invoice INV-0002 is not known\.$/);
  expect(await terminations.removed(task, { outcome: "deleted", invoice: gone })).toBe(null);
  expect(await terminations.finish(task, "now")).toBe(null);
  expect(await terminations.take(task.terminationId, 60_000)).toBe(null);
  await terminations.release(task, 0, "late");
  expect(await terminations.read(task.terminationId)).toMatchObject({
    outcome: "refused",
    reason: "answer_lost",
    removed: 0,
  });
  expect(await fixture.row(id)).toMatchObject({ status: "active", end_date: null });
});

test.for([
  ["deleted", "deleted"],
  ["not_in_external", "deleted"],
] as const)("a removal that the ledger shows later as %s is issued again once", async ([
  status,
  outcome,
], { fixture }) => {
  const { organisation, id, task } = await endUnderWay(fixture);
  await operatorWrites(fixture.pool).breakOff(organisation, id);
  const { pool } = fixture;
  await reissueLateRemovals(pool, organisation);
  expect(await fixture.invoices(id)).toHaveLength(2);
  const error = status === "not_in_external" ? "It is not there." : null;
  await tables(pool).invoice.updateMany({
    where: { id: task.invoiceId },
    data: { status, syncError: error },
  });
  // Nothing can be issued in Setup Mode. Afterwards it is.
  await setOrganisation(pool, organisation, { setupMode: true });
  await reissueLateRemovals(pool, organisation);
  expect(await fixture.invoices(id)).toHaveLength(2);
  await setOrganisation(pool, organisation, { setupMode: false });
  const both = [reissueLateRemovals(pool, organisation), reissueLateRemovals(pool, organisation)];
  await Promise.all(both);
  await reissueLateRemovals(pool, organisation);
  expect((await fixture.invoices(id)).map(({ number, type }) => `${number} ${type}`)).toEqual([
    "INV-0001 first",
    "INV-0002 renewal",
    "INV-0003 renewal",
  ]);
  const { rows } = await pool.query(
    `SELECT r.state, r.outcome, r.reissued, i.status FROM removals r
      JOIN invoices i ON i.id = r.invoice_id WHERE r.termination_id = $1`,
    [task.terminationId],
  );
  expect(rows).toEqual([{ state: "removed", outcome, reissued: true, status: "deleted" }]);
});

test("an amendment under way is billed once by its break-off, whatever the ledger answers", async ({
  fixture,
}) => {
  const { pool } = fixture;
  const own = await windowFixture(pool);
  const change = await own.change(changeTo(13, { from: "2026-03-01", document: "amend" }));
  if (typeof change === "string") throw new Error(change);
  const amendments = createAmendments(pool, encryption)(own.organisationId);
  const taken = await amendments.take(change.jobIds[0] ?? "", 60_000);
  if (taken === null) throw new Error("it can be taken");
  await operatorWrites(pool).breakOff(own.organisationId, own.subscriptionId);
  const invoice = { ...gone, status: "draft" } as const;
  const lines = taken.lines.map(({ id }) => ({ id, ledgerLineId: id }));
  expect(await amendments.record(taken, { kind: "done", invoice, lines })).toBe(false);
  const billed = await own.reload(change);
  expect(billed.renewalInvoiceId).toBe(null);
  expect(await own.lines(billed.invoiceId)).toEqual(["proration: 15.0000", "proration: 30.0000"]);
  expect(await own.lines(own.invoiceId)).toEqual(["plan 10: 100.0000"]);
  expect(await own.billed()).toEqual(["1: 13", "2: 13 separately"]);
});

test("a late removal is not issued again if its period began in Setup Mode", async ({
  fixture,
}) => {
  const { organisation, id, task } = await endUnderWay(fixture);
  await operatorWrites(fixture.pool).breakOff(organisation, id);
  const { pool } = fixture;
  await tables(pool).invoice.updateMany({
    where: { id: task.invoiceId },
    data: { status: "deleted" },
  });
  await tables(pool).period.updateMany({
    where: { subscriptionId: id },
    data: { setupMode: true },
  });
  await reissueLateRemovals(pool, organisation);
  expect(await fixture.invoices(id)).toHaveLength(2);
  const rows = await tables(pool).removal.findMany({
    where: { terminationId: task.terminationId },
    select: { state: true, reissued: true },
  });
  expect(rows).toEqual([{ state: "removed", reissued: false }]);
});
