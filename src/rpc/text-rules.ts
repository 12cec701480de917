/**
 * What holds for every message whatever its rules: no text has a NUL or a lone surrogate (PostgreSQL refuses the one, drivers
 * replace the other silently), and nothing unknown was sent. Compiled once for each message. decisions §1, step 6 and "Text".
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { Refusal } from "../domain/refusal.ts";

/** A message by its members; `$unknown` holds binary fields that its descriptor does not have. */
type Fields = Readonly<Record<string, unknown>> & { readonly $unknown?: readonly { readonly no: number }[] };
type CheckMessage = (message: Fields, path: string) => void;
type CheckValue = (value: unknown, path: string) => void;

/** The check of one message; it refuses `invalid_parameter` with the path of the field, such as `charges.0.charge_code`. */
export function compileTextRules(message: DescMessage): (value: object) => void {
  const check = compileMessage(message, new Map());
  return (value) => check(value as Fields, "");
}

/** A message that contains itself finds its own check in `known`, before it is complete. */
function compileMessage(message: DescMessage, known: Map<DescMessage, CheckMessage>): CheckMessage {
  const done = known.get(message);
  if (done !== undefined) return done;
  const checks: CheckMessage[] = [refuseUnknown];
  const check: CheckMessage = (value, path) => {
    for (const one of checks) one(value, path);
  };
  known.set(message, check);
  for (const field of message.fields) {
    const checkValue = compileField(field, known);
    if (checkValue !== null) checks.push(checkMember(field, checkValue));
  }
  return check;
}

function checkMember(field: DescField, check: CheckValue): CheckMessage {
  const { localName, name, oneof } = field;
  return (message, path) => {
    const value = oneof === undefined ? message[localName] : chosen(message[oneof.localName], localName);
    if (value !== undefined) check(value, path === "" ? name : `${path}.${name}`);
  };
}

function chosen(oneof: unknown, localName: string): unknown {
  const { case: name, value } = oneof as { readonly case?: string; readonly value?: unknown };
  return name === localName ? value : undefined;
}

function refuseUnknown(message: Fields, path: string): void {
  const field = message.$unknown?.[0];
  if (field === undefined) return;
  const where = path === "" ? "the request" : path;
  throw new Refusal("invalid_parameter", `${where} has no field number ${field.no}`, path === "" ? null : path);
}

function compileField(field: DescField, known: Map<DescMessage, CheckMessage>): CheckValue | null {
  if (field.fieldKind === "map") throw new Error(`${field}: maps are not part of the contract`);
  const one =
    field.message !== undefined
      ? (compileMessage(field.message, known) as CheckValue)
      : field.scalar === ScalarType.STRING
        ? checkText
        : null;
  if (one === null || field.fieldKind !== "list") return one;
  return (value, path) => {
    for (const [index, element] of (value as readonly unknown[]).entries()) one(element, `${path}.${index}`);
  };
}

const checkText: CheckValue = (value, path) => {
  const text = value as string;
  if (text.includes("\0")) throw new Refusal("invalid_parameter", `${path} has a NUL character`, path);
  if (!text.isWellFormed()) throw new Refusal("invalid_parameter", `${path} has half of a surrogate pair`, path);
};
