/** Faults of a parsed request: the rules of the proto files, and those of every text. */
import {
  create,
  type DescMessage,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";
import {
  DocumentState,
  ListDocumentsRequestSchema,
} from "../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { DocumentStatus } from "../../../../src/gen/proto/billing/v1/common_pb.ts";
import {
  CreateCustomerRequestSchema,
  CustomerService,
} from "../../../../src/gen/proto/billing/v1/customers_pb.ts";
import {
  InvoiceService,
  ListInvoicesRequestSchema,
} from "../../../../src/gen/proto/billing/v1/invoices_pb.ts";
import {
  type CreateSubscriptionRequest,
  CreateSubscriptionRequestSchema,
  ListSubscriptionsRequestSchema,
  SubscriptionService,
} from "../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { UsageEventSchema, UsageService } from "../../../../src/gen/proto/billing/v1/usage_pb.ts";
import { textFormats } from "../../../../src/services/text-formats.ts";
import {
  createValidate,
  describePattern,
  patternOf,
} from "../../../../src/transport/rpc/validation/validate.ts";

const schema = CreateSubscriptionRequestSchema;
type Changes = MessageInitShape<typeof schema>;
const usage = {
  eventId: "e",
  subscription: "s",
  meter: "m",
  quantity: "1",
  timestamp: "2026-03-05T10:15:00Z",
};
const validate = createValidate([schema], textFormats);

function request(changes: Changes): CreateSubscriptionRequest {
  return create(schema, { customerCode: "acme", planCode: "pro", ...changes });
}

function charges(...codes: string[]): CreateSubscriptionRequest["charges"] {
  return create(schema, { charges: codes.map((chargeCode) => ({ chargeCode })) }).charges;
}

describe("validation", () => {
  test("lets a valid request pass", () => {
    expect(() =>
      validate(schema, request({ charges: charges("setup"), discountPercent: "12.5" })),
    ).not.toThrow();
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

  test.each<[DescMessage, object, unknown]>([
    [
      schema,
      request({ discountPercent: "100.5" }),
      "discount_percent: must be a decimal such as 12.50, without a sign, with at most " +
        "four places, and at most 100",
    ],
    [
      schema,
      request({ price: "-1" }),
      "price: must be a decimal such as 12.50, without a sign, with at most four " +
        "places, and below 1000000000",
    ],
    [
      schema,
      request({ startDate: "3 March" }),
      "start_date must be a day of the calendar, YYYY-MM-DD",
    ],
    [
      UsageEventSchema,
      create(UsageEventSchema, { ...usage, quantity: "1e3" }),
      "quantity: must be a decimal above zero such as 12.50, without a sign, with at " +
        "most four places",
    ],
    [
      UsageEventSchema,
      create(UsageEventSchema, { ...usage, timestamp: "2026-02-29T10:15:00Z" }),
      "timestamp must be a time of the calendar with seconds and offset, such as " +
        "2026-03-05T10:15:00Z",
    ],
    [
      UsageEventSchema,
      create(UsageEventSchema, { ...usage, meterCode: "c" }),
      "meter_code must not be given together with meter",
    ],
    [
      UsageEventSchema,
      create(UsageEventSchema, { ...usage, timestamp: "" }),
      "timestamp: value is required",
    ],
    [
      CreateCustomerRequestSchema,
      create(CreateCustomerRequestSchema, { code: "a", name: "A", email: "nobody" }),
      "email: must have the form of billing@acme.example",
    ],
    [
      ListDocumentsRequestSchema,
      create(ListDocumentsRequestSchema, { state: DocumentState.SYNCED }),
      "state: must be one of failed, waiting, drift",
    ],
    [
      ListSubscriptionsRequestSchema,
      create(ListSubscriptionsRequestSchema, { status: 0 }),
      "status: must be one of pending, active, complete, ended",
    ],
    [
      ListInvoicesRequestSchema,
      create(ListInvoicesRequestSchema, { status: [DocumentStatus.PAID, 99 as DocumentStatus] }),
      expect.stringMatching(/^status\.1: must be one of draft, [a-z_, ]*, not_in_external$/),
    ],
  ])("says of a text or word in %s what is wanted, in words", (message, value, said) => {
    const one = createValidate([message], textFormats);
    expect(() => one(message, value as Message)).toThrow(
      expect.objectContaining({ message: said }),
    );
  });

  test("shows no expression of any field of the contract", () => {
    const messages = [InvoiceService, SubscriptionService, CustomerService, UsageService].flatMap(
      ({ methods }) => methods.map(({ input }) => input),
    );
    const nested = messages.flatMap(({ fields }) => fields.flatMap(({ message }) => message ?? []));
    const fields = [...messages, ...nested].flatMap((message) => message.fields);
    const patterns = fields
      .map((field) => [field, patternOf(field)] as const)
      .filter(([, pattern]) => pattern !== "");
    expect(patterns.length).toBeGreaterThan(5);
    for (const [field, pattern] of patterns) {
      expect(describePattern(field)).not.toContain(pattern);
      expect(describePattern(field)).not.toMatch(/[\\^$]/);
    }
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
    expect(() => validate(schema, whole)).toThrow(
      expect.objectContaining({ code: "invalid_parameter", param: null }),
    );
    const inner = request({ charges: charges("setup") });
    Object.assign(inner.charges[0] ?? {}, {
      $unknown: [{ no: 9, wireType: WireType.Varint, data: new Uint8Array([1]) }],
    });
    expect(() => validate(schema, inner)).toThrow(
      expect.objectContaining({ code: "invalid_parameter", param: "charges.0" }),
    );
  });
});
