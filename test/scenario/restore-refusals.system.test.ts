/**
 * Refusals of a restoration over HTTP, one for each fact that is read of the database, which leave
 * nothing behind. The domain holds every refusal and their order.
 */
import { expect } from "vitest";
import { tables } from "../support/rows.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest as test } from "./fixtures.ts";
import { expectRefusedAlike } from "./preview-comparison.ts";
import { rowsOf } from "./row-builder.ts";

test("a restoration is refused by the customer, the plan and the day", async ({
  system,
  ask,
  builder,
}) => {
  const own = await builder.sandbox();
  const order = { start_date: "2026-04-01", customer_code: "GLOBEX" };
  const { id, customer, plan } = await builder.subscribe(own, order);
  await builder.ended(own, id, { when: "now" });
  /** The message of the refusal, and of that of its preview. */
  const message = async (): Promise<string> => {
    const before = await rowsOf(system, own);
    const answer = await builder.restore(own, id);
    const asked = { key: own.apiKey, body: {} };
    await expectRefusedAlike(ask, `/v1/subscriptions/${id}/restore`, asked, answer);
    expect(await rowsOf(system, own)).toBe(before);
    expect(refusalOf(answer)).toEqual(refused(409, "invalid_state"));
    return answer.json.error.message;
  };
  const rows = tables(system.pool);
  const setCustomer = (status: string) =>
    rows.customer.updateMany({ where: { id: customer }, data: { status } });
  const setPlan = (status: string) =>
    rows.plan.updateMany({ where: { id: plan }, data: { status } });
  await setCustomer("inactive");
  expect(await message()).toBe("The customer is not active.");
  await setCustomer("active");
  await setPlan("inactive");
  expect(await message()).toBe("The plan is inactive: it must be active or legacy.");
  await setPlan("legacy");
  // 1 May has begun in Paris, and not yet in UTC.
  await builder.setClock(own, "2026-04-30T22:00:00Z");
  expect(await message()).toBe(
    "The renewal date 2026-05-01 has passed: create a new subscription instead.",
  );
  await builder.setClock(own, "2026-04-30T21:59:59Z");
  expect((await builder.restored(own, id)).status).toBe("active");
});
