/**
 * Finds every fault of a JSON body whose first fault is known: each value at fault is skipped, and
 * the reading goes on behind it. REQUEST-17.
 */
import assert from "node:assert/strict";
import {
  backslash,
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
} from "./json-cursor.ts";
import { RequestFault } from "./request-fault.ts";

/** More than fit into one error. A body may have a hundred thousand. */
const maxFaults = 100;

/**
 * Returns the faults of a text that is valid JSON, in their order, and the first hundred only.
 * `read` is the reader of its root object.
 */
export function collectFaults(
  text: string,
  read: (cursor: Cursor) => unknown,
): readonly RequestFault[] {
  const faults: RequestFault[] = [];
  const cursor = cursorAt(text, faults);
  peek(cursor);
  try {
    read(cursor);
  } catch (error) {
    if (!(error instanceof RequestFault)) throw error;
    if (faults.length < maxFaults) faults.push(error);
  }
  return faults;
}

/**
 * Keeps the fault, and skips the value that follows `start` (its colon included). Throws the error
 * again unless the cursor collects faults and has fewer than a hundred.
 */
export function skipFault(cursor: Cursor, start: number, error: unknown): void {
  const { faults } = cursor;
  if (faults === null || !(error instanceof RequestFault)) throw error;
  if (faults.length >= maxFaults) throw error;
  faults.push(error);
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
