/**
 * Validates a parsed request against the rules of its proto file (buf.validate) and the rules of
 * every text (REQUEST-7).
 */
import {
  create,
  type DescField,
  type DescMessage,
  getOption,
  type Message,
} from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import { field as rulesExtension } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { field as fieldOption } from "../../../gen/proto/billing/options/v1/options_pb.ts";
import { type FieldFault, InvalidRequest } from "../invalid-request.ts";
import { enumWords } from "./enum-words.ts";
import { compileStringRules, type TextFormats } from "./string-rules.ts";

/**
 * Throws `invalid_parameter` at the first fault, with the field's path as `param`:
 * `charges.0.charge_code`. The error can find all faults.
 */
export type Validate = (schema: DescMessage, message: Message) => void;

/**
 * Creates the validator of these messages. Their rules are compiled here, so that the first request
 * is as fast as later ones. A rule that cannot be compiled stops the start.
 */
export function createValidate(schemas: readonly DescMessage[], formats: TextFormats): Validate {
  const stringRules = new Map(
    schemas.map((schema) => [schema, compileStringRules(schema, formats)]),
  );
  for (const schema of schemas) {
    const result = validator.validate(schema, create(schema));
    if (result.kind === "error") throw result.error;
  }
  const findAll = (schema: DescMessage, message: Message): readonly FieldFault[] => {
    const faults: FieldFault[] = [];
    stringRules.get(schema)?.(message, (path, faultText) =>
      faults.push({ field: path ?? "", description: faultText }),
    );
    const result = thorough.validate(schema, message);
    const violations = result.kind === "invalid" ? result.violations : [];
    const found = violations.map((violation) => ({
      field: paramOf(violation.field) ?? "",
      description: messageOf(violation),
    }));
    return [...faults, ...found];
  };
  return (schema, message) => {
    const allFaults = () => findAll(schema, message);
    stringRules.get(schema)?.(message, (path, faultText) => {
      throw new InvalidRequest(`${path ?? "the request"} ${faultText}`, path, allFaults);
    });
    const result = validator.validate(schema, message);
    if (result.kind === "valid") return;
    if (result.kind === "error") throw result.error;
    const violation = result.violations[0];
    const param = paramOf(violation?.field ?? []);
    const faultText = messageOf(violation);
    throw new InvalidRequest(
      param === null ? faultText : `${param}: ${faultText}`,
      param,
      allFaults,
    );
  };
}

/** One validator for all transports of a process, so that they share its compiled rules. */
const regexMatch = cachedMatch();
const validator = createValidator({ failFast: true, regexMatch });

/** Finds every fault. Used once the other one has found a fault. */
const thorough = createValidator({ failFast: false, regexMatch });

/**
 * Returns the library's message, except if it would show a regular expression or the numbers of an
 * enum.
 */
function messageOf(violation: Violation | undefined): string {
  const at = violation?.field.findLast(({ kind }) => kind === "field");
  const isEnum = violation?.ruleId.startsWith("enum.") === true && at?.kind === "field";
  if (isEnum) return `must be one of ${enumWords(at).join(", ")}`;
  if (violation?.ruleId === "string.pattern" && at?.kind === "field") return describePattern(at);
  return violation?.message ?? "is invalid";
}

/**
 * The contract's patterns are few, short and linear, so the engine's RegExp is safe. Compiled
 * patterns are cached, which is three times faster than the default. `u` counts and matches code
 * points.
 */
function cachedMatch(): (pattern: string, against: string) => boolean {
  const compiled = new Map<string, RegExp>();
  return (pattern, against) => {
    let expression = compiled.get(pattern);
    if (expression === undefined) {
      expression = new RegExp(pattern, "u");
      compiled.set(pattern, expression);
    }
    return expression.test(against);
  };
}

/**
 * Returns the path with dots, in the names of the proto file. Null if the message as a whole is at
 * fault.
 */
function paramOf(path: Path): string | null {
  const parts = path.map((part) => {
    switch (part.kind) {
      case "list_sub":
        return String(part.index);
      case "map_sub":
        return String(part.key);
      default:
        return part.name;
    }
  });
  return parts.length === 0 ? null : parts.join(".");
}

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
 * Returns what a text with a pattern must be, without its name: by its option `decimal`, else by
 * its example. The expression is for machines (REQUEST-11).
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
