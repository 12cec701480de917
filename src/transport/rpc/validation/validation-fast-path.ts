/**
 * A fast check that a message surely keeps its rules. The library explains each fault exactly, at a
 * cost that matters for a request with hundreds of fields. It therefore runs only if this check is
 * not sure, and only the library refuses.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  type EnumRules,
  type FieldRules,
  field as fieldRules,
  Ignore,
  type Int32Rules,
  message as messageRules,
  oneof as oneofRules,
  type RepeatedRules,
  type StringRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

type Fields = Readonly<Record<string, unknown>>;
type Keeps<T> = (value: T) => boolean;

/**
 * Compiles the check. It returns true if a message surely keeps all of its rules, and false says
 * nothing. Null if the message has a rule that only the library knows.
 */
export function compilePlainRules(message: DescMessage): Keeps<object> | null {
  const keeps = compileMessage(message);
  return keeps === null ? null : (value) => keeps(value as Fields);
}

function compileMessage(message: DescMessage): Keeps<Fields> | null {
  if (
    hasOption(message, messageRules) ||
    message.oneofs.some((oneof) => hasOption(oneof, oneofRules))
  )
    return null;
  const members: Keeps<Fields>[] = [];
  for (const field of message.fields) {
    // A message stores a part of a oneof under another member.
    if (field.oneof !== undefined) return null;
    const keeps = compileField(field);
    if (keeps === null) return null;
    members.push(keeps);
  }
  return (value) => members.every((keeps) => keeps(value));
}

function compileField(field: DescField): Keeps<Fields> | null {
  const rules = getOption(field, fieldRules);
  if (rules.ignore !== Ignore.UNSPECIFIED || rules.cel.length > 0 || rules.celExpression.length > 0)
    return null;
  const keeps = compileRules(field, rules);
  if (keeps === null) return null;
  const { localName } = field;
  const hasPresence = field.presence !== FeatureSet_FieldPresence.IMPLICIT;
  return (fields) => {
    const value = fields[localName];
    if (value === undefined) return hasPresence && !rules.required;
    return !(rules.required && !hasPresence && isZero(value)) && keeps(value);
  };
}

function isZero(value: unknown): boolean {
  return (
    value === "" || value === 0 || value === false || (Array.isArray(value) && value.length === 0)
  );
}

function compileRules(field: DescField, { type }: FieldRules): Keeps<unknown> | null {
  switch (field.fieldKind) {
    case "scalar":
      if (type.case === undefined) return () => true;
      if (type.case === "string" && field.scalar === ScalarType.STRING)
        return compileText(type.value) as Keeps<unknown>;
      if (type.case === "int32" && field.scalar === ScalarType.INT32)
        return compileInteger(type.value) as Keeps<unknown>;
      return null;
    case "message":
      return type.case === undefined
        ? (compileMessage(field.message) as Keeps<unknown> | null)
        : null;
    case "list":
      if (type.case !== undefined && type.case !== "repeated") return null;
      return compileList(field, type.value ?? null) as Keeps<unknown> | null;
    case "enum":
      if (type.case === undefined) return () => true;
      return type.case === "enum"
        ? (compileEnum(field.enum, type.value) as Keeps<unknown> | null)
        : null;
    default:
      return null;
  }
}

/** Whether the rules have set members other than the known ones. */
function hasOthers(rules: object, known: readonly string[]): boolean {
  return Object.entries(rules).some(
    ([name, value]) => !name.startsWith("$") && !known.includes(name) && !isUnset(value),
  );
}

/**
 * Unset members of these messages have the default of their type, and an unset oneof has no case.
 */
function isUnset(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0n || value === 0 || value === false)
    return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && value !== null && "case" in value && value.case === undefined;
}

/** Lengths count code points, which are at most the code units and at least one if there is any. */
function compileText(rules: StringRules): Keeps<string> | null {
  if (hasOthers(rules, ["minLen", "maxLen", "pattern"]) || rules.minLen > 1n) return null;
  const least = Number(rules.minLen);
  const most = rules.maxLen > 0n ? Number(rules.maxLen) : Number.POSITIVE_INFINITY;
  const pattern = rules.pattern === "" ? null : new RegExp(rules.pattern, "u");
  return (text) =>
    text.length >= least && text.length <= most && (pattern === null || pattern.test(text));
}

function compileInteger(rules: Int32Rules): Keeps<number> | null {
  if (hasOthers(rules, ["greaterThan", "lessThan"])) return null;
  const { greaterThan, lessThan } = rules;
  if (greaterThan.case === "gt" || lessThan.case === "lt") return null;
  const least = greaterThan.value ?? Number.NEGATIVE_INFINITY;
  const most = lessThan.value ?? Number.POSITIVE_INFINITY;
  return (integer) => integer >= least && integer <= most;
}

function compileEnum(descriptor: DescEnum, rules: EnumRules): Keeps<number> | null {
  if (hasOthers(rules, ["definedOnly", "notIn"])) return null;
  const defined = new Set(descriptor.values.map(({ number }) => number));
  const refused = new Set(rules.notIn);
  return (number) => !refused.has(number) && (!rules.definedOnly || defined.has(number));
}

function compileList(
  field: DescField & { readonly fieldKind: "list" },
  rules: RepeatedRules | null,
): Keeps<readonly unknown[]> | null {
  if (rules !== null && hasOthers(rules, ["minItems", "maxItems"])) return null;
  const least = Number(rules?.minItems ?? 0n);
  const most =
    rules !== null && rules.maxItems > 0n ? Number(rules.maxItems) : Number.POSITIVE_INFINITY;
  const keeps = field.listKind === "message" ? compileMessage(field.message) : () => true;
  if (keeps === null) return null;
  return (elements) =>
    elements.length >= least &&
    elements.length <= most &&
    elements.every((element) => keeps(element as Fields));
}
