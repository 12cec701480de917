/** A response is written exactly as the contract shows it, and reads back as the same message. */
import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PlanSchema } from "../../../src/gen/proto/billing/v1/catalogue_pb.ts";
import { LedgerSyncStatus } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import { CreditNoteSchema } from "../../../src/gen/proto/billing/v1/credit_notes_pb.ts";
import { CreateCustomerRequestSchema } from "../../../src/gen/proto/billing/v1/customers_pb.ts";
import {
  EventSchema,
  GetEventResponseSchema,
  ListEventsResponseSchema,
} from "../../../src/gen/proto/billing/v1/events_pb.ts";
import {
  InvoiceLedgerSchema,
  InvoiceSchema,
} from "../../../src/gen/proto/billing/v1/invoices_pb.ts";
import {
  CreateSubscriptionRequestSchema,
  CreateSubscriptionResponseSchema,
  ListSubscriptionsResponseSchema,
  SubscriptionSchema,
  SubscriptionStatus,
} from "../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import {
  ReportUsageRequestSchema,
  ReportUsageResponseSchema,
  UsageEventErrorCode,
  UsageEventStatus,
} from "../../../src/gen/proto/billing/v1/usage_pb.ts";
import { compileReader } from "../../../src/transport/rest/read-json.ts";
import { compileWriter } from "../../../src/transport/rest/write-json.ts";

function written<S extends DescMessage>(schema: S, init: MessageInitShape<S>): unknown {
  return JSON.parse(compileWriter(schema)(create(schema, init)));
}

const subscription = { status: SubscriptionStatus.ACTIVE, interval: { unit: "month", count: 1 } };

test("an inline message's members stand in its place, and an unset nullable one is null", () => {
  const value = written(CreateSubscriptionResponseSchema, {
    subscription: { id: "s", ...subscription },
  });
  expect(value).toMatchObject({
    id: "s",
    status: "active",
    invoice: null,
    end_date: null,
    end_after_cycles: null,
  });
  expect(value).not.toHaveProperty("subscription");
});

test("members that are left out where unset are there where set", () => {
  const results = [
    { eventId: "a", status: UsageEventStatus.CREATED },
    {
      eventId: "b",
      status: UsageEventStatus.REJECTED,
      error: { code: UsageEventErrorCode.METER_NOT_FOUND, message: "m" },
    },
  ];
  expect(
    written(ReportUsageResponseSchema, {
      object: "usage_event_batch",
      created: 1,
      rejected: 1,
      results,
    }),
  ).toEqual({
    object: "usage_event_batch",
    created: 1,
    duplicates: 0,
    rejected: 1,
    results: [
      { event_id: "a", status: "created" },
      { event_id: "b", status: "rejected", error: { code: "meter_not_found", message: "m" } },
    ],
  });
});

test("zero values and empty lists are written", () => {
  expect(written(ListSubscriptionsResponseSchema, {})).toEqual({ data: [], has_more: false });
});

test("members stand in the order of the contract, in one form", () => {
  const message = create(InvoiceLedgerSchema, {
    syncStatus: LedgerSyncStatus.FAILED,
    syncError: 'a "b"\n\u2028é',
  });
  const text = `{"sync_status":"failed","invoice_id":null,"sync_error":"a \\"b\\"\\n\u2028é"}`;
  expect(compileWriter(InvoiceLedgerSchema)(message)).toBe(text);
});

test("what would break the contract is an error of ours, never an answer", () => {
  expect(() => written(SubscriptionSchema, { interval: {} })).toThrow(
    /SubscriptionStatus has no word for 0/,
  );
  expect(() =>
    written(SubscriptionSchema, { ...subscription, status: 99 as SubscriptionStatus }),
  ).toThrow(/99/);
  expect(() => written(SubscriptionSchema, { status: SubscriptionStatus.ACTIVE })).toThrow(
    /interval/,
  );
  expect(() => written(CreateSubscriptionResponseSchema, {})).toThrow(/subscription/);
});

test("a message with its own JSON is written as that text, also in a list", () => {
  const body = '{"id": "e",  "sequence":1e0}';
  expect(compileWriter(EventSchema)(create(EventSchema, { id: "other", body }))).toBe(body);
  const event = create(GetEventResponseSchema, { event: { body } });
  expect(compileWriter(GetEventResponseSchema)(event)).toBe(body);
  const page = create(ListEventsResponseSchema, { data: [{ body }, { body }] });
  expect(compileWriter(ListEventsResponseSchema)(page)).toBe(
    `{"data":[${body},${body}],"has_more":false}`,
  );
  expect(() => written(EventSchema, { id: "e" })).toThrow(/body is no object/);
});

/** Any valid message of a schema: enums have a word, required messages are set. */
function anyMessage(schema: DescMessage): fc.Arbitrary<Message> {
  const fields = Object.fromEntries(
    schema.fields.map((field) => [field.localName, anyField(field)]),
  );
  return fc.record(fields).map((init) => create(schema, init as MessageInitShape<DescMessage>));
}

function anyField(field: DescField): fc.Arbitrary<unknown> {
  if (field.fieldKind === "list") return fc.array(anyValue(field), { maxLength: 3 });
  return field.proto.proto3Optional
    ? fc.option(anyValue(field), { nil: undefined })
    : anyValue(field);
}

function anyValue(field: DescField): fc.Arbitrary<unknown> {
  if (field.message !== undefined) return anyMessage(field.message);
  if (field.enum !== undefined) {
    return fc.constantFrom(
      ...field.enum.values.map(({ number }) => number).filter((number) => number !== 0),
    );
  }
  switch (field.scalar) {
    case 8:
      return fc.boolean();
    case 5:
      return fc.integer({ min: -2_147_483_648, max: 2_147_483_647 });
    default: {
      const text = fc
        .string({ unit: "binary", maxLength: 80 })
        .map((value) => value.replaceAll("\0", ""));
      return fc.oneof(
        text,
        fc.constantFrom('"', "\\", "\u2028", "\ud83d\ude00", "19.9900", "\u001f\u007f"),
      );
    }
  }
}

test.each([
  PlanSchema,
  SubscriptionSchema,
  InvoiceSchema,
  CreditNoteSchema,
  CreateSubscriptionRequestSchema,
  CreateCustomerRequestSchema,
  ReportUsageRequestSchema,
] as const)("a written %s is JSON, and reads back as the same message", (schema: DescMessage) => {
  const write = compileWriter(schema);
  const read = compileReader(schema);
  fc.assert(
    fc.property(anyMessage(schema), (message) => {
      const text = write(message);
      expect(read(new TextEncoder().encode(text))).toEqual(message);
      expect(read(new TextEncoder().encode(JSON.stringify(JSON.parse(text), null, 2)))).toEqual(
        message,
      );
    }),
    { numRuns: 150 },
  );
});

/** A message as the services return it: a plain object without the members that are unset. */
function initialiserOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(initialiserOf);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(
    ([name, member]) => name !== "$typeName" && !isUnset(member),
  );
  return Object.fromEntries(members.map(([name, member]) => [name, initialiserOf(member)]));
}

function isUnset(member: unknown): boolean {
  return member === "" || member === false || (Array.isArray(member) && member.length === 0);
}

test.each([
  InvoiceSchema,
  CreditNoteSchema,
  SubscriptionSchema,
  PlanSchema,
] as const)("an initialiser of %s is written like its message", (schema: DescMessage) => {
  const write = compileWriter(schema);
  fc.assert(
    fc.property(anyMessage(schema), (message) => {
      const initialiser = initialiserOf(message) as MessageInitShape<DescMessage>;
      expect(write(initialiser)).toBe(write(create(schema, initialiser)));
    }),
    { numRuns: 100 },
  );
});
