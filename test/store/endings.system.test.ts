/** Ends as their rounds write them, step by step and without a ledger, where something else comes in between. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decideEnd } from "../../src/domain/ending.ts";
import type { EndingOutcome } from "../../src/store/endings.ts";
import { newId } from "../../src/store/ids.ts";
import { createEndings, type EndingTask } from "../../src/store/removals.ts";
import { createStore } from "../../src/store/scope.ts";
import { createSealing } from "../../src/store/sealing.ts";
import { type UsedWorld, usedWorld } from "./used-world.ts";

let world: UsedWorld;

beforeAll(async () => {
  world = await usedWorld();
});

afterAll(() => world?.drop());

const now = "2026-04-01T12:00:00Z";
const none = { deleteUnsentInvoices: false, voidApprovedInvoices: false };
const requestIds = new Map<string, string>();

/** Begins an end `now`, or repeats it. */
function end(organisation: string, subscriptionId: string, options = none): Promise<EndingOutcome> {
  const requestId = requestIds.get(subscriptionId) ?? newId();
  requestIds.set(subscriptionId, requestId);
  const order = {
    endingId: newId(),
    subscriptionId,
    when: "now" as const,
    requestId,
    requestHash: Buffer.alloc(32),
    now: new Date(now),
    onRaised: () => undefined,
    awaitedUntil: new Date(now),
  };
  const request = { when: "now", ...options } as const;
  return createStore(world.pool)
    .organisation(organisation)
    .subscriptions.end(order, (facts) => decideEnd(facts, request));
}

/** The rounds of an end that was begun: each task is of the kind that is expected. */
function roundsOf(organisation: string, begun: EndingOutcome) {
  if (begun.kind !== "begun") throw new Error(begun.kind);
  const { endingId } = begun;
  const scope = createEndings(world.pool, createSealing(randomBytes(32)))(organisation);
  const take = async <Kind extends EndingTask["kind"]>(kind: Kind): Promise<EndingTask & { readonly kind: Kind }> => {
    const task = await scope.take(endingId, 60_000);
    if (task?.kind !== kind) throw new Error(`${task?.kind} is to be done`);
    return task as EndingTask & { readonly kind: Kind };
  };
  return { scope, take, endingId, look: () => scope.look(endingId) };
}

test("an end is refused, and not stuck, where what is used while it removes invoices comes to more than can be billed", async () => {
  const organisation = await world.sandbox("2026-03-10", { invoice_create_days: 20 });
  await world.meter(organisation);
  const id = await world.subscribe(organisation);
  await world.setClock(organisation, now);
  await world.bill(organisation);
  const { scope, take, endingId, look } = roundsOf(organisation, await end(organisation, id));
  expect(await scope.drop(await take("drop"))).toEqual({ raised: false });
  await world.use(organisation, id, ["9999999999999999", "2026-03-20"]);
  // The renewal invoice that was removed is raised again for what the subscription goes on to.
  expect(await scope.finish(await take("finish"), "now")).toEqual({ raised: true });
  expect(await look()).toMatchObject({ outcome: "refused", reason: "invalid_state", removed: 1 });
  expect(await world.row(id)).toMatchObject({ status: "active", end_date: null });
  expect((await world.invoices(id)).map(({ number, type }) => `${number} ${type}`)).toEqual([
    "INV-0001 first",
    "INV-0002 renewal",
    "INV-0003 renewal",
  ]);
  const told = await end(organisation, id);
  expect(told).toMatchObject({ kind: "refused", endingId });
  expect(told.kind === "refused" && told.message).toMatch(
    /^The subscription goes on\. Removed already, and staying so: INV-0002\. The usage of API calls comes to .* have to be voided\.$/,
  );
});

test.each([
  [true, { ...none, deleteUnsentInvoices: true }],
  [false, { deleteUnsentInvoices: true, voidApprovedInvoices: true }],
])("what is asked for as never sent alone is told so (%s), and what is left counts as done", async (isOnlyUnsent, options) => {
  const organisation = await world.sandbox("2026-03-10");
  const id = await world.subscribe(organisation);
  await world.setClock(organisation, "2026-04-10");
  await world.bill(organisation);
  const inLedger = `WITH sent AS (UPDATE operations SET state = 'done', settled_at = now() WHERE organisation_id = $1)
    UPDATE invoices SET status = 'draft', ledger_invoice_id = gen_random_uuid() WHERE organisation_id = $1`;
  await world.pool.query(inLedger, [organisation]);
  const { scope, take, look } = roundsOf(organisation, await end(organisation, id, options));
  expect(await look()).toMatchObject({ current: "INV-0002", removed: 0, left: 0, removals: 2 });
  const first = await take("remove");
  expect(first).toMatchObject({ number: "INV-0002", isOnlyUnsent, isAhead: false });
  const told = { status: "approved", total: "125", amountDue: "125", sent: true } as const;
  expect(await scope.leave(first, "approved_or_sent", told)).toBe(true);
  expect(await look()).toMatchObject({ current: "INV-0001", removed: 0, left: 1, removals: 2 });
  const second = await take("remove");
  const gone = { ...told, status: "deleted", amountDue: "0", sent: false } as const;
  expect(await scope.removed(second, { outcome: "deleted", invoice: gone })).toEqual({ raised: false });
  expect(await scope.finish(await take("finish"), "now")).toEqual({ raised: false });
  expect(await look()).toMatchObject({ outcome: "ended", removed: 1, left: 1 });
  const { rows } = await world.pool.query(
    "SELECT i.number, i.status, r.state, r.reason FROM invoices i JOIN removals r ON r.invoice_id = i.id WHERE i.subscription_id = $1 ORDER BY i.seq",
    [id],
  );
  expect(rows[1]).toEqual({ number: "INV-0002", status: "approved", state: "left", reason: "approved_or_sent" });
  expect(rows[0]).toMatchObject({ number: "INV-0001", status: "deleted", state: "removed" });
});
