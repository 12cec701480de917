/**
 * The rules of every message, compiled once for each. No text has a NUL (PostgreSQL refuses it) or
 * a lone surrogate (drivers silently replace it). No unknown field was sent. A member needs the
 * member that it depends on, and excludes the one that it replaces. REQUEST-7, REQUEST-10.
 */
import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  field as fieldOption,
  TextFormat,
} from "../../../gen/proto/billing/options/v1/options_pb.ts";

/**
 * The rule of one text format: the test of a text, and its description (`must be a day of the
 * calendar, YYYY-MM-DD`).
 */
interface TextFormatRule {
  readonly holds: (text: string) => boolean;
  readonly must: string;
}

/** The rule of each format of the contract. */
export type TextFormats = ReadonlyMap<TextFormat, TextFormatRule>;

/** A message by its members. `$unknown` holds binary fields that its descriptor does not have. */
type Fields = Readonly<Record<string, unknown>> & {
  readonly $unknown?: readonly { readonly no: number }[];
};
/** Checks what is at `path`, which is empty for the whole request. */
type CheckMessage = (message: Fields, path: string, report: ReportFault) => void;
type CheckValue = (value: unknown, path: string, report: ReportFault) => void;

/** Receives a fault: the field's path, null for the whole request, and what is wrong with it. */
export type ReportFault = (path: string | null, faultText: string) => void;

function pathOf(path: string, name: string | number): string {
  return path === "" ? String(name) : `${path}.${name}`;
}

/**
 * Compiles the check of one message. It reports every fault with the path of the field, such as
 * `charges.0.charge_code`, until the report throws.
 */
export function compileStringRules(
  message: DescMessage,
  formats: TextFormats,
): (value: object, report: ReportFault) => void {
  const check = compileMessage(message, formats, new Map());
  return (value, report) => check(value as Fields, "", report);
}

/** A message that contains itself finds its own incomplete check in `known`. */
function compileMessage(
  message: DescMessage,
  formats: TextFormats,
  known: Map<DescMessage, CheckMessage>,
): CheckMessage {
  const done = known.get(message);
  if (done !== undefined) return done;
  const checks: CheckMessage[] = [refuseUnknown];
  const check: CheckMessage = (value, path, report) => {
    for (const one of checks) one(value, path, report);
  };
  known.set(message, check);
  for (const field of message.fields) {
    const checkValue = compileField(field, formats, known);
    if (checkValue !== null) checks.push(checkMember(field, checkValue));
    const { onlyWith, insteadOf } = getOption(field, fieldOption);
    if (onlyWith !== "") checks.push(checkOnlyWith(message, field, onlyWith));
    if (insteadOf !== "") checks.push(checkInsteadOf(message, field, insteadOf));
  }
  return check;
}

function checkMember(field: DescField, check: CheckValue): CheckMessage {
  const { localName, name } = field;
  return (message, path, report) => {
    const value = message[localName];
    if (value !== undefined) check(value, pathOf(path, name), report);
  };
}

/**
 * A member that qualifies a boolean member. It is a fault of the request unless that one is true.
 */
function checkOnlyWith(
  message: DescMessage,
  { localName, name }: DescField,
  onlyWith: string,
): CheckMessage {
  const needed = message.fields.find((field) => field.name === onlyWith);
  if (needed?.scalar !== ScalarType.BOOL)
    throw new Error(`${message}: ${name} stands only with ${onlyWith}, which is no boolean`);
  return (value, path, report) => {
    if (value[localName] === undefined || value[needed.localName] === true) return;
    report(pathOf(path, name), `is allowed only where ${onlyWith} is true`);
  };
}

/**
 * Two members that express the same in two ways: exactly one is sent. If both are sent, the fault
 * names this member. If none is sent, it names the other one.
 */
function checkInsteadOf(
  message: DescMessage,
  { localName, name }: DescField,
  insteadOf: string,
): CheckMessage {
  const other = message.fields.find((field) => field.name === insteadOf);
  if (other === undefined)
    throw new Error(`${message}: ${name} stands for ${insteadOf}, which it does not have`);
  return (value, path, report) => {
    const isSent = value[localName] !== undefined;
    if (isSent !== (value[other.localName] !== undefined)) return;
    if (isSent) report(pathOf(path, name), `must not be given together with ${insteadOf}`);
    else report(pathOf(path, insteadOf), `or ${name} must be given`);
  };
}

const refuseUnknown: CheckMessage = (message, path, report) => {
  const field = message.$unknown?.[0];
  if (field !== undefined) report(path || null, `has no field number ${field.no}`);
};

function compileField(
  field: DescField,
  formats: TextFormats,
  known: Map<DescMessage, CheckMessage>,
): CheckValue | null {
  if (field.fieldKind === "map" || field.oneof !== undefined)
    throw new Error(`${field}: maps and choices are not part of the contract`);
  const { message } = field;
  const one =
    message !== undefined
      ? (compileMessage(message, formats, known) as CheckValue)
      : field.scalar === ScalarType.STRING
        ? compileText(field, formats)
        : null;
  if (one === null || field.fieldKind !== "list") return one;
  return (value, path, report) => {
    for (const [index, element] of (value as readonly unknown[]).entries())
      one(element, pathOf(path, index), report);
  };
}

function compileText(field: DescField, formats: TextFormats): CheckValue {
  const { format } = getOption(field, fieldOption);
  if (format === TextFormat.UNSPECIFIED) return checkText;
  const rule = formats.get(format);
  if (rule === undefined) throw new Error(`${field}: its text format has no rule`);
  const { holds, must } = rule;
  // Without presence an empty text counts as not sent, and `required` decides about it.
  const isOptional = field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return (value, path, report) => {
    checkText(value, path, report);
    if (isOptional && value === "") return;
    if (!holds(value as string)) report(path, must);
  };
}

const checkText: CheckValue = (value, path, report) => {
  const text = value as string;
  if (text.includes("\0")) report(path, "has a NUL character");
  if (!text.isWellFormed()) report(path, "has half of a surrogate pair");
};
