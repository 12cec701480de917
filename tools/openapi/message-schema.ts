/** The JSON Schema of a message in a request or in a response, and its example. */
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { jsonName, optionsOf, verbatimField } from "../../src/transport/rest/json-shape.ts";
import { description } from "./comments.ts";
import { fieldSchema, type Refer } from "./field-schema.ts";
import { constant, enumJsonNames, example } from "./json-values.ts";
import { isRequired } from "./rules.ts";

/** Returns the schema of a request body with these fields: closed, with its required members. */
export function requestSchema(
  message: DescMessage,
  fields: readonly DescField[],
  refer: Refer,
): JsonObject {
  const required = fields.filter(isRequired).map(jsonName);
  return {
    type: "object",
    description: description(message),
    properties: properties(fields, (field) => fieldSchema(field, "request", refer)),
    ...(required.length === 0 ? {} : { required }),
    ...alternatives(fields),
    additionalProperties: false,
  };
}

/**
 * Requires exactly one of two members. No message has two such pairs. It is not a `oneOf`, because
 * generators turn that into two types without the other members.
 */
function alternatives(fields: readonly DescField[]): JsonObject {
  const pairs = fields
    .map((field) => [optionsOf(field).insteadOf, jsonName(field)])
    .filter(([other]) => other !== "");
  if (pairs.length > 1) throw new Error("two pairs of alternatives have no form here");
  const [one = "", other = ""] = pairs[0] ?? [];
  if (one === "") return {};
  const has = (...names: string[]): JsonObject => ({
    properties: Object.fromEntries(names.map((name) => [name, {}])),
    required: names,
  });
  return { not: has(one, other), if: has(one), else: has(other) };
}

/**
 * Returns the schema of a response. Every member is present, except those that are left out if
 * unset. It is open, because a later version may add members. The members of an inline field are
 * listed with the others, because generators misread `allOf`.
 */
export function responseSchema(message: DescMessage, refer: Refer): JsonObject {
  const fields = shownFields(message);
  return {
    type: "object",
    description: description(message),
    properties: properties(fields, (field) => fieldSchema(field, "response", refer)),
    required: fields.filter((field) => !optionsOf(field).omitEmpty).map(jsonName),
  };
}

/**
 * Returns the fields that a response has as members. An inline field is replaced by those of its
 * message.
 */
function shownFields(message: DescMessage): DescField[] {
  const inline = message.fields
    .filter((field) => optionsOf(field).inline)
    .flatMap((field) => shownFields(messageOf(field)));
  const hidden = verbatimField(message);
  return [
    ...inline,
    ...message.fields.filter((field) => !optionsOf(field).inline && field !== hidden),
  ];
}

/**
 * Returns the message whose JSON a response is. If the response is one inline field, that is the
 * inline message.
 */
export function shownMessage(response: DescMessage): DescMessage {
  const [only, ...others] = response.fields;
  return only !== undefined && others.length === 0 && optionsOf(only).inline
    ? messageOf(only)
    : response;
}

/**
 * Returns a response with every member, from the examples of its fields. An inline field may have
 * one of its own, if members belong together.
 */
export function responseExample(message: DescMessage): JsonObject {
  return Object.assign(
    {},
    ...message.fields
      .filter((field) => !optionsOf(field).omitEmpty && field !== verbatimField(message))
      .map((field) =>
        optionsOf(field).inline
          ? (example(field) ?? responseExample(messageOf(field)))
          : { [jsonName(field)]: shown(field) },
      ),
  );
}

/**
 * Returns a request with every member that has an example in the contract. Lists show one element.
 */
export function requestExample(fields: readonly DescField[]): JsonObject {
  const entries = fields.flatMap((field): [string, JsonValue][] => {
    const value = example(field);
    if (value !== undefined) return [[jsonName(field), value]];
    if (field.fieldKind !== "list" || field.listKind !== "message") return [];
    return [[jsonName(field), [requestExample(field.message.fields)]]];
  });
  return Object.fromEntries(entries);
}

function shown(field: DescField): JsonValue {
  const value = constant(field) ?? example(field);
  if (value !== undefined) return value;
  switch (field.fieldKind) {
    case "message":
      return responseExample(field.message);
    case "list":
      return field.listKind === "message" ? [responseExample(field.message)] : [];
    case "enum":
      return enumJsonNames(field.enum)[0] ?? "";
    case "scalar":
      if (optionsOf(field).nullable) return null;
      if (field.scalar === ScalarType.BOOL) return false;
      if (field.scalar === ScalarType.INT32) return 0;
      throw new Error(`${field} needs an example`);
    case "map":
      throw new Error(`${field}: maps have no form in JSON here`);
  }
}

function messageOf(field: DescField): DescMessage {
  if (field.fieldKind !== "message") throw new Error(`${field} is inline but no message`);
  return field.message;
}

function properties(
  fields: readonly DescField[],
  schema: (field: DescField) => JsonObject,
): JsonObject {
  return Object.fromEntries(fields.map((field) => [jsonName(field), schema(field)]));
}
