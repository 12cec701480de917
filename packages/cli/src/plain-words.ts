/**
 * Says in plain words what is wrong with a value that the service refused: `price must have at most
 * four decimals`. The rules are those of the request's proto, so that every field has its words.
 */
import { type DescField, type DescMessage, getOption, type JsonValue } from "@bufbuild/protobuf";
import { field as rulesExtension } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { field as fieldExtension } from "../../../src/gen/proto/billing/options/v1/options_pb.ts";
import { jsonName } from "../../../src/transport/rest/json-shape.ts";
import { enumWords } from "../../../src/transport/rpc/validation/enum-words.ts";
import { isObject, type Json } from "./output/message-json.ts";

/**
 * Returns the words about the value at the path of a refusal, such as `charges.0.price`. Null if
 * the rules of the proto do not explain the refusal: then the service's message does.
 */
export function plainWords(schema: DescMessage, request: Json, param: string): string | null {
  const names = param.split(".");
  const field = fieldAt(schema, names);
  if (field === null) return null;
  return faultOf(field, valueAt(request, names));
}

/** Follows the path. An index stands for an element of the list before it. */
function fieldAt(schema: DescMessage, names: readonly string[]): DescField | null {
  let within: DescMessage | undefined = schema;
  let found: DescField | null = null;
  for (const name of names) {
    if (/^\d+$/.test(name)) continue;
    found = within?.fields.find((field) => jsonName(field) === name) ?? null;
    if (found === null) return null;
    within = found.message;
  }
  return found;
}

function valueAt(request: Json, names: readonly string[]): JsonValue | undefined {
  return names.reduce<JsonValue | undefined>((value, name) => {
    if (Array.isArray(value)) return value[Number(name)];
    return isObject(value) ? value[name] : undefined;
  }, request);
}

function faultOf(field: DescField, value: JsonValue | undefined): string | null {
  const rules = getOption(field, rulesExtension);
  if (value === undefined || value === "") return rules.required ? "is required" : null;
  if (field.enum !== undefined && typeof value === "string")
    return `must be one of ${enumWords(field).join(", ")}`;
  const { type } = rules;
  if (type.case === "string" && typeof value === "string" && isDecimal(field, type.value.pattern))
    return decimalFault(value);
  if (type.case === "int32" && typeof value === "number") return rangeFault(type.value, value);
  if (type.case === "string" && typeof value === "string") return textFault(type.value, value);
  return null;
}

/** Whether a text is a decimal: by its option, else because its pattern takes numbers only. */
function isDecimal(field: DescField, pattern: string): boolean {
  if (getOption(field, fieldExtension).decimal) return true;
  const takes = (text: string) => new RegExp(pattern, "u").test(text);
  return pattern !== "" && takes("12.5") && !takes("x");
}

/** The form of a decimal without its bound, which the service's message names. */
function decimalFault(text: string): string | null {
  if (text.includes(",")) return "must have a point before the decimals, and no comma";
  if (/^[+-]/.test(text)) return "must have no sign";
  if (!/^\d+(\.\d+)?$/.test(text)) return "must be a number such as 12.50";
  if (/\.\d{5,}$/.test(text)) return "must have at most four decimals";
  if (/^0\d/.test(text)) return "must have no zero in front";
  return null;
}

interface Range {
  readonly greaterThan: { readonly case: string | undefined; readonly value?: number | undefined };
  readonly lessThan: { readonly case: string | undefined; readonly value?: number | undefined };
}

function rangeFault({ greaterThan, lessThan }: Range, value: number): string | null {
  const least = greaterThan.case === "gte" ? greaterThan.value : undefined;
  const most = lessThan.case === "lte" ? lessThan.value : undefined;
  if (least !== undefined && value < least) return `must be at least ${least}`;
  return most !== undefined && value > most ? `must be at most ${most}` : null;
}

interface LengthRules {
  readonly minLen: bigint;
  readonly maxLen: bigint;
  readonly wellKnown: { readonly case: string | undefined };
}

function textFault({ minLen, maxLen, wellKnown }: LengthRules, text: string): string | null {
  // The service counts code points.
  const { length } = [...text];
  if (wellKnown.case === "uuid") return "must be an id";
  if (maxLen > 0n && length > maxLen) return `must have at most ${maxLen} characters`;
  return length < minLen ? `must have at least ${minLen} characters` : null;
}
