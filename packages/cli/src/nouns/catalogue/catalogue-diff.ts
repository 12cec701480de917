/** What has to be done for a catalogue to be as a file says. */
import type { DescMethodUnary, JsonValue } from "@bufbuild/protobuf";
import { callJson } from "../../call-json.ts";
import { UsageError } from "../../failures.ts";
import type { Work } from "../../noun.ts";
import { isObject, type Json } from "../../output/message-json.ts";
import { listOf, spaced } from "../../output/words.ts";
import type { Wanted } from "./catalogue-file.ts";

/** A call that has to be made. A creation comes first, and the calls after it get its id. */
interface Call {
  readonly method: DescMethodUnary;
  readonly request: Json;
}

/** What has to be done for one object: the calls in order, and the difference in words. */
export interface Step {
  readonly wanted: Wanted;
  readonly id: string | null;
  readonly calls: readonly Call[];
  /** `name: Team → Team plan`. Empty if nothing has to be done, or if the object is new. */
  readonly differences: readonly string[];
}

/** Compares each object with what exists under its code. */
export async function compare(work: Work, all: readonly Wanted[]): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const wanted of all) steps.push(await stepFor(work, wanted));
  return steps;
}

async function stepFor({ connection, request }: Work, wanted: Wanted): Promise<Step> {
  const { kind, code, members, status } = wanted;
  const { organisation = "" } = request;
  const { data } = await callJson(connection, kind.list, { organisation, code });
  const [existing] = listOf(data);
  const set = { method: kind.setStatus, request: { status: status ?? "" } };
  if (existing === undefined) {
    const calls = [{ method: kind.create, request: members }];
    const isInitial = status === null || status === kind.initial;
    return { wanted, id: null, calls: isInitial ? calls : [...calls, set], differences: [] };
  }
  const shown = membersOf(existing);
  const changed = Object.entries(members).filter(
    ([name, value]) => !isSame(value, shown[name], name),
  );
  const fixed = changed.find(
    ([name]) => !kind.update.input.fields.some((one) => one.name === name),
  );
  if (fixed !== undefined)
    throw new UsageError(
      `The ${fixed[0]} of the ${kind.name} ${code} cannot change from ` +
        `${shownText(shown[fixed[0]])} to ${shownText(fixed[1])}: use another code`,
    );
  const isOtherStatus = status !== null && existing.status !== status;
  const update = Object.fromEntries(changed.map(([name, value]) => [name, listed(name, value)]));
  return {
    wanted,
    id: String(existing.id),
    calls: [
      ...(changed.length === 0 ? [] : [{ method: kind.update, request: update }]),
      ...(isOtherStatus ? [set] : []),
    ],
    differences: [
      ...changed.map(([name, value]) => `${name}: ${shownText(shown[name])} → ${shownText(value)}`),
      ...(isOtherStatus ? [`status: ${String(existing.status)} → ${status}`] : []),
    ],
  };
}

/** An existing object with the members that a creation takes. */
function membersOf(existing: Json): Json {
  const { interval, unit_labels: labels, meters, ...members } = existing;
  return {
    ...members,
    ...(isObject(interval) ? { interval_months: interval.count ?? 1 } : {}),
    ...(isObject(labels)
      ? { unit_singular: labels.singular ?? "", unit_plural: labels.plural ?? "" }
      : {}),
    ...(Array.isArray(meters) ? { meters } : {}),
  };
}

/** Whether a wanted value is that of the object. An object may have more members than are named. */
function isSame(wanted: JsonValue, shown: JsonValue | undefined, name: string): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(shown) &&
      shown.length === wanted.length &&
      wanted.every((one, index) => isSame(one, shown[index], name))
    );
  if (isObject(wanted))
    return (
      isObject(shown) &&
      Object.entries(wanted).every(([key, value]) =>
        // A meter of a plan is named by its id or its code.
        key === "meter" && shown.code === value ? true : isSame(value, shown[key], key),
      )
    );
  if (/price$/.test(name)) return decimalOf(wanted) === decimalOf(shown);
  return String(wanted) === String(shown ?? "");
}

/** A decimal without its last zeros: `12.5` for `12.5000`. */
function decimalOf(value: JsonValue | undefined): string {
  const text = String(value ?? "");
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A change takes a list of tiers or meters as an object, so that it can be left out. */
function listed(name: string, value: JsonValue): JsonValue {
  return Array.isArray(value) ? { [name]: value } : value;
}

/** What a tier begins with follows from the one before, and a meter's code is its name here. */
const unsaid = new Set(["from", "name", "code", "tiers"]);

/** A member's value for a person: `up to 10, unit price 7; unit price 5.50`. */
export function shownText(value: JsonValue | undefined): string {
  if (value === undefined || value === "") return "none";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(shownText).join("; ");
  if (!isObject(value)) return String(value);
  return Object.entries(value)
    .filter(([name, one]) => !unsaid.has(name) || (name === "tiers" && listOf(one).length > 0))
    .map(([name, one]) => {
      const text = name === "meter" ? String(value.code ?? one) : shownText(one);
      return Array.isArray(one) ? `(${text})` : `${spaced(name)} ${text}`;
    })
    .join(", ");
}
