/**
 * Ends in the store, step by step and without a ledger, while other work happens between the steps.
 * END-4, END-7, END-9.
 */
import { randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import type { EndWhen } from "../../../src/domain/subscriptions/end.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { newId } from "../../../src/store/database/ids.ts";
import {
  createTerminations,
  type TerminationTask,
} from "../../../src/store/subscriptions/end-removals.ts";
import { type EndOutcome, tenantWrites } from "../../support/tenant-writes.ts";
import { usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";

const now = "2026-04-01T12:00:00Z";
const none = { deleteUnsentInvoices: false, voidApprovedInvoices: false };
const requestIds = new Map<string, string>();

/** Begins an end, or repeats it. */
function end(
  fixture: UsageFixture,
  organisation: string,
  subscriptionId: string,
  options = none,
  when: EndWhen = "now",
): Promise<EndOutcome> {
  const requestId = requestIds.get(subscriptionId) ?? newId();
  requestIds.set(subscriptionId, requestId);
  const order = { id: subscriptionId, now, requestId };
  return tenantWrites(fixture.pool, organisation).end(order, { when, ...options });
}

/** The steps of an end that began. `take` claims a task and expects its kind. */
function stepsOf(fixture: UsageFixture, organisation: string, begun: EndOutcome) {
  if (begun.kind !== "removing") throw new Error(begun.kind);
  const { terminationId } = begun;
  const terminations = createTerminations(
    fixture.pool,
    createEncryption(randomBytes(32)),
  )(organisation);
  const take = async <Kind extends TerminationTask["kind"]>(
    kind: Kind,
  ): Promise<TerminationTask & { readonly kind: Kind }> => {
    const task = await terminations.take(terminationId, 60_000);
    if (task?.kind !== kind) throw new Error(`the task is ${task?.kind}`);
    return task as TerminationTask & { readonly kind: Kind };
  };
  return { terminations, take, terminationId, read: () => terminations.read(terminationId) };
}

test("an end is refused if usage during it comes to more than can be billed", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  await fixture.meter(organisation);
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, now);
  await fixture.bill(organisation);
  const { terminations, take, terminationId, read } = stepsOf(
    fixture,
    organisation,
    await end(fixture, organisation, id),
  );
  expect(await terminations.drop(await take("drop"))).toEqual({ issued: false });
  await fixture.use(organisation, id, ["9999999999999999", "2026-03-20"]);
  // The removed renewal invoice is reissued, because the subscription continues.
  expect(await terminations.finish(await take("finish"), "now")).toEqual({ issued: true });
  expect(await read()).toMatchObject({ outcome: "refused", reason: "invalid_state", removed: 1 });
  expect(await fixture.row(id)).toMatchObject({ status: "active", end_date: null });
  expect((await fixture.invoices(id)).map(({ number, type }) => `${number} ${type}`)).toEqual([
    "INV-0001 first",
    "INV-0002 renewal",
    "INV-0003 renewal",
  ]);
  const repeated = await end(fixture, organisation, id);
  expect(repeated).toMatchObject({ kind: "refused", terminationId });
  expect(repeated.message).toMatch(
    new RegExp(
      "^The subscription goes on\\. Removed already, and staying so: INV-0002\\. " +
        "The amount of API calls comes to .* have to be voided\\.$",
    ),
  );
});

test.for([
  [true, { ...none, deleteUnsentInvoices: true }],
  [false, { deleteUnsentInvoices: true, voidApprovedInvoices: true }],
] as const)("an invoice that is left counts as done (unsent only: %s)", async ([
  isOnlyUnsent,
  options,
], { fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-10");
  await fixture.bill(organisation);
  const inLedger = `WITH sent AS (
      UPDATE ledger_jobs SET state = 'done', finished_at = now() WHERE organisation_id = $1)
    UPDATE invoices SET status = 'draft', ledger_invoice_id = gen_random_uuid()
      WHERE organisation_id = $1`;
  await fixture.pool.query(inLedger, [organisation]);
  const { terminations, take, read } = stepsOf(
    fixture,
    organisation,
    await end(fixture, organisation, id, options),
  );
  expect(await read()).toMatchObject({ current: "INV-0002", removed: 0, left: 0, removals: 2 });
  const first = await take("remove");
  expect(first).toMatchObject({ number: "INV-0002", isOnlyUnsent, isAhead: false });
  const answer = { status: "approved", total: "125", amountDue: "125", sent: true } as const;
  expect(await terminations.leave(first, "approved_or_sent", answer)).toBe(true);
  expect(await read()).toMatchObject({ current: "INV-0001", removed: 0, left: 1, removals: 2 });
  const second = await take("remove");
  const gone = { ...answer, status: "deleted", amountDue: "0", sent: false } as const;
  expect(await terminations.removed(second, { outcome: "deleted", invoice: gone })).toEqual({
    issued: false,
  });
  expect(await terminations.finish(await take("finish"), "now")).toEqual({ issued: false });
  expect(await read()).toMatchObject({ outcome: "ended", removed: 1, left: 1 });
  const { rows } = await fixture.pool.query(
    `SELECT i.number, i.status, r.state, r.reason
      FROM invoices i JOIN removals r ON r.invoice_id = i.id
      WHERE i.subscription_id = $1 ORDER BY i.seq`,
    [id],
  );
  expect(rows[1]).toEqual({
    number: "INV-0002",
    status: "approved",
    state: "left",
    reason: "approved_or_sent",
  });
  expect(rows[0]).toMatchObject({ number: "INV-0001", status: "deleted", state: "removed" });
});

test("two records of a removal at the same time write one reversal", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, now);
  await fixture.bill(organisation);
  const inLedger = `WITH sent AS (
      UPDATE ledger_jobs SET state = 'done', finished_at = now() WHERE organisation_id = $1)
    UPDATE invoices SET status = 'approved', ledger_invoice_id = gen_random_uuid()
      WHERE organisation_id = $1 AND ledger_invoice_id IS NULL`;
  await fixture.pool.query(inLedger, [organisation]);
  const separate = {
    units: 14,
    prorate: false,
    behaviour: null,
    effectiveDate: null,
    document: "separate",
  } as const;
  await tenantWrites(fixture.pool, organisation).changeUnits({ id, now }, separate);
  await fixture.pool.query(inLedger, [organisation]);
  const { terminations, take } = stepsOf(
    fixture,
    organisation,
    await end(fixture, organisation, id, none, "period_end"),
  );
  const removal = await take("remove");
  const invoice = { status: "voided", total: "125.00", amountDue: "0", sent: false } as const;
  const recorded = await Promise.all(
    [1, 2].map(() => terminations.removed(removal, { outcome: "voided", invoice })),
  );
  expect(recorded.filter((one) => one !== null)).toEqual([{ issued: true }]);
  expect(await terminations.finish(await take("finish"), "period_end")).toEqual({ issued: false });
  const { rows } = await fixture.pool.query(
    `SELECT n.number, n.subtotal::text, i.number AS reversed
      FROM credit_notes n JOIN credit_note_lines l ON l.credit_note_id = n.id
      JOIN invoices i ON i.id = l.reversed_invoice_id WHERE n.subscription_id = $1`,
    [id],
  );
  expect(rows).toEqual([{ number: "CN-0001", subtotal: "50.0000", reversed: "INV-0003" }]);
});

describe("usage while a slow end runs", () => {
  /**
   * Begins an end half a minute before the renewal date. Its renewal invoice is not removed yet.
   */
  async function slowEnd(fixture: UsageFixture, when: EndWhen) {
    const organisation = await fixture.sandbox("2026-03-10", {
      invoice_create_days: 20,
      timezone: "Europe/Paris",
    });
    await fixture.meter(organisation);
    const id = await fixture.subscribe(organisation);
    await fixture.setClock(organisation, "2026-04-09T21:59:30Z");
    await fixture.bill(organisation);
    // The reporter's clock is ahead.
    await fixture.use(organisation, id, ["10", "2026-04-09T22:00:10Z"]);
    const begun = await end(fixture, organisation, id, none, when);
    const report = async (...days: readonly string[]) => {
      const verdicts = await fixture.report(
        organisation,
        id,
        days.map((day) => ["10", day]),
      );
      return verdicts.map((one) => (one.status === "rejected" ? one.code : one.status));
    };
    return { organisation, id, report, ...stepsOf(fixture, organisation, begun) };
  }

  test.for([
    "now",
    "period_end",
  ] as const)("is accepted until the renewal date, with %s", async (when, { fixture }) => {
    const { organisation, id, report, terminations, take } = await slowEnd(fixture, when);
    await fixture.setClock(organisation, "2026-04-15");
    const days = ["2026-04-09T21:59:59.999999Z", "2026-04-09T22:00:00Z", "2026-04-14"];
    const verdicts = ["created", "after_subscription_end", "after_subscription_end"];
    expect(await report(...days)).toEqual(verdicts);
    await terminations.drop(await take("drop"));
    expect(await report(...days)).toEqual(verdicts);
    await terminations.finish(await take("finish"), when);
    await fixture.bill(organisation);
    const status = when === "now" ? "ended" : "complete";
    expect(await fixture.row(id)).toMatchObject({ status, end_date: "2026-04-10" });
    expect(await fixture.bills(id)).toEqual(["0: 2 of 20.0000 in 0, 10.0000 on INV-0003"]);
    expect(await report(...days)).toEqual(verdicts);
    await fixture.setClock(organisation, "2026-04-17");
    await fixture.bill(organisation);
    expect(await fixture.bills(id)).toEqual([
      "0: 2 of 20.0000 in 0, 10.0000 on INV-0003",
      "1: 1 of 10.0000 in 0, 5.0000 on INV-0004",
    ]);
  });

  test("is accepted again after the end is refused", async ({ fixture }) => {
    const { organisation, id, report, terminations, take } = await slowEnd(fixture, "now");
    const inLedger = `WITH sent AS (
        UPDATE ledger_jobs SET state = 'done', finished_at = now()
        WHERE organisation_id = $1 AND kind = 'create_invoice')
      UPDATE invoices SET status = 'draft', ledger_invoice_id = gen_random_uuid()
        WHERE organisation_id = $1`;
    await fixture.pool.query(inLedger, [organisation]);
    await fixture.setClock(organisation, "2026-04-15");
    expect(await report("2026-04-14")).toEqual(["after_subscription_end"]);
    await terminations.refuse(await take("remove"), {
      reason: "period_locked",
      message: "Locked.",
      invoice: null,
    });
    expect(await report("2026-04-14")).toEqual(["created"]);
    await fixture.bill(organisation);
    await fixture.setClock(organisation, "2026-05-10");
    await fixture.bill(organisation);
    expect(await fixture.bills(id)).toEqual(["1: 2 of 20.0000 in 1, 10.0000 on INV-0003"]);
  });
});
