/** What is taken without asking the library, it would take as well: messages of every request, with values at and around each limit. */
import {
  create,
  type DescField,
  type DescMessage,
  getOption,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { describe, expect, test } from "vitest";
import { field as fieldOption } from "../../../../src/gen/proto/billing/options/v1/options_pb.ts";
import { CreateSubscriptionRequestSchema } from "../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { ReportUsageRequestSchema } from "../../../../src/gen/proto/billing/v1/usage_pb.ts";
import { compilePlainRules } from "../../../../src/transport/rpc/validation/validation-fast-path.ts";
import { adminMethods, methods } from "../../../contract/methods.ts";

const validator = createValidator({ failFast: true });
const schemas = [...new Set([...methods, ...adminMethods].map(({ input }) => input))];

/** Numbers from 0 to below `end`, the same ones in every run. */
function randomNumbers(seed: number): (end: number) => number {
  let state = seed;
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return ((state >>> 8) ^ (state >>> 20)) % end;
  };
}

const below = randomNumbers(1);

function oneOf<T>(values: readonly T[]): T {
  const value = values[below(values.length)];
  if (value === undefined) throw new Error("there is none");
  return value;
}

/** Texts around the lengths of the field's rules, also of characters that are two code units, and what its pattern is about. */
function someText(field: DescField): string {
  const { type } = getOption(field, fieldRules);
  const lengths =
    type.case === "string" ? [Number(type.value.minLen), Number(type.value.maxLen)] : [1];
  const length = Math.max(0, oneOf(lengths) + oneOf([-1, 0, 0, 1]));
  const { example } = getOption(field, fieldOption);
  const known: unknown = example === "" ? "0" : JSON.parse(example);
  const texts = [
    "",
    "a".repeat(length),
    "😀".repeat(length),
    `é${"😀".repeat(Math.max(0, length - 1))}`,
    "12.50",
    "0",
    "0.0000",
    "1e3",
  ];
  return oneOf([...texts, String(known), String(known), `${known}\n`]);
}

function someNumber(field: DescField): number {
  const { type } = getOption(field, fieldRules);
  const ends =
    type.case === "int32" ? [type.value.greaterThan.value, type.value.lessThan.value] : [];
  return oneOf([0, 1, 2, ...ends.filter((end) => end !== undefined)]) + oneOf([-1, 0, 0, 0, 1]);
}

function someValue(field: DescField): unknown {
  if (field.message !== undefined) return someMessage(field.message);
  if (field.enum !== undefined) return below(field.enum.values.length + 1);
  if (field.scalar === ScalarType.STRING) return someText(field);
  return field.scalar === ScalarType.BOOL ? below(2) === 1 : someNumber(field);
}

function someMessage(schema: DescMessage): Message {
  const message = create(schema) as Message & Record<string, unknown>;
  for (const field of schema.fields) {
    if (field.oneof !== undefined || below(5) === 0) continue;
    const count = oneOf([0, 1, 1, 2, 3]);
    message[field.localName] =
      field.fieldKind === "list"
        ? Array.from({ length: count }, () => someValue(field))
        : someValue(field);
  }
  return message;
}

describe("a message that the plain rules take", () => {
  const compiled = schemas.map(
    (schema) => [schema.name, schema, compilePlainRules(schema)] as const,
  );
  const plain = compiled.filter(([, , keeps]) => keeps !== null);

  test("can be of nearly every request of the contract", () => {
    expect(compiled.length).toBeGreaterThan(60);
    expect(plain.length).toBeGreaterThan(compiled.length / 2);
    expect(plain.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        "ReportUsageRequest",
        "CreateSubscriptionRequest",
        "ChangeUnitsRequest",
      ]),
    );
  });

  test.each(plain)("is one that the library takes: %s", (_, schema, keeps) => {
    for (let index = 0; index < 500; index += 1) {
      const message = someMessage(schema);
      if (keeps?.(message) !== true) continue;
      const { kind } = validator.validate(schema, message);
      if (kind !== "valid") expect({ message, kind }).toEqual({ message, kind: "valid" });
    }
  });

  test("is every good report of usage and every good creation, so that the library is not asked for them", () => {
    const one = {
      eventId: "e",
      subscription: "s",
      meterCode: "c",
      quantity: "1.5",
      timestamp: "2026-03-05T10:15:00Z",
    };
    const usage = (count: number) =>
      create(ReportUsageRequestSchema, { events: Array.from({ length: count }, () => one) });
    const keepsUsage = compilePlainRules(ReportUsageRequestSchema);
    expect([0, 1, 100, 101].map((count) => keepsUsage?.(usage(count)))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    const creation = {
      customerCode: "ACME",
      planCode: "team",
      units: 10,
      charges: [{ chargeCode: "onboarding" }],
    };
    const keepsCreation = compilePlainRules(CreateSubscriptionRequestSchema);
    expect(keepsCreation?.(create(CreateSubscriptionRequestSchema, creation))).toBe(true);
    expect(
      keepsCreation?.(create(CreateSubscriptionRequestSchema, { ...creation, units: -1 })),
    ).toBe(false);
    expect(
      keepsCreation?.(create(CreateSubscriptionRequestSchema, { ...creation, customerCode: "" })),
    ).toBe(false);
  });
});
