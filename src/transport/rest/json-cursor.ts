/**
 * Reads the tokens of a JSON text, strictly by RFC 8259, and tracks the path of the current member.
 * `read-json.ts` interprets the tokens. A number is returned as the text that was sent.
 */
import assert from "node:assert/strict";
import { Refusal } from "../../domain/refusal.ts";
import type { FieldFault } from "../rpc/invalid-request.ts";

/** A position in a JSON text. One reading has one cursor, which is never shared. */
export interface Cursor {
  readonly text: string;
  at: number;
  /** Names and indexes from the root to the current value. Only the first `depth` are valid. */
  readonly path: (string | number)[];
  depth: number;
  /** Collects the faults of values, which are skipped then. Null to stop at the first fault. */
  readonly faults: FieldFault[] | null;
}

/** Returns a cursor at the start of the text. */
export function cursorAt(text: string, faults: FieldFault[] | null = null): Cursor {
  return { text, at: 0, path: [], depth: 0, faults };
}

/**
 * Returns the path of the current value as `error.param` shows it (`events.3.quantity`), or null at
 * the root.
 */
function pathOf(cursor: Cursor): string | null {
  return cursor.depth === 0 ? null : cursor.path.slice(0, cursor.depth).join(".");
}

/**
 * Refuses the current value: `invalid_parameter`, with its path as `param`. A member of the body
 * that is named by an empty string has no path.
 */
export function refuseValue(cursor: Cursor, expectation: string): never {
  const path = pathOf(cursor);
  if (path === "")
    throw new Refusal("invalid_parameter", `A member with an empty name ${expectation}`);
  throw new Refusal("invalid_parameter", `${path ?? "The body"} ${expectation}`, path);
}

/** Refuses the text as invalid JSON: `invalid_parameter` without `param` (REQUEST-6). */
export function refuseText(): never {
  throw new Refusal("invalid_parameter", "The body is not valid JSON");
}

/** Character codes of the tokens. */
export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const backslash = 0x5c;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

/**
 * Skips white space and returns the next character (NaN at the end of the text) without consuming
 * it.
 */
export function peek(cursor: Cursor): number {
  const { text } = cursor;
  let at = cursor.at;
  let code = text.charCodeAt(at);
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09)
    code = text.charCodeAt(++at);
  cursor.at = at;
  return code;
}

/**
 * Consumes the expected next character after white space. Refuses the text if it is another one.
 */
export function take(cursor: Cursor, expected: number): void {
  if (peek(cursor) !== expected) refuseText();
  cursor.at++;
}

/**
 * Consumes a word (`true`, `false`, `null`) if it comes next. Returns false, and consumes nothing,
 * if it does not.
 */
export function takeWord(cursor: Cursor, word: string): boolean {
  if (!cursor.text.startsWith(word, cursor.at)) return false;
  cursor.at += word.length;
  return true;
}

/**
 * Consumes a string. The cursor is at its opening quote. NUL and lone surrogates are refused
 * (REQUEST-10). The bytes were valid UTF-8, so both can only come from an escape.
 */
export function takeString(cursor: Cursor): string {
  const { text } = cursor;
  const start = cursor.at + 1;
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      cursor.at = at + 1;
      return text.slice(start, at);
    }
    if (code === backslash) return takeEscapedString(cursor, at);
    // NaN, the end of the text, is refused here too.
    if (!(code >= 0x20)) refuseText();
  }
}

function takeEscapedString(cursor: Cursor, firstEscape: number): string {
  const { text } = cursor;
  let end = firstEscape;
  for (let code = backslash; code !== quote; code = text.charCodeAt(end)) {
    if (end >= text.length) refuseText();
    end += code === backslash ? 2 : 1;
  }
  const value = parsed(text.slice(cursor.at, end + 1));
  cursor.at = end + 1;
  if (value.includes("\0") || !value.isWellFormed())
    refuseValue(cursor, "must not contain NUL or a lone surrogate");
  return value;
}

function parsed(literal: string): string {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return refuseText();
  }
}

const numberToken = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/** Consumes a number and returns the text that was sent, or null if there is none. */
export function takeNumberText(cursor: Cursor): string | null {
  numberToken.lastIndex = cursor.at;
  const match = numberToken.exec(cursor.text);
  if (match === null) return null;
  cursor.at = numberToken.lastIndex;
  return match[0];
}

/** More than fit into one error. A body may have a hundred thousand. */
const maxFaults = 100;

/**
 * Collects the fault, and skips the value that follows `start` (its colon included). Throws the
 * error again unless the cursor collects faults and has fewer than a hundred. REQUEST-17.
 */
export function skipFault(cursor: Cursor, start: number, error: unknown): void {
  const { faults } = cursor;
  if (faults === null || !(error instanceof Refusal) || faults.length >= maxFaults) throw error;
  // A member with an empty name has no path.
  if (error.param !== null) faults.push({ field: error.param, description: error.message });
  cursor.at = start;
  if (peek(cursor) === colon) cursor.at++;
  skipValue(cursor);
}

/** Skips one value of a text that is valid JSON. */
function skipValue(cursor: Cursor): void {
  let open = 0;
  do {
    const code = peek(cursor);
    assert(!Number.isNaN(code), "a text that is no JSON was read for its faults");
    if (code === quote) skipString(cursor);
    else if (isPunctuation(code)) cursor.at++;
    else skipWord(cursor);
    if (code === openBrace || code === openBracket) open++;
    if (code === closeBrace || code === closeBracket) open--;
  } while (open > 0);
}

function skipString(cursor: Cursor): void {
  const { text } = cursor;
  let at = cursor.at + 1;
  while (at < text.length && text.charCodeAt(at) !== quote)
    at += text.charCodeAt(at) === backslash ? 2 : 1;
  cursor.at = at + 1;
}

/** Skips a number, `true`, `false` or `null`. */
function skipWord(cursor: Cursor): void {
  while (/[\w.+-]/.test(cursor.text.charAt(cursor.at))) cursor.at++;
}

function isPunctuation(code: number): boolean {
  return [openBrace, closeBrace, openBracket, closeBracket, comma, colon].includes(code);
}
