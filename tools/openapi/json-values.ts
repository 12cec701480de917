/** Values in JSON as the document shows them: constants, examples, words and decimals. */
import type { DescEnum, DescField, JsonValue } from "@bufbuild/protobuf";
import { optionsOf } from "../../src/transport/rest/json-shape.ts";
import { enumJsonName } from "../../src/transport/rpc/validation/enum-words.ts";

/**
 * Returns the constant value of the member in responses (`customer` for `object`), or `null` if it
 * varies.
 */
export function constant(field: DescField): string | null {
  const { constant: value } = optionsOf(field);
  return value === "" ? null : value;
}

/**
 * Returns the field's example, or `undefined` if it has none. `null` is an example too. Throws for
 * an example that is invalid JSON.
 */
export function example(field: DescField): JsonValue | undefined {
  const { example: text } = optionsOf(field);
  return text === "" ? undefined : (JSON.parse(text) as JsonValue);
}

/**
 * Returns the words of an enum in JSON, in the order of the proto file. The zero value means unset
 * and has no word.
 */
export function enumJsonNames(descriptor: DescEnum): string[] {
  return descriptor.values.filter(({ number }) => number !== 0).map(enumJsonName);
}

/**
 * The form of a decimal in responses: four places, and a minus sign if it is below zero (OBJECT-2).
 */
export const responseDecimalPattern = "^-?(0|[1-9][0-9]*)\\.[0-9]{4}$";
