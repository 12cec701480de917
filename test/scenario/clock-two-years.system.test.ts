/**
 * Twenty-four months for 250 subscriptions: the clock renews each of them on each of its
 * days, once. CLOCK-1.
 */
import { expect } from "vitest";
import { aloneTest as test } from "./fixtures.ts";
import { addMany, expectEachRenewed } from "./many-subscriptions.ts";

test("an advance of 24 months renews 250 subscriptions without the ledger", async ({
  clocks,
  system,
}) => {
  const own = await clocks.sandbox();
  const { id } = await clocks.subscribe(own, { start_date: "2026-03-03" });
  await addMany(system, id, 249, { days: [27, 30], zones: ["Europe/Paris", "America/New_York"] });
  // It takes some minutes for as many documents, and the clock waits for none of them.
  await system.stopLedger();
  const { state, now, advance } = await clocks.advanced(own, { to: "2028-04-01T12:00:00Z" });
  expect([state, now]).toEqual(["TEST_CLOCK_STATE_STANDING", "2028-04-01T12:00:00.000Z"]);
  expect(advance).toMatchObject({ performed: 6_000, invoicesIssued: 6_000 });
  expect(advance.parked).toBeUndefined();
  await expectEachRenewed(system, own, 24);
});
