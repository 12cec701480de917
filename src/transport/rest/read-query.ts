/**
 * Reads a query into the request message of a read, as strictly as a body (REQUEST-9). Unknown,
 * repeated and empty parameters are refused, and a number has exactly one form. An empty one has no
 * name, so its refusal has no `param`.
 */
import assert from "node:assert/strict";
import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { nearestQuestion } from "../../domain/nearest-name.ts";
import { Refusal } from "../../domain/refusal.ts";
import { allowedValues, enumJsonName } from "../rpc/validation/enum-words.ts";
import { isCommaSeparated, jsonName } from "./json-shape.ts";

type ReadText = (text: string, name: string) => unknown;

interface Parameter {
  readonly localName: string;
  readonly read: ReadText;
}

const maxInt32 = 2_147_483_647;
/** The longest unknown parameter name that an error repeats. */
const maxPublishedNameLength = 100;

/**
 * Compiles the reader of a query (without its question mark) into `message`. Only the listed fields
 * can be parameters. The reader throws `invalid_parameter` with the parameter's name as `param`.
 */
export function compileQueryReader(
  message: DescMessage,
  fields: readonly DescField[],
): (query: string) => Message {
  const parameters = new Map(fields.map((field) => [jsonName(field), compileParameter(field)]));
  return (query) => {
    const value = create(message) as Message & Record<string, unknown>;
    if (query === "") return value;
    const seen = new Set<string>();
    for (const pair of query.split("&")) {
      if (pair === "") return fault("The query has an empty parameter: one & too many");
      const equals = pair.indexOf("=");
      const name = decode(equals === -1 ? pair : pair.slice(0, equals), null);
      if (name === "") return fault("The query has a value without a parameter's name");
      const parameter = parameters.get(name);
      if (parameter === undefined) {
        const question = nearestQuestion(name, [...parameters.keys()]);
        return refuse(shortened(name), `is not a parameter of this request${question}`);
      }
      if (seen.has(name)) return refuse(name, "is given twice");
      seen.add(name);
      const text = equals === -1 ? "" : decode(pair.slice(equals + 1), name);
      if (text === "") return refuse(name, "must not be empty");
      value[parameter.localName] = parameter.read(text, name);
    }
    return value;
  };
}

function fault(message: string, param: string | null = null): never {
  throw new Refusal("invalid_parameter", message, param);
}

function refuse(name: string, expectation: string): never {
  return fault(`${name} ${expectation}`, name);
}

function shortened(name: string): string {
  return name.length > maxPublishedNameLength
    ? `${name.slice(0, maxPublishedNameLength).toWellFormed()}…`
    : name;
}

function decode(text: string, name: string | null): string {
  const subject = name ?? "The query";
  let decoded: string;
  try {
    decoded = decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return fault(`${subject} is not percent-encoded UTF-8`, name);
  }
  return decoded.includes("\0") ? fault(`${subject} must not contain NUL`, name) : decoded;
}

function compileParameter(field: DescField): Parameter {
  const read = isCommaSeparated(field) ? separated(compileText(field)) : compileText(field);
  return { localName: field.localName, read };
}

function separated(read: ReadText): ReadText {
  return (text, name) => text.split(",").map((part) => read(part, name));
}

function compileText(field: DescField): ReadText {
  if (field.enum !== undefined) return enumReader(field, field.enum);
  switch (field.scalar) {
    case ScalarType.STRING:
      return (text) => text;
    case ScalarType.INT32:
      return readInt32;
    case ScalarType.BOOL:
      return readBoolean;
    default:
      return assert.fail(
        `${field}: a parameter is a string, a 32-bit integer, a boolean or an enum`,
      );
  }
}

function enumReader(field: DescField, descriptor: DescEnum): ReadText {
  const values = descriptor.values.filter(({ number }) => number !== 0);
  const numbers = new Map(values.map((value) => [enumJsonName(value), value.number]));
  const expectation = `must be one of ${allowedValues(field).map(enumJsonName).join(", ")}`;
  return (text, name) => numbers.get(text) ?? refuse(name, expectation);
}

function readInt32(text: string, name: string): number {
  if (!/^(?:0|-?[1-9][0-9]*)$/.test(text)) refuse(name, "must be a whole number, written plainly");
  const value = Number(text);
  return Math.abs(value) <= maxInt32 ? value : refuse(name, "is out of range");
}

function readBoolean(text: string, name: string): boolean {
  if (text === "true") return true;
  return text === "false" ? false : refuse(name, "must be true or false");
}
