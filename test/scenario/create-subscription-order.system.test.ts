/**
 * The order in which a creation is refused, and the key of a refused request. CREATE-1, REQUEST-1,
 * IDEMPOTENCY-5.
 */
import { expect } from "vitest";
import { type Refused, refusalOf, refused } from "./checked-ask.ts";
import { refusedCreationTest as test } from "./creation-fixture.ts";

const good = { customer_code: "ACME", plan_code: "team", units: 2 };

const charge = (charge_code: string, more: object = {}) => ({
  charges: [{ charge_code, ...more }],
});

test("a creation is refused by its first fault: each corrected one shows the next", async ({
  send,
}) => {
  const steps: [object, Refused][] = [
    [
      { customer_code: "NOBODY", plan_code: "nothing", ...charge("none") },
      refused(404, "customer_not_found", "customer_code"),
    ],
    [{ customer_code: "acme" }, refused(404, "customer_not_found", "customer_code")],
    [{ customer_code: "GONE" }, refused(404, "plan_not_found", "plan_code")],
    [{ plan_code: "team-legacy" }, refused(404, "charge_not_found", "charges.0.charge_code")],
    [charge("onboarding-draft"), refused(422, "customer_not_active", "customer_code")],
    [{ customer_code: "ACME" }, refused(422, "plan_not_active", "plan_code")],
    [
      { plan_code: "bounded", price: "5" },
      refused(422, "charge_not_active", "charges.0.charge_code"),
    ],
    [charge("dollars"), refused(422, "currency_mismatch", "charges.0.charge_code")],
    [charge("hardware-key", { price: "1" }), refused(422, "price_override_not_allowed", "price")],
    [{ price: undefined }, refused(422, "price_override_not_allowed", "charges.0.price")],
    [charge("hardware-key"), refused(422, "invalid_parameter", "units")],
    [{ units: 1, minimum_units: 1 }, refused(422, "invalid_parameter", "minimum_units")],
    [{ minimum_units: 5, units: 4 }, refused(422, "units_below_minimum", "units")],
    [{ units: 14 }, refused(422, "units_above_maximum", "units")],
    [{ units: 13 }, refused(422, "invalid_parameter", "start_date")],
  ];
  let body: object = { start_date: "2020-01-01" };
  for (const [mended, expected] of steps) {
    body = { ...body, ...mended };
    expect(refusalOf(await send(body)), JSON.stringify(body)).toEqual(expected);
  }
  const answer = await send({ ...body, start_date: "2026-01-01" });
  expect(answer.status, answer.text).toBe(201);
});

test("the key of a refused creation is free again after every kind of refusal", async ({
  ask,
  own,
}) => {
  const asked = { key: own.apiKey, idempotencyKey: "again" };
  const bodies = [
    "{",
    { ...good, units: "2" },
    { ...good, plan_code: "nothing" },
    { ...good, units: 0 },
  ];
  for (const body of bodies)
    expect((await ask("POST", "/v1/subscriptions", { ...asked, body })).status).not.toBe(201);
  const created = await ask("POST", "/v1/subscriptions", { ...asked, body: good });
  expect([created.status, created.headers.get("Idempotent-Replayed")]).toEqual([201, null]);
});
