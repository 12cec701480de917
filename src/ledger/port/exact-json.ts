/**
 * JSON whose numbers keep their digits: read as text, written from text. A double would turn 0.1 + 0.2 or 20 digits
 * into something else, and ledgers refuse exponents (facts-ledger section 1.1).
 */
import { strict as assert } from "node:assert";

/** A parsed value: every number stands as the text that it was sent as. */
export type ExactJson =
  | string
  | boolean
  | null
  | readonly ExactJson[]
  | { readonly [member: string]: ExactJson | undefined };

/**
 * A parsed object. Members of another system's answer may be missing or of any kind: read them with the functions
 * below.
 */
export type ExactObject = { readonly [member: string]: ExactJson | undefined };

/** A number token for `writeExactJson`, made by `numberToken`. */
export type NumberToken = { readonly rawJSON: string };

// Node has both since 21 (V8 11.4); TypeScript's library does not declare them yet.
const platformJson = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): ExactJson;
  rawJSON(text: string): NumberToken;
};

// A plain decimal: JSON would also take an exponent, ledgers do not.
const plainNumberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** The value of a JSON text, or undefined where the text is not JSON (an HTML error page, a plain 404). */
export function readExactJson(text: string): ExactJson | undefined {
  try {
    return platformJson.parse(text, (_key, value, context) => (typeof value === "number" ? context.source : value));
  } catch {
    return undefined;
  }
}

/** True where `numberToken` takes the text: a decimal without exponent or leading zeros. */
export function isPlainNumber(text: string): boolean {
  return plainNumberPattern.test(text);
}

/** A decimal text as a number token: the same digits without trailing zeros, never an exponent. Fails on other text. */
export function numberToken(text: string): NumberToken {
  assert(isPlainNumber(text), "not a plain decimal");
  return platformJson.rawJSON(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

/** JSON text of a value that may hold number tokens. */
export function writeExactJson(value: unknown): string {
  return JSON.stringify(value);
}

/** The value as an object, or undefined where it is none. */
export function objectOf(value: ExactJson | undefined): ExactObject | undefined {
  return typeof value === "object" && value !== null && !isList(value) ? value : undefined;
}

/** The value as a list of its objects; empty where it is no list. Elements that are no objects are left out. */
export function objectsOf(value: ExactJson | undefined): readonly ExactObject[] {
  if (!isList(value)) return [];
  return value.map(objectOf).filter((element) => element !== undefined);
}

/** The value as text, or undefined where it is missing, null or no text. Numbers are text here. */
export function textOf(value: ExactJson | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value as text that says something: undefined where it is missing, null, empty or no text. */
export function filledTextOf(value: ExactJson | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isList(value: ExactJson | undefined): value is readonly ExactJson[] {
  return Array.isArray(value);
}
