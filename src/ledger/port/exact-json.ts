/**
 * JSON with exact numbers: numbers are read as text and written from text (LEDGER-9). A double
 * would change 0.1 + 0.2 or a number of 20 digits. Ledgers refuse exponents.
 */
import { strict as assert } from "node:assert";

/** A parsed value. Every number is the text that was sent. */
export type ExactJson =
  | string
  | boolean
  | null
  | readonly ExactJson[]
  | { readonly [member: string]: ExactJson | undefined };

/**
 * A parsed object. Members of another system's answer may be missing or of any type, so read them
 * with the functions below.
 */
export type ExactObject = { readonly [member: string]: ExactJson | undefined };

/** A number for `writeExactJson`, created by `numberToken`. */
export type NumberToken = { readonly rawJSON: string };

// Node has both members since version 21 (V8 11.4). TypeScript's library does not declare them yet.
const platformJson = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): ExactJson;
  rawJSON(text: string): NumberToken;
};

// A plain decimal. JSON would also accept an exponent, but ledgers refuse it.
const plainNumberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/**
 * Returns the value of a JSON text, or undefined if the text is not JSON (an HTML error page, a
 * plain 404).
 */
export function readExactJson(text: string): ExactJson | undefined {
  try {
    return platformJson.parse(text, (_key, value, context) =>
      typeof value === "number" ? context.source : value,
    );
  } catch {
    return undefined;
  }
}

/** Returns true if `numberToken` accepts the text: a decimal without exponent or leading zeros. */
export function isPlainNumber(text: string): boolean {
  return plainNumberPattern.test(text);
}

/**
 * Returns a decimal text as a number token: the same digits without trailing zeros, never an
 * exponent. Throws for other text.
 */
export function numberToken(text: string): NumberToken {
  assert(isPlainNumber(text), "not a plain decimal");
  return platformJson.rawJSON(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

/** Returns the JSON text of a value that may contain number tokens. */
export function writeExactJson(value: unknown): string {
  return JSON.stringify(value);
}

/** Returns the value if it is an object, else undefined. */
export function objectOf(value: ExactJson | undefined): ExactObject | undefined {
  return typeof value === "object" && value !== null && !isList(value) ? value : undefined;
}

/**
 * Returns the objects of a list, or an empty list if the value is no list. Other elements are
 * skipped.
 */
export function objectsOf(value: ExactJson | undefined): readonly ExactObject[] {
  if (!isList(value)) return [];
  return value.map(objectOf).filter((element) => element !== undefined);
}

/** Returns the value if it is text, else undefined. Numbers are text here. */
export function textOf(value: ExactJson | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the value if it is text that is not empty, else undefined. */
export function filledTextOf(value: ExactJson | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isList(value: ExactJson | undefined): value is readonly ExactJson[] {
  return Array.isArray(value);
}
