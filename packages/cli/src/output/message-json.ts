/**
 * Converts messages to the JSON of the public API: names in snake_case, enums as words, inline
 * members in place.
 */
import {
  type DescEnum,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { jsonName, optionsOf } from "../../../../src/transport/rest/json-shape.ts";
import { enumJsonName } from "../../../../src/transport/rpc/validation/enum-words.ts";

/** A JSON object, as requests and responses are. */
export type Json = JsonObject;

/** Whether a JSON value is an object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The message as JSON. Optional members that are unset are left out. All others are present. */
export function messageJson<M extends DescMessage>(schema: M, message: MessageShape<M>): Json {
  const json = toJson(schema, message, { useProtoFieldName: true, alwaysEmitImplicit: true });
  return shaped(schema, json as JsonObject);
}

function shaped(schema: DescMessage, json: JsonObject): JsonObject {
  const members = schema.fields.flatMap((field): [string, JsonValue][] => {
    const name = jsonName(field);
    const value = json[name];
    if (value === undefined) return [];
    if (optionsOf(field).inline && field.message !== undefined && isObject(value))
      return Object.entries(shaped(field.message, value));
    const one = (element: JsonValue): JsonValue => {
      if (field.enum !== undefined) return wordOf(field.enum, element);
      // A Struct is JSON already.
      const isOwn =
        field.message !== undefined && !field.message.typeName.startsWith("google.protobuf.");
      return isOwn && field.message !== undefined && isObject(element)
        ? shaped(field.message, element)
        : element;
    };
    return [[name, Array.isArray(value) ? value.map(one) : one(value)]];
  });
  return Object.fromEntries(members);
}

/** A value that this version does not know is a number and stays one. */
function wordOf({ values }: DescEnum, name: JsonValue): JsonValue {
  const value = values.find((one) => one.name === name);
  return value === undefined ? name : enumJsonName(value);
}
