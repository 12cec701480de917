/**
 * Describes in words what a text with a pattern must be, because the expression is for machines
 * (REQUEST-11).
 */
import { type DescField, getOption } from "@bufbuild/protobuf";
import { field as rulesExtension } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { field as fieldOption } from "../../../gen/proto/billing/options/v1/options_pb.ts";

/**
 * 1, 9, 10, 99 … 999999999, 1000000000: the possible upper bounds of a decimal in the contract. A
 * pattern that accepts all of them has no bound.
 */
const ends = Array.from({ length: 9 }, (_, digits) => [
  `1${"0".repeat(digits)}`,
  "9".repeat(digits + 1),
])
  .flat()
  .concat("1000000000");

/**
 * Returns the regular expression of the proto file for a text, or an empty text if there is none.
 */
export function patternOf(field: DescField): string {
  const { type } = getOption(field, rulesExtension);
  return type.case === "string" ? type.value.pattern : "";
}

/**
 * Returns what the field must be, without its name: by its option `decimal`, else by its example.
 */
export function describePattern(field: DescField): string {
  const { decimal, example } = getOption(field, fieldOption);
  if (decimal) {
    const pattern = patternOf(field);
    const above = new RegExp(pattern, "u").test("0") ? "" : " above zero";
    const form = `a decimal${above} such as 12.50, without a sign, with at most four places`;
    return `must be ${form}${describeEnd(pattern)}`;
  }
  return example === ""
    ? "does not have the form it must have"
    : `must have the form of ${JSON.parse(example)}`;
}

/**
 * Only the expression has the range of a decimal. The greatest bound that it accepts is the end of
 * the range.
 */
function describeEnd(pattern: string): string {
  const expression = new RegExp(pattern, "u");
  const last = ends.findLast((end) => expression.test(end));
  if (last === undefined || last === ends.at(-1)) return "";
  return last.startsWith("9") ? `, and below 1${"0".repeat(last.length)}` : `, and at most ${last}`;
}
