/**
 * Writes a response message as JSON text, with a writer compiled once for each message from its
 * descriptor. Members have the order of the proto file, so that the same message is always the same
 * bytes. A replay is byte for byte (IDEMPOTENCY-2).
 */
import assert from "node:assert/strict";
import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import {
  enumJsonName,
  isInline,
  isNullable,
  isOmitEmpty,
  jsonName,
  verbatimField,
} from "./json-shape.ts";

/** A message, or its initialiser. An unset field with implicit presence is its zero value. */
type Fields = Readonly<Record<string, unknown>>;
type WriteValue = (value: unknown) => string;

/**
 * How one field is written. One loop over members is twice as fast as a closure for each field and
 * as fast as generated code. 25 invoices take 45 µs, as long as JSON.stringify takes.
 */
interface Member {
  readonly kind: "text" | "plain" | "composed" | "inline";
  readonly localName: string;
  /** `,"name":`, without the comma for the first member of an object. */
  readonly key: string;
  /** The same with the opening quote, for a text that needs no escape. */
  readonly openedKey: string;
  /** The whole member for an unset field. Null if the field must be set. */
  readonly unset: string | null;
  readonly write: WriteValue;
}

/**
 * Compiles the writer of a message. An unset nullable field is `null`, and an unset `omit_empty`
 * field is left out. The members of an inline message replace it, enums are their words, and
 * decimals are written with their four places. The writer throws an assertion if the message breaks
 * the contract (a required part or a status is unset).
 */
export function compileWriter(message: DescMessage): (value: object) => string {
  return compileObject(message);
}

function compileObject(message: DescMessage): WriteValue {
  if (alwaysBegins(message)) {
    const writeMembers = compileMembers(message, "");
    return (value) => `{${writeMembers(value)}}`;
  }
  const writeMembers = compileMembers(message, ",");
  return (value) => `{${writeMembers(value).slice(1)}}`;
}

/**
 * Whether the first member is always present. Then no comma must be removed, which would copy the
 * whole text.
 */
function alwaysBegins(message: DescMessage): boolean {
  const [first] = message.fields;
  if (first === undefined) return false;
  if (verbatimField(message) !== null) return true;
  return isInline(first) && first.message !== undefined
    ? alwaysBegins(first.message)
    : unsetMember(first, "") !== "";
}

/** Compiled once: most operations answer with the same few objects. */
const knownMembers = {
  "": new WeakMap<DescMessage, WriteValue>(),
  ",": new WeakMap<DescMessage, WriteValue>(),
};

/** Writes the members of a message, each after a comma. The first one has `separator` instead. */
function compileMembers(message: DescMessage, separator: "" | ","): WriteValue {
  const known = knownMembers[separator];
  const write = known.get(message) ?? compileEach(message, separator);
  known.set(message, write);
  return write;
}

function compileEach(message: DescMessage, separator: "" | ","): WriteValue {
  const verbatim = verbatimField(message);
  if (verbatim !== null) return compileVerbatim(verbatim, separator);
  const members = message.fields.map((field, index) =>
    compileMember(field, index === 0 ? separator : ","),
  );
  return (value) => {
    let text = "";
    for (const member of members) {
      const field = (value as Fields)[member.localName];
      if (field === undefined || field === null)
        text += member.unset ?? assert.fail(`${member.key} is unset`);
      else text += writeMember(member, field);
    }
    return text;
  };
}

/**
 * Writes the members of the object that the message has as text, so that its bytes stay as they
 * were sent.
 */
function compileVerbatim({ localName }: DescField, separator: "" | ","): WriteValue {
  return (value) => {
    const text = String((value as Fields)[localName] ?? "");
    assert(text.startsWith("{") && text.endsWith("}"), `${localName} is no object`);
    return separator + text.slice(1, -1);
  };
}

function writeMember(member: Member, value: unknown): string {
  switch (member.kind) {
    case "text":
      return isPlain(value as string)
        ? `${member.openedKey + value}"`
        : member.key + JSON.stringify(value);
    case "plain":
      return member.key + value;
    case "composed":
      return member.key + member.write(value);
    case "inline":
      return member.write(value);
  }
}

function compileMember(field: DescField, separator: "" | ","): Member {
  const key = `${separator}${JSON.stringify(jsonName(field))}:`;
  const member = { localName: field.localName, key, openedKey: `${key}"` };
  if (isInline(field)) {
    assert(field.fieldKind === "message", `${field}: only a message can be inline`);
    return {
      ...member,
      kind: "inline",
      unset: null,
      write: compileMembers(field.message, separator),
    };
  }
  const unset = unsetMember(field, key);
  if (field.fieldKind !== "scalar")
    return { ...member, kind: "composed", unset, write: compileValue(field) };
  return {
    ...member,
    kind: field.scalar === ScalarType.STRING ? "text" : "plain",
    unset,
    write: compileValue(field),
  };
}

function unsetMember(field: DescField, key: string): string | null {
  if (isNullable(field)) return `${key}null`;
  if (isOmitEmpty(field) || field.proto.proto3Optional) return "";
  if (field.fieldKind === "list") return `${key}[]`;
  if (field.fieldKind !== "scalar") return null;
  if (field.scalar === ScalarType.STRING) return `${key}""`;
  return field.scalar === ScalarType.BOOL ? `${key}false` : `${key}0`;
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
      return JSON.stringify;
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

/**
 * Beyond this many characters the engine's own escaping is faster than a check of each one.
 * Measured.
 */
const maxScannedLength = 48;

/** Whether the text is short and needs no escape between quotes. */
function isPlain(text: string): boolean {
  if (text.length > maxScannedLength) return false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff))
      return false;
  }
  return true;
}
