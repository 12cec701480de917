/**
 * Every refusal of create subscription: status, type, code, param and the order among them; and
 * what a refusal leaves behind.
 */
import { describe, expect } from "vitest";
import { refusalOf, refused } from "./checked-ask.ts";
import { refusedCreationTest as test } from "./creation-fixture.ts";

const good = { customer_code: "ACME", plan_code: "team", units: 2 };
const invalid = (param: string | null) => refused(422, "invalid_parameter", param);

describe("a body of another shape", () => {
  test.for<[string, string, string | null]>([
    ["nothing", "", null],
    ["no JSON", "{", null],
    ["two objects", "{}{}", null],
    ["a list", "[]", null],
    ["null", "null", null],
    ["a text", '"{}"', null],
    ["an escaped lone surrogate", '{"label":"\\ud800"}', "label"],
    [
      "a duplicate member",
      '{"customer_code":"ACME","plan_code":"team","units":2,"units":3}',
      "units",
    ],
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
      "a member in another case",
      '{"customerCode":"ACME","plan_code":"team","units":2}',
      "customerCode",
    ],
    ["a path parameter", '{"customer_code":"ACME","plan_code":"team","units":2,"id":"x"}', "id"],
    [
      "an unknown member below",
      '{"charges":[{"charge_code":"onboarding","code":"x"}]}',
      "charges.0.code",
    ],
    ["5.0", '{"customer_code":"ACME","plan_code":"team","units":5.0}', "units"],
    ["5e0", '{"customer_code":"ACME","plan_code":"team","units":5e0}', "units"],
    ["a minus zero", '{"customer_code":"ACME","plan_code":"team","units":-0}', "units"],
    ["a leading zero", '{"customer_code":"ACME","plan_code":"team","units":05}', null],
    ["a large number", '{"customer_code":"ACME","plan_code":"team","units":4294967298}', "units"],
    ["a comment", '{/**/"customer_code":"ACME"}', null],
    ["a comma at the end", '{"customer_code":"ACME","plan_code":"team","units":2,}', null],
  ] as const)("being %s is refused", async ([_, body, param], { send }) => {
    expect(refusalOf(await send(body))).toEqual(invalid(param));
  });

  test.for([
    ["another type", { "Content-Type": "text/plain" }],
    ["a form", { "Content-Type": "application/x-www-form-urlencoded" }],
    ["another charset", { "Content-Type": "application/json; charset=latin1" }],
    ["a compression", { "Content-Encoding": "gzip" }],
  ] as const)("sent as %s is refused", async ([_, headers], { send }) => {
    expect(refusalOf(await send(JSON.stringify(good), headers))).toEqual(invalid(null));
  });

  test("beginning with a byte order mark is refused", async ({ send }) => {
    expect(refusalOf(await send(`\ufeff${JSON.stringify(good)}`))).toEqual(invalid(null));
  });

  test("of more than 1 MiB is refused with 413, and no more of it is read", async ({ send }) => {
    const text = JSON.stringify({ ...good, label: "" });
    const tooMuch = text.replace('"label":""', `"label":"${"x".repeat(1_048_577 - text.length)}"`);
    expect(refusalOf(await send(tooMuch))).toEqual(refused(413, "request_too_large"));
    expect(refusalOf(await send(tooMuch.replace("x", "")))).toEqual(invalid("label"));
  });
});

describe("a wrong member of a subscription", () => {
  test.for<[string, unknown, string?]>([
    ["customer_code", undefined],
    ["customer_code", null],
    ["customer_code", ""],
    ["customer_code", 7],
    ["customer_code", "x".repeat(101)],
    ["customer_code", "AC\0ME"],
    ["plan_code", undefined],
    ["plan_code", null],
    ["plan_code", ""],
    ["plan_code", "x".repeat(101)],
    ["units", undefined],
    ["units", null],
    ["units", "5"],
    ["units", true],
    ["units", -1],
    ["units", 1_000_000_001],
    ["units", [5]],
    ["discount_percent", null],
    ["discount_percent", 5],
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
    ["price", null],
    ["price", 11],
    ["price", "1000000000"],
    ["price", "1,50"],
    ["price", "-0"],
    ["price", "00"],
    ["price", "NaN"],
    ["minimum_units", null],
    ["minimum_units", -1],
    ["minimum_units", "1"],
    ["minimum_units", 1_000_000_001],
    ["end_after_cycles", null],
    ["end_after_cycles", 0],
    ["end_after_cycles", 1201],
    ["label", null],
    ["label", "x".repeat(256)],
    ["label", "a\0"],
    ["label", "\udc00"],
    ["invoice_reference", null],
    ["invoice_reference", "x".repeat(256)],
    ["invoice_reference", "a\0"],
    ["invoice_reference", "\ud83d"],
    ["billing_day", null],
    ["billing_day", 0],
    ["billing_day", 32],
    ["billing_day", "1"],
    ["timezone", null],
    ["timezone", ""],
    ["timezone", "Mars/Olympus"],
    ["timezone", "x".repeat(101)],
    ["start_date", null],
    ["start_date", ""],
    ["start_date", "2026-02-29"],
    ["start_date", "2026-13-01"],
    ["start_date", "2026-1-31"],
    ["start_date", "31.01.2026"],
    ["start_date", "2026-01-31T00:00:00Z"],
    ["start_date", 20_260_131],
    ["charges", null],
    ["charges", {}],
    ["charges", "onboarding"],
    ["charges", Array.from({ length: 21 }, () => ({ charge_code: "onboarding" }))],
    ["charges", ["onboarding"], "charges.0"],
    ["charges", [null], "charges.0"],
    ["charges", [{}], "charges.0.charge_code"],
    ["charges", [{ charge_code: "" }], "charges.0.charge_code"],
    ["charges", [{ charge_code: "onboarding" }, { charge_code: null }], "charges.1.charge_code"],
    ["charges", [{ charge_code: "onboarding", quantity: 0 }], "charges.0.quantity"],
    ["charges", [{ charge_code: "onboarding", quantity: 1000 }], "charges.0.quantity"],
    ["charges", [{ charge_code: "onboarding", quantity: null }], "charges.0.quantity"],
    ["charges", [{ charge_code: "onboarding", quantity: "1" }], "charges.0.quantity"],
    ["charges", [{ charge_code: "onboarding", price: 1 }], "charges.0.price"],
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
