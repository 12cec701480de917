/**
 * Each member of a request has its own limits and form, and a wrong one is refused by its path,
 * before anything is read of the database. REQUEST-7.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { CreateCustomerRequestSchema } from "../../src/gen/proto/billing/v1/customers_pb.ts";
import {
  ChangeUnitsRequestSchema,
  CreateSubscriptionRequestSchema,
  EndSubscriptionRequestSchema,
  RestoreSubscriptionRequestSchema,
} from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { ReportUsageRequestSchema } from "../../src/gen/proto/billing/v1/usage_pb.ts";
import { textFormats } from "../../src/services/text-formats.ts";
import { compileReader } from "../../src/transport/rest/read-json.ts";
import { createValidate } from "../../src/transport/rpc/validation/validate.ts";

type Body = Readonly<Record<string, unknown>>;

/** The path of the first fault of a body, null if the whole is at fault. */
function faultOf(schema: DescMessage, body: unknown): string | null {
  const hasId = schema.fields.some(({ name }) => name === "id");
  const read = compileReader(schema, hasId ? ["id"] : []);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  try {
    const message = read(new TextEncoder().encode(text));
    createValidate([schema], textFormats)(schema, Object.assign(message, hasId && { id: "x" }));
  } catch (error) {
    const { code, param } = error as { readonly code?: string; readonly param?: string | null };
    if (code !== "invalid_parameter" || param === undefined) throw error;
    return param;
  }
  return "none";
}

const creation = { customer_code: "ACME", plan_code: "team", units: 2 };
const change = { units: 12, prorate: true };
const customer = { code: "GOOD", name: "Good Ltd", email: "good@good.example" };
const event = {
  event_id: "e",
  subscription: "s",
  meter_code: "api-calls",
  quantity: "1",
  timestamp: "2026-05-09T10:00:00Z",
};
const long = (length: number, character = "x") => character.repeat(length);
const charges = (...wrong: object[]) => [{ charge_code: "a" }, ...wrong];

/** A request in order, and the wrong values of each member. */
type Wrong = readonly [
  name: string,
  schema: DescMessage,
  good: Body,
  wrong: Readonly<Record<string, readonly unknown[]>>,
];

const forms: readonly Wrong[] = [
  [
    "a creation of a subscription",
    CreateSubscriptionRequestSchema,
    creation,
    {
      customer_code: [undefined, "", long(101)],
      plan_code: [undefined, "", long(101)],
      units: [-1, 1_000_000_001, "2", true, 5.5],
      discount_percent: ["", "100.0001", "101", "-1", "+1", "1.00001", "01", ".5", "5.", "1e1"],
      price: ["1000000000", "1,50", "-0", "00", "NaN", " 5", "5\n", "٥"],
      minimum_units: [-1, 1_000_000_001],
      end_after_cycles: [0, 1201],
      label: [long(256)],
      invoice_reference: [long(256)],
      billing_day: [0, 32],
      timezone: ["", "Mars/Olympus", long(101)],
      start_date: ["", "2026-02-29", "2026-13-01", "2026-1-31", "31.01.2026"],
      charges: [Array.from({ length: 21 }, () => ({ charge_code: "a" }))],
      colour: ["red"],
    },
  ],
  [
    "a change of units",
    ChangeUnitsRequestSchema,
    change,
    {
      units: [undefined, -1, 1_000_000_001],
      effective_date: ["2026-02-30", "2026-4-16", "2026-04-16T00:00:00Z", "２０２６-04-16", ""],
      proration_behaviour: ["later"],
      document: ["both"],
    },
  ],
  [
    "a change of units without proration",
    ChangeUnitsRequestSchema,
    { units: 12, prorate: false },
    {
      effective_date: ["2026-04-16"],
      proration_behaviour: ["charge_immediately", "charge_on_renewal"],
    },
  ],
  ["an end", EndSubscriptionRequestSchema, { when: "now" }, { when: [undefined, "later"] }],
  ["a restoration", RestoreSubscriptionRequestSchema, {}, { id: ["x"], when: ["now"] }],
  [
    "a creation of a customer",
    CreateCustomerRequestSchema,
    customer,
    {
      name: [undefined, "", long(256)],
      email: [undefined, "", "nobody", "a@b@c", "a b@c", "a@b\u00a0c", "@b", `${long(252)}@b.c`],
      code: ["", long(101)],
      company_name: ["", long(256)],
      first_name: ["", long(256)],
      last_name: ["", long(256)],
      ledger_contact_id: ["", long(101)],
    },
  ],
];

describe.each(forms)("%s", (_, schema, good, wrong) => {
  test("is in order", () => {
    expect(faultOf(schema, good)).toBe("none");
  });

  test.each(Object.entries(wrong))("refuses a wrong %s by its name", (member, values) => {
    for (const value of values)
      expect([value, faultOf(schema, { ...good, [member]: value })]).toEqual([value, member]);
  });
});

test.each<[string, object]>([
  ["charges.1.charge_code", {}],
  ["charges.1.charge_code", { charge_code: "" }],
  ["charges.1.charge_code", { charge_code: null }],
  ["charges.1.code", { charge_code: "a", code: "x" }],
  ["charges.1.quantity", { charge_code: "a", quantity: 0 }],
  ["charges.1.quantity", { charge_code: "a", quantity: 1000 }],
  ["charges.1.price", { charge_code: "a", price: "1.00000" }],
])("a creation refuses a wrong charge by its place: %s %j", (param, wrong) => {
  const body = { ...creation, charges: charges(wrong) };
  expect(faultOf(CreateSubscriptionRequestSchema, body)).toBe(param);
});

test.each<[string, Body]>([
  ["255 code points of two UTF-16 units each", { label: long(255, "😀") }],
  ["no text at all", { label: "", invoice_reference: "" }],
  ["20 charges", { charges: Array(20).fill({ charge_code: "a", quantity: 999 }) }],
  ["the largest price", { price: "999999999.9999", units: 1 }],
])("a creation takes %s", (_, changes) => {
  expect(faultOf(CreateSubscriptionRequestSchema, { ...creation, ...changes })).toBe("none");
});

describe("a report of usage", () => {
  test.each<[member: string, values: readonly unknown[]]>([
    ["event_id", [undefined, "", long(256, "é"), "a\0b", "\ud83d"]],
    ["subscription", [undefined, long(101)]],
    ["quantity", [undefined, 0, "0.0000", -1, "1.00001", "123456789012345678901", true]],
    ["timestamp", [undefined, "2026-05-09T10:00:00", "2026-02-29T10:00:00Z", 1_778_320_800]],
    ["timestamp", ["2026-06-30T23:59:60Z"]],
    ["meter_code", [long(101), null]],
    ["unit", ["call"]],
    ["eventId", ["e"]],
  ])("refuses a wrong %s by the place of its event", (member, values) => {
    for (const value of values) {
      const events = [event, { ...event, [member]: value }];
      const param = `events.1.${member}`;
      expect([value, faultOf(ReportUsageRequestSchema, { events })]).toEqual([value, param]);
    }
  });

  test.each<[string, object, string]>([
    ["neither meter nor code", { meter_code: undefined }, "meter"],
    ["both meter and code", { meter: "m" }, "meter_code"],
    ["an empty meter", { meter_code: undefined, meter: "" }, "meter"],
    ["a meter of 101 characters", { meter_code: undefined, meter: long(101) }, "meter"],
  ])("refuses %s", (_, changes, member) => {
    const events = [{ ...event, ...changes }];
    expect(faultOf(ReportUsageRequestSchema, { events })).toBe(`events.0.${member}`);
  });

  test.each(["1e2", "1E2", "1.00000", "1.0e0"])("refuses the number %s", (number) => {
    const text = JSON.stringify({ events: [{ ...event, quantity: 7 }] });
    const body = text.replace('"quantity":7', `"quantity":${number}`);
    expect(faultOf(ReportUsageRequestSchema, body)).toBe("events.0.quantity");
  });

  test.each<[string, Body, string]>([
    ["no events", { events: [] }, "events"],
    ["101 events", { events: Array(101).fill(event) }, "events"],
    ["no list", { events: { 0: event } }, "events"],
    ["nothing", {}, "events"],
    ["another member", { events: [event], dry_run: true }, "dry_run"],
  ])("refuses %s", (_, body, param) => {
    expect(faultOf(ReportUsageRequestSchema, body)).toBe(param);
  });
});
