/** The CHECKs of enumerations, as the migrated database has them, and their lists in TypeScript. */
import { expect } from "vitest";
import { databaseTest as test } from "../../support/fixtures.ts";
import { enumerations, namedModels } from "./enumerations.ts";

/** A CHECK of the database: its table, name and condition. */
interface Check {
  readonly table: string;
  readonly name: string;
  readonly condition: string;
}

/** `column = ANY (ARRAY['a'::text, …])` as the whole condition, or as its last conjunct. */
const enumeration = /(?:^CHECK \(\(|AND \()(\w+) = ANY \(ARRAY\[('[^\]]*)\]\)\)+$/;

/** A comparison of a column with words: `=`, `<>`, `= ANY`, `<> ALL`. */
const comparison = /\b(\w+) (?:=|<>) (?:(?:ANY|ALL) \(ARRAY\[)?('[^\])]*)/g;

/** What PostgreSQL prints of `CASE column WHEN 'a'`. */
const caseOf = /CASE (\w+)\s((?:.|\n)*?)END/g;

const checks = test.extend("checks", async ({ pool }): Promise<readonly Check[]> => {
  const { rows } = await pool.query<Check>(
    `SELECT conrelid::regclass::text AS "table", conname AS name,
      pg_get_constraintdef(oid) AS condition
    FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace`,
  );
  return rows;
});

const wordsIn = (text: string): readonly string[] =>
  [...text.matchAll(/'([^']*)'::text/g)].map(([, word = ""]) => word);

const sorted = (words: Iterable<string>): readonly string[] => [...new Set(words)].sort();

/** The enumerations among the checks: column and words, by name. */
const found = (all: readonly Check[]) =>
  new Map(
    all.flatMap(({ table, name, condition }) => {
      const [, column, list] = enumeration.exec(condition) ?? [];
      if (column === undefined || list === undefined) return [];
      return [
        [name, { column: `${table}.${column}` as string, words: sorted(wordsIn(list)) }] as const,
      ];
    }),
  );

/** The words with which a condition compares each column. */
function compared({
  table,
  condition,
}: Check): readonly (readonly [column: string, words: readonly string[]])[] {
  return [...condition.matchAll(comparison), ...condition.matchAll(caseOf)].map(
    ([, column, text = ""]) => [`${table}.${column}` as string, wordsIn(text)] as const,
  );
}

checks(
  "each CHECK of an enumeration has the words of its list in TypeScript",
  ({ checks: all }) => {
    const inDatabase = [...found(all)].map(([name, { words }]) => [name, words]);
    const inTypeScript = Object.entries(enumerations).map(([name, words]) => [name, sorted(words)]);
    expect(Object.fromEntries(inDatabase)).toEqual(Object.fromEntries(inTypeScript));
  },
);

checks("each CHECK names only words of its column's enumeration", ({ checks: all }) => {
  const known = new Map([...found(all).values()].map(({ column, words }) => [column, words]));
  const unknown = all.flatMap((check) =>
    compared(check).flatMap(([column, words]) =>
      words
        .filter((word) => !known.get(column)?.includes(word))
        .map((word) => `${check.name}: ${column} ${word}`),
    ),
  );
  // Months are the only unit of an interval.
  expect(unknown).toEqual(["plans_interval: plans.interval_unit month"]);
});

checks("each CHECK of plans names the models with the trait that it is for", ({ checks: all }) => {
  const ofPlans = all.flatMap((check) => {
    const words = compared(check).flatMap(([at, named]) => (at === "plans.type" ? named : []));
    return words.length === 0 || check.name in enumerations ? [] : [[check.name, sorted(words)]];
  });
  const expected = Object.entries(namedModels).map(([name, words]) => [name, sorted(words)]);
  expect(Object.fromEntries(ofPlans)).toEqual(Object.fromEntries(expected));
});

test("no column has an enumerated type of the database", async ({ pool }) => {
  const { rows } = await pool.query(
    "SELECT typname FROM pg_type WHERE typtype = 'e' AND typnamespace = 'public'::regnamespace",
  );
  expect(rows).toEqual([]);
});
