/**
 * Writes a response message as JSON text, with a writer compiled once for each message from its
 * descriptor. Members have the order of the proto file, so that the same message is always the same
 * bytes. A replay is byte for byte (IDEMPOTENCY-2).
 */
import assert from "node:assert/strict";
import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { enumJsonName } from "../rpc/validation/enum-words.ts";
import { jsonName, optionsOf, verbatimField } from "./json-shape.ts";

/** A message, or its initialiser. An unset field with implicit presence is its zero value. */
type Fields = Readonly<Record<string, unknown>>;
type WriteValue = (value: unknown) => string;

/**
 * Compiles the writer of a message. An unset nullable field is `null`, and an unset `omit_empty`
 * field is left out. The members of an inline message replace it, enums are their words, and
 * decimals are written with their four places. The writer throws an assertion if the message breaks
 * the contract (a required part or a status is unset).
 */
export function compileWriter(message: DescMessage): (value: object) => string {
  const writeMembers = compileMembers(message);
  return (value) => `{${writeMembers(value)}}`;
}

/** Writes the members of a message, without its braces. */
function compileMembers(message: DescMessage): WriteValue {
  const verbatim = verbatimField(message);
  if (verbatim !== null) return compileVerbatim(verbatim);
  const members = message.fields.map(compileMember);
  return (value) => {
    let text = "";
    for (const write of members) {
      const member = write(value as Fields);
      if (member !== "") text += text === "" ? member : `,${member}`;
    }
    return text;
  };
}

/**
 * Writes the members of the object that the message has as text, so that its bytes stay as they
 * were sent.
 */
function compileVerbatim({ localName }: DescField): WriteValue {
  return (value) => {
    const text = String((value as Fields)[localName] ?? "");
    assert(text.startsWith("{") && text.endsWith("}"), `${localName} is no object`);
    return text.slice(1, -1);
  };
}

function compileMember(field: DescField): (message: Fields) => string {
  const { inline } = optionsOf(field);
  const key = inline ? "" : `${JSON.stringify(jsonName(field))}:`;
  const unset = unsetMember(field, key);
  const write = inline ? compileInline(field) : compileValue(field);
  return (message) => {
    const value = message[field.localName];
    if (value === undefined || value === null) return unset ?? assert.fail(`${field} is unset`);
    return key + write(value);
  };
}

function compileInline(field: DescField): WriteValue {
  assert(field.fieldKind === "message", `${field}: only a message can be inline`);
  return compileMembers(field.message);
}

/** Returns the whole member for an unset field. Null if the field must be set. */
function unsetMember(field: DescField, key: string): string | null {
  const { inline, nullable, omitEmpty } = optionsOf(field);
  if (inline) return null;
  if (nullable) return `${key}null`;
  if (omitEmpty || field.proto.proto3Optional) return "";
  if (field.fieldKind === "list") return `${key}[]`;
  if (field.fieldKind !== "scalar") return null;
  if (field.scalar === ScalarType.STRING) return `${key}""`;
  return field.scalar === ScalarType.BOOL ? `${key}false` : `${key}0`;
}

function compileValue(field: DescField): WriteValue {
  assert(field.fieldKind !== "map", `${field}: maps are not part of the contract`);
  const write = compileElement(field);
  if (field.fieldKind !== "list") return write;
  return (value) => `[${(value as readonly unknown[]).map(write).join()}]`;
}

/** Compiles the writer of the field's value, or of an element if it is a list. */
function compileElement(field: DescField): WriteValue {
  if (field.message !== undefined) return compileWriter(field.message) as WriteValue;
  if (field.enum !== undefined) return compileEnum(field.enum);
  switch (field.scalar) {
    case ScalarType.STRING:
      return (value) => JSON.stringify(value);
    case ScalarType.INT32:
    case ScalarType.BOOL:
      return String;
    default:
      return assert.fail(`${field}: the contract has strings, 32-bit integers and booleans only`);
  }
}

function compileEnum(descriptor: DescEnum): WriteValue {
  // The zero value means unset and has no word.
  const values = descriptor.values.filter(({ number }) => number !== 0);
  const words = new Map(values.map((value) => [value.number, `"${enumJsonName(value)}"`]));
  return (value) =>
    words.get(value as number) ?? assert.fail(`${descriptor} has no word for ${value}`);
}
