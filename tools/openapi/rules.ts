/**
 * The limits of a request's field as JSON Schema. They come from the buf.validate rules that the
 * server checks. A rule without a counterpart here stops the build, so that none is missing in the
 * document.
 */
import { type DescField, getOption, type JsonObject } from "@bufbuild/protobuf";
import {
  type FieldRules,
  field as rulesExtension,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

/**
 * Returns the keywords for the field's rules. A list's own rules apply to the list; `itemKeywords`
 * has the rest.
 */
export function ruleKeywords(field: DescField): JsonObject {
  return keywords(getOption(field, rulesExtension), field);
}

/** Returns the keywords for the elements of a list. */
export function itemKeywords(field: DescField): JsonObject {
  const { type } = getOption(field, rulesExtension);
  return type.case === "repeated" && type.value.items !== undefined
    ? keywords(type.value.items, field)
    : {};
}

/** Returns true if a request without this member is refused. */
export function isRequired(field: DescField): boolean {
  const { required, type } = getOption(field, rulesExtension);
  return required || (type.case === "repeated" && type.value.minItems > 0n);
}

function keywords({ type }: FieldRules, field: DescField): JsonObject {
  switch (type.case) {
    case undefined:
      return {};
    case "string":
      return translate(type.value, field, {
        minLen: (value) => ({ minLength: Number(value) }),
        maxLen: (value) => ({ maxLength: Number(value) }),
        pattern: (value) => ({ pattern: String(value) }),
        // The only well-known form in use.
        wellKnown: (value) => (isCase(value, "uuid") ? { format: "uuid" } : null),
      });
    case "int32":
      return translate(type.value, field, {
        greaterThan: (value) => (isCase(value, "gte") ? { minimum: value.value } : null),
        lessThan: (value) => (isCase(value, "lte") ? { maximum: value.value } : null),
      });
    case "enum":
      // `not_in` names only the zero value, which has no word in JSON anyway.
      return translate(type.value, field, { definedOnly: () => ({}), notIn: () => ({}) });
    case "repeated":
      return translate(type.value, field, {
        minItems: (value) => ({ minItems: Number(value) }),
        maxItems: (value) => ({ maxItems: Number(value) }),
        unique: () => ({ uniqueItems: true }),
        items: () => ({}),
      });
    default:
      throw new Error(
        `${field}: the rules of kind ${type.case} have no counterpart in the OpenAPI document`,
      );
  }
}

type Translations = Readonly<Record<string, (value: unknown) => JsonObject | null>>;

/** Translates every rule that is set. Throws on a rule without a translation. */
function translate(rules: object, field: DescField, translations: Translations): JsonObject {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(rules)) {
    if (name.startsWith("$") || isUnset(value)) continue;
    const translated = translations[name]?.(value) ?? null;
    if (translated === null)
      throw new Error(`${field}: the rule ${name} has no counterpart in the OpenAPI document`);
    Object.assign(result, translated);
  }
  return result;
}

/** Unset members of a proto2 message have the default of their type. An unset oneof has no case. */
function isUnset(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0n || value === 0 || value === false)
    return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && value !== null && "case" in value && value.case === undefined;
}

function isCase(value: unknown, name: string): value is { case: string; value: number } {
  return typeof value === "object" && value !== null && "case" in value && value.case === name;
}
