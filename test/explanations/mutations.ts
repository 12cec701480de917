/** Explanations in which one thing was changed: a value, a member, a place in a list. */
import type { Explanation } from "../../src/domain/explanation/shown.ts";
import { hash } from "./explained.ts";

/** An explanation with one change, and the place of the change: `lines.0.facts.1.value`. */
export interface Mutation {
  readonly at: string;
  readonly text: string;
}

/** The places whose change no arithmetic can refute, and the order of lines. */
export const identity = new RegExp(
  "^(?:id|number)$|^lines\\.\\d+\\.(?:swapped|line|was|reissues)$" +
    "|\\.source(?:\\.|$)|\\.until$|\\.reissues\\.",
);

/** Every explanation that differs from this one by one change. */
export function mutationsOf(explanation: object): readonly Mutation[] {
  return placesIn(explanation, []).flatMap((path) =>
    changesOf(valueAt(explanation, path), path).map(({ at, value }) => ({
      at: at.join("."),
      text: JSON.stringify(replaced(explanation, path, value)),
    })),
  );
}

/** Every explanation in which one price, bound or type changed, and the sheet's name with it. */
export function renamedSheets(explanation: Explanation): readonly Mutation[] {
  return explanation.sheets.flatMap(({ name: before, ...sheet }, index) =>
    mutationsOf(sheet).flatMap(({ at, text }) => {
      if (!/price|up_to|free_units|^type$/.test(at)) return [];
      const changed = JSON.parse(text);
      const name = hash(canonical(changed));
      const sheets = explanation.sheets
        .with(index, { name, ...changed })
        .toSorted((one, other) => (one.name < other.name ? -1 : 1));
      const renamed = JSON.stringify({ ...explanation, sheets }).replaceAll(before, name);
      return [{ at: `sheets.${index}.${at}`, text: renamed }];
    }),
  );
}

/** The canonical text of the page, written once more. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, of) =>
    typeof of === "object" && of !== null && !Array.isArray(of)
      ? Object.fromEntries(Object.entries(of).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : of,
  );
}

type Path = readonly string[];
interface Change {
  readonly at: Path;
  readonly value: unknown;
}

function placesIn(value: unknown, path: Path): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const inside = Object.entries(value).flatMap(([name, one]) => placesIn(one, [...path, name]));
  return [path, ...inside];
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce((of, name) => Object(of)[name], value);
}

function replaced(of: unknown, [name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value;
  const inside = replaced(Object(of)[name], rest, value);
  return Array.isArray(of) ? of.with(Number(name), inside) : { ...Object(of), [name]: inside };
}

function changesOf(value: unknown, path: Path): readonly Change[] {
  if (Array.isArray(value)) return listChanges(value, path);
  if (typeof value === "object" && value !== null) return memberChanges(value, path);
  return leafValues(value).map((changed) => ({ at: path, value: changed }));
}

/** An element left out, doubled, or swapped with the next one. */
function listChanges(list: readonly unknown[], path: Path): readonly Change[] {
  return list.flatMap((one, index) => {
    const at = [...path, String(index)];
    const swapped = list
      .with(index, list[index + 1])
      .with(index + 1 < list.length ? index + 1 : 0, one);
    const isOther = JSON.stringify(swapped) !== JSON.stringify(list);
    return [
      { at, value: list.toSpliced(index, 1) },
      { at, value: list.toSpliced(index, 0, one) },
      ...(index + 1 < list.length && isOther ? [{ at: [...at, "swapped"], value: swapped }] : []),
    ];
  });
}

/** A member left out, or one that is not of the format. */
function memberChanges(members: object, path: Path): readonly Change[] {
  const dropped = Object.keys(members).map((name) => {
    const { [name]: _, ...rest } = members as Record<string, unknown>;
    return { at: [...path, name], value: rest };
  });
  return [...dropped, { at: [...path, "other"], value: { ...members, other: "1" } }];
}

function leafValues(value: unknown): readonly unknown[] {
  if (typeof value === "number")
    return [value + 1, value === 0 ? 2 : value - 1, value + 0.5, `${value}`];
  if (typeof value !== "string") return ["1", value === null ? 1 : null];
  if (/^\d{4}-\d\d-\d\d$/.test(value))
    return [`${value.slice(0, 8)}${value.endsWith("10") ? "11" : "10"}`, value.replaceAll("-", "")];
  if (!/^-?\d+(?:[./]\d+)?$/.test(value))
    return [
      `${value}x`,
      value.toUpperCase() === value ? value.toLowerCase() : value.toUpperCase(),
      null,
    ];
  const last = Number(value.at(-1));
  const next = `${value.slice(0, -1)}${last === 9 ? 1 : last + 1}`;
  const signed = value.startsWith("-") ? value.slice(1) : `-${value}`;
  // Other numbers, then other texts of the same number.
  return [
    next,
    `1${value.replace("-", "")}`,
    signed,
    `0${value}`,
    `${value}${value.includes(".") ? "0" : ".0"}`,
    Number(value),
  ];
}
