/** Creations of subscriptions that are refused by their shape, each by the name of its member. */
import { describe, expect } from "vitest";
import { refusalOf, refused } from "./checked-ask.ts";
import { refusedCreationTest as test } from "./creation-fixture.ts";

const good = { customer_code: "ACME", plan_code: "team", units: 2 };
const invalid = (param: string | null) => refused(422, "invalid_parameter", param);

describe("a body of another shape", () => {
  test.for<[string, string, string | null]>([
    ["nothing", "", null],
    ["no JSON", "{", null],
    [
      "a duplicate member below",
      '{"charges":[{"charge_code":"a","charge_code":"a"}]}',
      "charges.0.charge_code",
    ],
    [
      "an unknown member",
      '{"customer_code":"ACME","plan_code":"team","units":2,"colour":"red"}',
      "colour",
    ],
    [
      "an unknown member below",
      '{"charges":[{"charge_code":"onboarding","code":"x"}]}',
      "charges.0.code",
    ],
  ] as const)("being %s is refused", async ([_, body, param], { send }) => {
    expect(refusalOf(await send(body))).toEqual(invalid(param));
  });
});

describe("a wrong member of a subscription", () => {
  test.for<[string, unknown, string?]>([
    ["customer_code", undefined],
    ["customer_code", ""],
    ["customer_code", "x".repeat(101)],
    ["plan_code", undefined],
    ["plan_code", ""],
    ["plan_code", "x".repeat(101)],
    ["units", undefined],
    ["units", -1],
    ["units", 1_000_000_001],
    ["discount_percent", ""],
    ["discount_percent", "100.0001"],
    ["discount_percent", "101"],
    ["discount_percent", "-1"],
    ["discount_percent", "+1"],
    ["discount_percent", "1.00001"],
    ["discount_percent", "01"],
    ["discount_percent", ".5"],
    ["discount_percent", "5."],
    ["discount_percent", "1e1"],
    ["discount_percent", " 5"],
    ["discount_percent", "5\n"],
    ["discount_percent", "٥"],
    ["price", "1000000000"],
    ["price", "1,50"],
    ["price", "-0"],
    ["price", "00"],
    ["price", "NaN"],
    ["minimum_units", -1],
    ["minimum_units", 1_000_000_001],
    ["end_after_cycles", 0],
    ["end_after_cycles", 1201],
    ["label", "x".repeat(256)],
    ["invoice_reference", "x".repeat(256)],
    ["billing_day", 0],
    ["billing_day", 32],
    ["timezone", ""],
    ["timezone", "Mars/Olympus"],
    ["timezone", "x".repeat(101)],
    ["start_date", ""],
    ["start_date", "2026-02-29"],
    ["start_date", "2026-13-01"],
    ["start_date", "2026-1-31"],
    ["start_date", "31.01.2026"],
    ["start_date", "2026-01-31T00:00:00Z"],
    ["charges", Array.from({ length: 21 }, () => ({ charge_code: "onboarding" }))],
    ["charges", [{}], "charges.0.charge_code"],
    ["charges", [{ charge_code: "" }], "charges.0.charge_code"],
    ["charges", [{ charge_code: "onboarding" }, { charge_code: null }], "charges.1.charge_code"],
    ["charges", [{ charge_code: "onboarding", quantity: 0 }], "charges.0.quantity"],
    ["charges", [{ charge_code: "onboarding", quantity: 1000 }], "charges.0.quantity"],
    ["charges", [{ charge_code: "onboarding", price: "1.00000" }], "charges.0.price"],
  ] as const)("is refused by its name: %s %o", async ([member, value, param = member], {
    send,
  }) => {
    expect(refusalOf(await send({ ...good, [member]: value }))).toEqual(invalid(param));
  });

  test.for([
    [
      "255 code points of two UTF-16 units each",
      { label: "😀".repeat(255), invoice_reference: "😀".repeat(255) },
    ],
    ["no text at all", { label: "", invoice_reference: "" }],
    [
      "20 charges",
      {
        charges: Array.from({ length: 20 }, () => ({ charge_code: "hardware-key", quantity: 999 })),
      },
    ],
    ["the largest price", { price: "999999999.9999", units: 1 }],
    [
      "escapes and white space",
      '{ "customer_code" : "\\u0041CME",\n\t"plan_code":"team","units":2 }',
    ],
  ] as const)("is not refused at its limit: %s", async ([_, body], { send }) => {
    const answer = await send(typeof body === "string" ? body : { ...good, ...body });
    expect(answer.status, answer.text).toBe(201);
  });
});
