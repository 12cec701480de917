/** The JSON Schema of one field, in a request or in a response. */
import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { optionsOf } from "../../src/transport/rest/json-shape.ts";
import { description } from "./comments.ts";
import { constant, enumJsonNames, example, responseDecimalPattern } from "./json-values.ts";
import { itemKeywords, ruleKeywords } from "./rules.ts";

/** The use of a message. Requests are closed and have rules; responses are open and complete. */
export type Direction = "request" | "response";

/**
 * Returns the reference to the schema of a message or an enum, and adds that schema to the
 * document.
 */
export type Refer = (type: DescMessage | DescEnum, direction: Direction) => JsonObject;

/** Returns the schema of a field with its description, example, nullability and limits. */
export function fieldSchema(field: DescField, direction: Direction, refer: Refer): JsonObject {
  const shown = example(field);
  return {
    ...nullable(field, limited(typeSchema(field, direction, refer), limits(field, direction))),
    description: description(field),
    ...(shown === undefined ? {} : { examples: [shown] }),
  };
}

function typeSchema(field: DescField, direction: Direction, refer: Refer): JsonObject {
  switch (field.fieldKind) {
    case "scalar":
      return scalarSchema(field, field.scalar, direction);
    case "enum":
      return refer(field.enum, direction);
    case "message":
      // `additionalProperties` is the default, but without it openapi-generator ends with an error.
      if (field.message.typeName === "google.protobuf.Struct")
        return { type: "object", additionalProperties: true };
      return refer(field.message, direction);
    case "list":
      return {
        type: "array",
        items: { ...itemSchema(field, direction, refer), ...itemLimits(field, direction) },
      };
    case "map":
      throw new Error(`${field}: maps have no form in JSON here`);
  }
}

function itemSchema(
  field: DescField & { fieldKind: "list" },
  direction: Direction,
  refer: Refer,
): JsonObject {
  switch (field.listKind) {
    case "scalar":
      return scalarSchema(field, field.scalar, direction);
    case "enum":
      return refer(field.enum, direction);
    case "message":
      return refer(field.message, direction);
  }
}

function scalarSchema(field: DescField, scalar: ScalarType, direction: Direction): JsonObject {
  switch (scalar) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.INT32:
      return { type: "integer", format: "int32" };
    case ScalarType.STRING:
      return stringSchema(field, direction);
    default:
      throw new Error(`${field}: scalars of kind ${ScalarType[scalar]} have no form in JSON here`);
  }
}

function stringSchema(field: DescField, direction: Direction): JsonObject {
  const only = constant(field);
  if (only !== null) return { type: "string", const: only };
  if (optionsOf(field).decimal) {
    if (direction === "response") return { type: "string", pattern: responseDecimalPattern };
    // Not a list of types, because generators of typed clients do not support one.
    return optionsOf(field).numberOrString
      ? { oneOf: [{ type: "string" }, { type: "number" }] }
      : { type: "string" };
  }
  const format = formatOf(field);
  return { type: "string", ...(format === null ? {} : { format }) };
}

/** Returns the format that the comment promises for the text, such as a UUID (OBJECT-1). */
function formatOf(field: DescField): string | null {
  const words = description(field);
  if (words.includes("`YYYY-MM-DD`")) return "date";
  if (words.includes("ISO 8601")) return "date-time";
  return field.name === "id" && !isOther(example(field)) ? "uuid" : null;
}

/** Whether an id is no UUID by its example: usage in a list has a number, a step has a name. */
function isOther(shown: JsonValue | undefined): boolean {
  return typeof shown === "string" && !/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(shown);
}

/** Responses are not validated, so their fields' rules say nothing about them. */
function limits(field: DescField, direction: Direction): JsonObject {
  return direction === "request" ? ruleKeywords(field) : {};
}

/**
 * Adds the limits. In a choice of string or number they belong to the string. A date or an instant
 * gets none: its format is enough, and generated clients would apply text limits to a date object.
 */
function limited(schema: JsonObject, keywords: JsonObject): JsonObject {
  if (schema.format === "date" || schema.format === "date-time") return schema;
  if (!Array.isArray(schema.oneOf)) return { ...schema, ...keywords };
  const [text, ...others] = schema.oneOf as JsonObject[];
  return { oneOf: [{ ...text, ...keywords }, ...others] };
}

function itemLimits(field: DescField, direction: Direction): JsonObject {
  return direction === "request" ? itemKeywords(field) : {};
}

function nullable(field: DescField, schema: JsonObject): JsonObject {
  if (!optionsOf(field).nullable) return schema;
  if ("$ref" in schema) return { anyOf: [schema, { type: "null" }] };
  if (Array.isArray(schema.oneOf)) return { oneOf: [...schema.oneOf, { type: "null" }] };
  return { ...schema, type: [schema.type ?? "string", "null"] };
}

/** Returns the schema of an enum: its values, each with its comment. */
export function enumSchema(type: DescEnum): JsonObject {
  const words = enumJsonNames(type);
  const meanings = type.values
    .filter(({ number }) => number !== 0)
    .map((value, index) => `- \`${words[index]}\`: ${description(value)}`);
  return {
    type: "string",
    enum: words,
    description: `${description(type)}\n\n${meanings.join("\n")}`,
  };
}
