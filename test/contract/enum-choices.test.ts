/**
 * A refusal of an unknown word of an enum names exactly the values that the rules of its field
 * allow, in JSON over REST and over Connect. REQUEST-7.
 */
import { create, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { expect, test } from "vitest";
import { PlanMeterInputSchema } from "../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import { compileReader } from "../../src/transport/rest/read-json.ts";
import type { JsonForm } from "../../src/transport/rest/read-scalar.ts";
import { adminMethods, methods } from "./methods.ts";

type EnumField = DescField & { readonly enum: NonNullable<DescField["enum"]> };

/** The enum fields of a message and of those within it. */
function enumFields(message: DescMessage, seen = new Set<DescMessage>()): readonly EnumField[] {
  if (seen.has(message)) return [];
  seen.add(message);
  return message.fields.flatMap((field) => {
    if (field.message !== undefined) return enumFields(field.message, seen);
    return field.enum === undefined ? [] : [field as EnumField];
  });
}

/** The words that a refusal of an unknown one names. */
function namedWords({ parent, jsonName, name, fieldKind }: EnumField, form: JsonForm): string[] {
  const value = fieldKind === "list" ? ["nope"] : "nope";
  const body = { [form === "contract" ? name : jsonName]: value };
  try {
    compileReader(parent, [], form)(new TextEncoder().encode(JSON.stringify(body)));
  } catch (error) {
    return (/must be one of (.*)$/.exec((error as Error).message)?.[1] ?? "").split(", ");
  }
  return [];
}

const validator = createValidator();

/** The values with a word that no rule of the field itself forbids. */
function allowed(field: EnumField): readonly string[] {
  const isAllowed = (number: number): boolean => {
    const value = field.fieldKind === "list" ? [number] : number;
    const message = create(field.parent, { [field.localName]: value });
    const faults = validator.validate(field.parent, message).violations ?? [];
    return !faults.some((fault) => fault.ruleId.startsWith("enum.") && fault.field[0] === field);
  };
  return field.enum.values
    .filter(({ number }) => number !== 0 && isAllowed(number))
    .map(({ name }) => name);
}

const inputs = new Set([...methods, ...adminMethods].map(({ input }) => input));
const fields = [...new Set([...inputs].flatMap((input) => enumFields(input)))];

test("a refusal of an enum field names what its rules allow", () => {
  expect(fields.length).toBeGreaterThan(15);
  for (const field of fields) {
    const names = allowed(field);
    const prefix = field.enum.sharedPrefix?.length ?? 0;
    const words = names.map((name) => name.slice(prefix).toLowerCase());
    const shown = {
      field: String(field),
      connect: namedWords(field, "protobuf"),
      rest: namedWords(field, "contract"),
    };
    expect(shown).toEqual({ field: String(field), connect: names, rest: words });
  }
});

test("a refusal of the type of a meter's price names no flat fee", () => {
  const [type] = enumFields(PlanMeterInputSchema);
  expect(type && namedWords(type, "protobuf")).toEqual([
    "PLAN_TYPE_PER_UNIT",
    "PLAN_TYPE_TIERED",
    "PLAN_TYPE_VOLUME",
    "PLAN_TYPE_STAIRSTEP",
  ]);
});
