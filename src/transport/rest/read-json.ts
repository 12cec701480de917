/**
 * Reads the body of a request into its message, with a reader compiled once for each message from
 * its descriptor. Nothing is converted, ignored or guessed: a value that does not fit is refused
 * with its path. Missing members stay unset, and the validation decides whether they may be
 * missing.
 */
import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { nearestQuestion } from "../../domain/nearest-name.ts";
import { Refusal } from "../../domain/refusal.ts";
import { type FieldFault, InvalidRequest } from "../rpc/invalid-request.ts";
import {
  type Cursor,
  closeBrace,
  closeBracket,
  colon,
  comma,
  cursorAt,
  openBrace,
  openBracket,
  peek,
  quote,
  refuseText,
  refuseValue,
  skipFault,
  take,
  takeString,
  takeWord,
} from "./json-cursor.ts";
import { jsonName, optionsOf } from "./json-shape.ts";
import { compileEnum, compileScalar, type JsonForm, type ReadValue } from "./read-scalar.ts";

interface Member {
  readonly localName: string;
  readonly nullable: boolean;
  readonly read: ReadValue;
}

/**
 * The deepest body that is read (LIMIT-1). It is checked at compile time, because the descriptors
 * bound the depth.
 */
const maxDepth = 32;
/** The longest unknown member name that an error repeats: long enough to be recognised. */
const maxPublishedNameLength = 100;

/**
 * Compiles the reader of a message: UTF-8 bytes in, the message out. Members in `without` (those of
 * the path) are unknown in the body. Throws `invalid_parameter` for anything except a JSON object
 * of exactly this shape. `param` is the path of the first fault, null if the body is no JSON
 * object. REQUEST-6, REQUEST-7, REQUEST-8.
 */
export function compileReader(
  message: DescMessage,
  without: readonly string[] = [],
  form: JsonForm = "contract",
): (body: Uint8Array) => Message {
  const readMembers = compileMembers(message, without, 1, form);
  return (body) => {
    const text = decode(body);
    const cursor = cursorAt(text);
    if (peek(cursor) !== openBrace) {
      assertJson(text);
      throw new Refusal("invalid_parameter", "The body must be a JSON object");
    }
    try {
      const value = readMembers(cursor);
      // After the object only white space is valid JSON.
      if (!Number.isNaN(peek(cursor))) refuseText();
      return value;
    } catch (error) {
      if (!(error instanceof Refusal) || error.param === null) throw error;
      assertJson(text);
      throw new InvalidRequest(error.message, error.param, () => collectFaults(text, readMembers));
    }
  };
}

function decode(body: Uint8Array): string {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf)
    throw new Refusal("invalid_parameter", "The body must not begin with a byte order mark");
  if (!isUtf8(body)) throw new Refusal("invalid_parameter", "The body is not valid UTF-8");
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
}

/**
 * Refuses a text that is invalid JSON as such, even if a fault of a member was found first. Only
 * refusals pay for this second pass.
 */
function assertJson(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    refuseText();
  }
}

/**
 * Returns the faults of a text that is valid JSON, in their order, and the first hundred only.
 * Each value at fault is skipped, and the reading goes on behind it. REQUEST-17.
 */
function collectFaults(text: string, read: (cursor: Cursor) => unknown): readonly FieldFault[] {
  const faults: FieldFault[] = [];
  const cursor = cursorAt(text, faults);
  peek(cursor);
  try {
    read(cursor);
  } catch (error) {
    // A fault that cannot be skipped ends the reading.
    if (!(error instanceof Refusal)) throw error;
  }
  return faults;
}

function compileMembers(
  message: DescMessage,
  without: readonly string[],
  depth: number,
  form: JsonForm,
): (cursor: Cursor) => Message & Record<string, unknown> {
  assert(depth <= maxDepth, `${message.typeName} is nested too deeply`);
  const fields = message.fields.filter((field) => !without.includes(field.name));
  const members = new Map<string, Member>();
  for (const field of fields) {
    const member = compileMember(field, depth, form);
    for (const name of namesOf(field, form)) members.set(name, member);
  }

  return (cursor) => {
    const value = create(message) as Message & Record<string, unknown>;
    const level = cursor.depth;
    cursor.at++;
    if (peek(cursor) === closeBrace) {
      cursor.at++;
      return value;
    }
    const seen = new Set<Member>();
    for (;;) {
      if (peek(cursor) !== quote) refuseText();
      const name = takeString(cursor);
      const member = members.get(name);
      cursor.path[level] = name;
      cursor.depth = level + 1;
      const start = cursor.at;
      try {
        if (member === undefined) return refuseName(cursor, name, [...members.keys()]);
        if (seen.has(member)) refuseValue(cursor, "is given twice");
        seen.add(member);
        take(cursor, colon);
        peek(cursor);
        const read = member.nullable && takeWord(cursor, "null") ? undefined : member.read(cursor);
        if (read !== undefined) value[member.localName] = read;
      } catch (error) {
        skipFault(cursor, start, error);
      }
      cursor.depth = level;
      if (peek(cursor) === closeBrace) break;
      take(cursor, comma);
      peek(cursor);
    }
    cursor.at++;
    return value;
  };
}

/** Returns both names of a member. They are one member, so sending both is a duplicate. */
function namesOf(field: DescField, form: JsonForm): readonly string[] {
  return form === "contract" ? [jsonName(field)] : [field.name, field.jsonName];
}

function refuseName(cursor: Cursor, name: string, names: readonly string[]): never {
  if (name.length > maxPublishedNameLength) {
    cursor.path[cursor.depth - 1] = `${name.slice(0, maxPublishedNameLength).toWellFormed()}…`;
  }
  return refuseValue(cursor, `is not a member of this request${nearestQuestion(name, names)}`);
}

function compileMember(field: DescField, depth: number, form: JsonForm): Member {
  assert(!optionsOf(field).inline, `${field}: an inline field has no meaning in a request`);
  return {
    localName: field.localName,
    nullable: optionsOf(field).nullable,
    read: compileValue(field, depth, form),
  };
}

function compileValue(field: DescField, depth: number, form: JsonForm): ReadValue {
  assert(field.fieldKind !== "map", `${field}: maps are not part of the contract`);
  return field.fieldKind === "list"
    ? listOf(compileElement(field, depth + 1, form))
    : compileElement(field, depth, form);
}

/** Compiles the reader of the field's value, or of an element if it is a list. */
function compileElement(field: DescField, depth: number, form: JsonForm): ReadValue {
  if (field.message !== undefined) return compileObject(field.message, depth, form);
  return field.enum === undefined ? compileScalar(field, form) : compileEnum(field, form);
}

function compileObject(message: DescMessage, depth: number, form: JsonForm): ReadValue {
  const readMembers = compileMembers(message, [], depth + 1, form);
  return (cursor) => {
    if (cursor.text.charCodeAt(cursor.at) !== openBrace) refuseValue(cursor, "must be an object");
    return readMembers(cursor);
  };
}

function listOf(readElement: ReadValue): ReadValue {
  return (cursor) => {
    if (cursor.text.charCodeAt(cursor.at) !== openBracket) refuseValue(cursor, "must be an array");
    const elements: unknown[] = [];
    const level = cursor.depth;
    cursor.at++;
    if (peek(cursor) !== closeBracket) {
      for (;;) {
        cursor.path[level] = elements.length;
        cursor.depth = level + 1;
        const start = cursor.at;
        try {
          elements.push(readElement(cursor));
        } catch (error) {
          skipFault(cursor, start, error);
          // Takes the place of the fault, because the length is the next index.
          elements.push(undefined);
        }
        cursor.depth = level;
        if (peek(cursor) === closeBracket) break;
        take(cursor, comma);
        peek(cursor);
      }
    }
    cursor.at++;
    return elements;
  };
}
