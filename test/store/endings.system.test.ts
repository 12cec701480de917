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
const requestId = newId();

/** Begins an end `now`, or repeats it. */
function end(organisation: string, subscriptionId: string): Promise<EndingOutcome> {
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
  const request = { when: "now", deleteUnsentInvoices: false, voidApprovedInvoices: false } as const;
  return createStore(world.pool)
    .organisation(organisation)
    .subscriptions.end(order, (facts) => decideEnd(facts, request));
}

test("an end is refused, and not stuck, where what is used while it removes invoices comes to more than can be billed", async () => {
  const organisation = await world.sandbox("2026-03-10", { invoice_create_days: 20 });
  await world.meter(organisation);
  const id = await world.subscribe(organisation);
  await world.setClock(organisation, now);
  await world.bill(organisation);
  const begun = await end(organisation, id);
  if (begun.kind !== "begun") throw new Error(begun.kind);
  const scope = createEndings(world.pool, createSealing(randomBytes(32)))(organisation);
  const take = async <Kind extends EndingTask["kind"]>(kind: Kind): Promise<EndingTask & { readonly kind: Kind }> => {
    const task = await scope.take(begun.endingId, 60_000);
    if (task?.kind !== kind) throw new Error(`${task?.kind} is to be done`);
    return task as EndingTask & { readonly kind: Kind };
  };
  expect(await scope.drop(await take("drop"))).toBe(true);
  await world.use(organisation, id, ["9999999999999999", "2026-03-20"]);
  // The renewal invoice that was removed is raised again for what the subscription goes on to.
  expect(await scope.finish(await take("finish"), "now")).toEqual({ raised: true });
  expect(await scope.look(begun.endingId)).toMatchObject({ outcome: "refused", reason: "invalid_state", removed: 1 });
  expect(await world.row(id)).toMatchObject({ status: "active", end_date: null });
  expect((await world.invoices(id)).map(({ number, type }) => `${number} ${type}`)).toEqual([
    "INV-0001 first",
    "INV-0002 renewal",
    "INV-0003 renewal",
  ]);
  const told = await end(organisation, id);
  expect(told).toMatchObject({ kind: "refused", endingId: begun.endingId });
  expect(told.kind === "refused" && told.message).toMatch(
    /^The subscription goes on\. Removed already, and staying so: INV-0002\. The usage of API calls comes to .* have to be voided\.$/,
  );
});
