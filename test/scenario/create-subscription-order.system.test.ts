/**
 * The order in which a creation is refused, and the key of a refused request. CREATE-1, REQUEST-1,
 * IDEMPOTENCY-5.
 */
import { describe, expect } from "vitest";
import { type Ask, type Refused, refusalOf, refused } from "./checked-ask.ts";
import { refusedCreationTest as test } from "./creation-fixture.ts";

const good = { customer_code: "ACME", plan_code: "team", units: 2 };
const invalid = (param: string | null) => refused(422, "invalid_parameter", param);

describe("the rules of create subscription", () => {
  const charge = (charge_code: string, more: object = {}) => ({
    charges: [{ charge_code, ...more }],
  });

  test("are checked in their order: each corrected fault shows the next", async ({ send }) => {
    const steps: [object, Refused][] = [
      [
        { customer_code: "NOBODY", plan_code: "nothing", ...charge("none") },
        refused(404, "customer_not_found", "customer_code"),
      ],
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

  test.for<[string, object, Refused]>([
    [
      "a code in another case",
      { customer_code: "acme" },
      refused(404, "customer_not_found", "customer_code"),
    ],
    [
      "a code with a space",
      { customer_code: "ACME " },
      refused(404, "customer_not_found", "customer_code"),
    ],
    ["units on a flat fee", { plan_code: "site" }, refused(422, "plan_has_no_units", "units")],
  ] as const)("refuse %s", async ([_, changes, expected], { send }) => {
    expect(refusalOf(await send({ ...good, ...changes }))).toEqual(expected);
  });
});

describe("before the body", () => {
  const post = (ask: Ask, asked: Parameters<Ask>[2]) =>
    ask("POST", "/v1/subscriptions", { body: "no JSON", ...asked });

  test.for([
    "",
    " ",
    "a b",
    "x".repeat(256),
    "é",
    "a\tb",
  ])("a malformed Idempotency-Key is refused: %o", async (key, { ask, own }) => {
    expect(refusalOf(await post(ask, { key: own.apiKey, idempotencyKey: key }))).toEqual(
      invalid("Idempotency-Key"),
    );
  });
});

describe("the key of a refused request", () => {
  test("is free again, for a corrected body and for every kind of refusal", async ({
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

  test("belongs to the request that succeeded; another conflicts before its faults", async ({
    ask,
    own,
  }) => {
    const asked = { key: own.apiKey, idempotencyKey: "taken" };
    const first = await ask("POST", "/v1/subscriptions", { ...asked, body: good });
    const other = await ask("POST", "/v1/subscriptions", {
      ...asked,
      body: { ...good, plan_code: "nothing" },
    });
    expect(refusalOf(other).code).toBe("idempotency_conflict");
    const customer = { name: "Umbrella", email: "a@b.example" };
    expect(refusalOf(await ask("POST", "/v1/customers", { ...asked, body: customer })).code).toBe(
      "idempotency_conflict",
    );
    const malformed = await ask("POST", "/v1/subscriptions", {
      ...asked,
      body: { ...good, units: "2" },
    });
    expect(refusalOf(malformed)).toEqual(invalid("units"));
    const reordered = '{"units":2,  "plan_code":"team","customer_code":"ACME"}';
    const again = await ask("POST", "/api/v1/subscriptions", { ...asked, body: reordered });
    expect([again.status, again.text, again.headers.get("Idempotent-Replayed")]).toEqual([
      201,
      first.text,
      "true",
    ]);
  });

  test("a refused creation leaves nothing behind", async ({ system, ask }) => {
    const empty = await system.organisation();
    const asked = { key: empty.apiKey, idempotencyKey: "nothing", body: { ...good, units: 0 } };
    expect((await ask("POST", "/v1/subscriptions", asked)).status).toBe(422);
    for (const list of ["subscriptions", "invoices"]) {
      expect((await ask("GET", `/v1/${list}`, { key: empty.apiKey })).json.data).toEqual([]);
    }
    expect(await system.ledgerInvoices(empty.tenantId)).toEqual([]);
  });
});
