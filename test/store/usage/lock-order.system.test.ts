/** Late usage locks the rows of finished subscriptions in the common order. INVARIANT-5. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { lockSubscriptions } from "../../../src/store/database/lock-order.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { isWaiting, usageTest as test } from "../billing/usage-fixture.ts";

function late(subscription: string) {
  const [quantity, occurredAt] = [readQuantity("1"), readTimestamp("2026-03-12T12:00:00Z")];
  if (quantity === null || occurredAt === null) throw new Error("no event");
  return {
    eventId: randomUUID(),
    subscription,
    meter: { by: "code", value: "api-calls" } as const,
    quantity,
    occurredAt,
  };
}

test("late usage waits for a switch of settings before it holds any subscription", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await fixture.meter(organisation);
  const ids = [
    await fixture.subscribe(organisation),
    await fixture.subscribe(organisation),
  ].toSorted();
  const [first = "", second = ""] = ids;
  await tables(fixture.pool).subscription.updateMany({
    where: { id: { in: ids } },
    data: {
      status: "ended",
      endDate: new Date("2026-03-13"),
      endedAt: new Date("2026-03-13"),
      dueAt: null,
    },
  });
  const now = new Date("2026-03-14T12:00:00Z");
  const { usage } = createStore(fixture.pool).tenant(organisation, now);
  const { storing } = await inTransaction(fixture.pool, async (client) => {
    await client.query("SELECT 1 FROM organisations WHERE id = $1 FOR NO KEY UPDATE", [
      organisation,
    ]);
    await lockSubscriptions(client, organisation, [second]);
    const storing = usage.report(ids.map(late), now);
    storing.catch(() => undefined);
    await until("the report waits", () => isWaiting(fixture));
    await lockSubscriptions(client, organisation, [first]);
    return { storing };
  });
  expect(await storing).toEqual([{ status: "created" }, { status: "created" }]);
  for (const id of ids) expect((await fixture.row(id)).due_at).toEqual(new Date("2026-03-15"));
});
