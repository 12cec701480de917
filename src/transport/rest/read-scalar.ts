/**
 * Reads single JSON values of a request: strings, 32-bit integers, booleans and the words of enums.
 * A value that does not fit is refused with its path.
 */
import assert from "node:assert/strict";
import { type DescEnumValue, type DescField, ScalarType } from "@bufbuild/protobuf";
import { allowedValues, enumJsonName } from "../rpc/validation/enum-words.ts";
import {
  type Cursor,
  quote,
  refuseValue,
  takeNumberText,
  takeString,
  takeWord,
} from "./json-cursor.ts";
import { optionsOf } from "./json-shape.ts";

/** Reads one value. The cursor is at its first character. */
export type ReadValue = (cursor: Cursor) => unknown;

const maxInt32 = 2_147_483_647;
const minInt32 = -2_147_483_648;

/**
 * The names and words of the text. `contract` has those of REST (`plan_code`, `per_unit`, decimals
 * also as numbers). `protobuf` has those of Connect's JSON mapping (`planCode` or `plan_code`,
 * `PLAN_TYPE_PER_UNIT` or its number).
 */
export type JsonForm = "contract" | "protobuf";

/** Compiles the reader of a scalar field. */
export function compileScalar(field: DescField, form: JsonForm): ReadValue {
  switch (field.scalar) {
    case ScalarType.STRING:
      return form === "contract" && optionsOf(field).numberOrString
        ? readStringOrNumber
        : readString;
    case ScalarType.INT32:
      return readInt32;
    case ScalarType.BOOL:
      return readBoolean;
    default:
      return assert.fail(`${field}: the contract has strings, 32-bit integers and booleans only`);
  }
}

function readString(cursor: Cursor): string {
  if (cursor.text.charCodeAt(cursor.at) !== quote) refuseValue(cursor, "must be a string");
  return takeString(cursor);
}

function readStringOrNumber(cursor: Cursor): string {
  if (cursor.text.charCodeAt(cursor.at) === quote) return takeString(cursor);
  return takeNumberText(cursor) ?? refuseValue(cursor, "must be a string or a number");
}

function readInt32(cursor: Cursor): number {
  const text = takeNumberText(cursor);
  if (text === null || !/^(?:0|-?[1-9][0-9]*)$/.test(text))
    return refuseValue(cursor, "must be a whole number, written plainly");
  const value = Number(text);
  if (value > maxInt32 || value < minInt32) refuseValue(cursor, "is out of range");
  return value;
}

function readBoolean(cursor: Cursor): boolean {
  if (takeWord(cursor, "true")) return true;
  if (takeWord(cursor, "false")) return false;
  return refuseValue(cursor, "must be true or false");
}

/** Compiles the reader of an enum field. */
export function compileEnum(
  field: DescField & { readonly enum: NonNullable<DescField["enum"]> },
  form: JsonForm,
): ReadValue {
  // The zero value means unset and has no word over REST.
  const values =
    form === "contract"
      ? field.enum.values.filter(({ number }) => number !== 0)
      : field.enum.values;
  const nameOf = (value: DescEnumValue) => (form === "contract" ? enumJsonName(value) : value.name);
  const numbers = new Map(values.map((value) => [nameOf(value), value.number]));
  const expectation = `must be one of ${allowedValues(field).map(nameOf).join(", ")}`;
  const readWord: ReadValue = (cursor) =>
    numbers.get(readString(cursor)) ?? refuseValue(cursor, expectation);
  if (form === "contract") return readWord;
  return (cursor) =>
    cursor.text.charCodeAt(cursor.at) === quote ? readWord(cursor) : readInt32(cursor);
}
