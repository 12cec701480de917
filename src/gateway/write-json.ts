/**
 * Writes a response message as JSON text: compiled once for each message from its descriptor. Members stand in the order
 * of the proto file, so that the same message is always the same bytes (a replay is byte for byte).
 */
import assert from "node:assert/strict";
import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { enumJsonName, isInline, isNullable, isOmitEmpty, jsonName } from "./json-shape.ts";

/** A message, or what may initialise one: an unset field with implicit presence is its zero value. */
type Fields = Readonly<Record<string, unknown>>;
type WriteValue = (value: unknown) => string;
/** The members of a message, each with a leading comma. */
type WriteMembers = (message: Fields) => string;

/**
 * Compiles the writer of a message. `null` stands for an unset nullable field, `omit_empty` leaves the member out, an inline
 * message's members stand in its place, enums are their words. Decimals are written as they come: with their four places.
 * Throws an assertion where the message does not keep the contract (a required part or a status that is unset).
 */
export function compileWriter(message: DescMessage): (value: object) => string {
  return compileObject(message) as (value: object) => string;
}

function compileObject(message: DescMessage): WriteValue {
  const writeMembers = compileMembers(message);
  return (value) => {
    const members = writeMembers(value as Fields);
    return members === "" ? "{}" : `{${members.slice(1)}}`;
  };
}

function compileMembers(message: DescMessage): WriteMembers {
  const writers = message.fields.map(compileMember);
  return (value) => {
    let text = "";
    for (let index = 0; index < writers.length; index++) text += (writers[index] as WriteMembers)(value);
    return text;
  };
}

function compileMember(field: DescField): WriteMembers {
  const { localName } = field;
  if (isInline(field)) return compileInline(field);
  const key = `,${JSON.stringify(jsonName(field))}:`;
  const write = compileValue(field);
  const unset = compileUnset(field, key);
  return (message) => {
    const value = message[localName];
    return value === undefined || value === null ? unset() : key + write(value);
  };
}

function compileInline(field: DescField): WriteMembers {
  assert(field.fieldKind === "message", `${field}: only a message can be inline`);
  const { localName } = field;
  const writeMembers = compileMembers(field.message);
  return (message) => {
    const value = message[localName];
    assert(value !== undefined, `${field} is unset`);
    return writeMembers(value as Fields);
  };
}

/** What stands for a field that is unset. */
function compileUnset(field: DescField, key: string): () => string {
  const nothing = isNullable(field)
    ? `${key}null`
    : isOmitEmpty(field) || field.proto.proto3Optional
      ? ""
      : zero(field, key);
  return () => nothing ?? assert.fail(`${field} is unset`);
}

function zero(field: DescField, key: string): string | null {
  if (field.fieldKind === "list") return `${key}[]`;
  if (field.fieldKind !== "scalar") return null;
  switch (field.scalar) {
    case ScalarType.STRING:
      return `${key}""`;
    case ScalarType.BOOL:
      return `${key}false`;
    default:
      return `${key}0`;
  }
}

function compileValue(field: DescField): WriteValue {
  switch (field.fieldKind) {
    case "scalar":
      return compileScalar(field, field.scalar);
    case "enum":
      return compileEnum(field.enum);
    case "message":
      return compileObject(field.message);
    case "list":
      return compileList(field);
    case "map":
      return assert.fail(`${field}: maps are not part of the contract`);
  }
}

function compileList(field: DescField & { readonly fieldKind: "list" }): WriteValue {
  const write = compileElement(field);
  return (value) => {
    const elements = value as readonly unknown[];
    if (elements.length === 0) return "[]";
    let text = `[${write(elements[0])}`;
    for (let index = 1; index < elements.length; index++) text += `,${write(elements[index])}`;
    return `${text}]`;
  };
}

function compileElement(field: DescField & { readonly fieldKind: "list" }): WriteValue {
  switch (field.listKind) {
    case "message":
      return compileObject(field.message);
    case "enum":
      return compileEnum(field.enum);
    case "scalar":
      return compileScalar(field, field.scalar);
  }
}

function compileScalar(field: DescField, scalar: ScalarType): WriteValue {
  switch (scalar) {
    case ScalarType.STRING:
      return writeString as WriteValue;
    case ScalarType.INT32:
    case ScalarType.BOOL:
      return String;
    default:
      return assert.fail(`${field}: the contract has strings, 32-bit integers and booleans only`);
  }
}

function compileEnum(descriptor: DescEnum): WriteValue {
  const words = new Map(descriptor.values.map((value) => [value.number, `"${enumJsonName(value)}"`]));
  words.delete(0);
  return (value) => words.get(value as number) ?? assert.fail(`${descriptor} has no word for ${value}`);
}

/** Beyond this many characters the engine's own escaping is faster than looking at each one. Measured. */
const longestScanned = 48;

function writeString(text: string): string {
  if (text.length > longestScanned) return JSON.stringify(text);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff))
      return JSON.stringify(text);
  }
  return `"${text}"`;
}
