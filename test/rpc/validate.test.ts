/** Faults of a parsed request: the rules of the proto files, and those of every text. */
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";
import {
  type CreateSubscriptionRequest,
  CreateSubscriptionRequestSchema,
} from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { createValidate } from "../../src/rpc/validate.ts";
import { textFormats } from "../../src/services/text-formats.ts";

const schema = CreateSubscriptionRequestSchema;
type Changes = MessageInitShape<typeof schema>;
const validate = createValidate([schema], textFormats);

function request(changes: Changes): CreateSubscriptionRequest {
  return create(schema, { customerCode: "acme", planCode: "pro", ...changes });
}

function charges(...codes: string[]): CreateSubscriptionRequest["charges"] {
  return create(schema, { charges: codes.map((chargeCode) => ({ chargeCode })) }).charges;
}

describe("validation", () => {
  test("lets a valid request pass", () => {
    expect(() => validate(schema, request({ charges: charges("setup"), discountPercent: "12.5" }))).not.toThrow();
  });

  test.each<[string, Changes]>([
    ["customer_code", { customerCode: "" }],
    ["plan_code", { planCode: "x".repeat(101) }],
    ["units", { units: -1 }],
    ["discount_percent", { discountPercent: "100.5" }],
    ["discount_percent", { discountPercent: "01" }],
    ["start_date", { startDate: "2026-02-30" }],
    ["start_date", { startDate: "2026-2-3" }],
    ["timezone", { timezone: "Mars/Olympus" }],
    ["charges.1.charge_code", { charges: charges("a", "") }],
  ])("refuses a fault of %s with its path", (param, changes) => {
    expect(() => validate(schema, request(changes))).toThrow(
      expect.objectContaining({ code: "invalid_parameter", param }),
    );
  });

  test.each<[string, string, Changes]>([
    ["NUL", "customer_code", { customerCode: "a\0b" }],
    ["a high surrogate alone", "label", { label: "\ud83d" }],
    ["a low surrogate alone", "charges.0.charge_code", { charges: charges("\ude00x") }],
  ])("refuses %s in %s", (_, param, changes) => {
    expect(() => validate(schema, request(changes))).toThrow(
      expect.objectContaining({ code: "invalid_parameter", param }),
    );
  });

  test("counts lengths in code points, not in code units", () => {
    expect(() => validate(schema, request({ label: "😀".repeat(255) }))).not.toThrow();
    expect(() => validate(schema, request({ label: "😀".repeat(256) }))).toThrow(
      expect.objectContaining({ param: "label" }),
    );
  });

  test("refuses binary fields that the message does not have, also inside one of its parts", () => {
    const unknown = new BinaryWriter().tag(999, WireType.Varint).uint32(1).finish();
    const whole = fromBinary(schema, Buffer.concat([toBinary(schema, request({})), unknown]));
    expect(() => validate(schema, whole)).toThrow(expect.objectContaining({ code: "invalid_parameter", param: null }));
    const inner = request({ charges: charges("setup") });
    Object.assign(inner.charges[0] ?? {}, {
      $unknown: [{ no: 9, wireType: WireType.Varint, data: new Uint8Array([1]) }],
    });
    expect(() => validate(schema, inner)).toThrow(
      expect.objectContaining({ code: "invalid_parameter", param: "charges.0" }),
    );
  });
});
