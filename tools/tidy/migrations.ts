/**
 * Migrations are backward compatible by one version: the database is migrated first, and processes
 * of the previous version serve until each is replaced. A statement that would break them is a
 * fault, unless the migration states the last release that used what it removes:
 * `-- Contracts: 1.4.0 was the last release that …`.
 */
import type { Fault } from "./source.ts";

/** A migration: the name of its folder, and its SQL. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** The line that states the release. */
const contracts = /^-- Contracts: (\d+\.\d+\.\d+)\b/m;

/** A statement that breaks the previous version, and what to do instead. */
interface Breaking {
  readonly pattern: RegExp;
  readonly why: string;
}

const breaking: readonly Breaking[] = [
  {
    pattern: /^DROP (TABLE|TYPE|VIEW|FUNCTION|PROCEDURE|SEQUENCE|DOMAIN|SCHEMA)\b/i,
    why: "the previous version may use it",
  },
  { pattern: /^DROP INDEX\b/i, why: "an ON CONFLICT of the previous version may need it" },
  { pattern: /^TRUNCATE\b/i, why: "the previous version needs the rows" },
  { pattern: /^ALTER (TABLE|TYPE|VIEW|INDEX)\b.*\bRENAME\b/is, why: "add, copy, and drop later" },
  { pattern: /\bDROP (COLUMN|VALUE|DEFAULT)\b/i, why: "the previous version may use it" },
  // PostgreSQL accepts the form without the word COLUMN too.
  {
    pattern:
      /^ALTER TABLE\b.*\bDROP (?!COLUMN|CONSTRAINT|DEFAULT|NOT NULL|EXPRESSION|IDENTITY)"?\w/is,
    why: "the previous version may use it",
  },
  { pattern: /\bSET NOT NULL\b/i, why: "the previous version may write no value" },
  {
    pattern: /\bALTER (COLUMN )?"?\w+"? (SET DATA )?TYPE\b/i,
    why: "add a column, copy, and drop later",
  },
  {
    pattern: /\bADD (COLUMN )?(?!CONSTRAINT)[^,;]*\bNOT NULL\b(?![^,;]*\b(DEFAULT|GENERATED)\b)/i,
    why: "the previous version writes no value: give it a default",
  },
];

/** Allowed in the table's own migration only: the previous version has never written to it. */
const breakingOnOldTables: readonly Breaking[] = [
  {
    pattern: /^ALTER TABLE (?:ONLY )?"?(\w+)"?.*\bADD CONSTRAINT\b(?!.*\bNOT VALID\b)/is,
    why: "add it NOT VALID and validate it in a later statement",
  },
  {
    pattern: /^CREATE UNIQUE INDEX\b.*? ON (?:ONLY )?"?(\w+)"?/is,
    why: "the previous version may write equal values",
  },
];

/** The statements of a migration, without comments. A function's body is left out. */
function statementsOf(sql: string): readonly string[] {
  return sql
    .replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .replaceAll(/--.*$/gm, "")
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .split(";")
    .map((statement) => statement.replaceAll(/\s+/g, " ").trim())
    .filter((statement) => statement !== "");
}

/** The statements that drop indexes without a rule, which no ON CONFLICT can need. */
function plainDrops(earlier: readonly string[]): ReadonlySet<string> {
  const names = earlier.flatMap((one) => /^CREATE INDEX (\w+) ON /i.exec(one)?.[1] ?? []);
  return new Set(names.map((name) => `DROP INDEX ${name}`));
}

const uniqueIndex = /^CREATE UNIQUE INDEX "?(\w+)"? (ON .+)$/i;

/** The unique indexes that statements create: the text after the name, by name. */
function uniqueIndexes(statements: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    statements.flatMap((one) => {
      const [, name, definition] = uniqueIndex.exec(one) ?? [];
      return name === undefined || definition === undefined ? [] : [[name, definition]];
    }),
  );
}

/**
 * Returns the statements that replace an index under its name by one without entries of nulls, of
 * the same columns: `CREATE UNIQUE INDEX`, `DROP INDEX`, `ALTER INDEX … RENAME`. The previous
 * version cannot break the new index. It has no ON CONFLICT with these columns: that is not checked
 * here.
 */
function narrowings(
  statements: readonly string[],
  earlier: ReadonlyMap<string, string>,
): ReadonlySet<string> {
  const created = uniqueIndexes(statements);
  const found = statements.flatMap((rename) => {
    const [, from = "", to = ""] = /^ALTER INDEX (\w+) RENAME TO (\w+)$/i.exec(rename) ?? [];
    const [before, after, drop] = [earlier.get(to), created.get(from), `DROP INDEX ${to}`];
    if (before === undefined || after === undefined || !statements.includes(drop)) return [];
    const [, nullable] = /(?: AND| WHERE) (\w+) IS NOT NULL$/i.exec(after) ?? [];
    const rest = after.replace(/(?: AND| WHERE) \w+ IS NOT NULL$/i, "");
    const isOfColumns = new RegExp(`[(, ]${nullable}[,)]`).test(before.replace(/ WHERE .*$/i, ""));
    if (rest !== before || !isOfColumns) return [];
    return [`CREATE UNIQUE INDEX ${from} ${after}`, drop, rename];
  });
  return new Set(found);
}

/**
 * Returns a fault for each statement that breaks the previous version. The first migration creates
 * everything. `version` is the version being developed: the stated release must be an earlier one.
 */
export function migrationFaults(migrations: readonly Migration[], version: string): Fault[] {
  return migrations.slice(1).flatMap(({ name, sql }, index) => {
    const stated = contracts.exec(sql)?.[1];
    if (stated !== undefined) {
      return isEarlier(stated, version)
        ? []
        : [`${name} contracts ${stated}, which is not an earlier release than ${version}`];
    }
    const statements = statementsOf(sql);
    const own = new Set(
      statements.flatMap(
        (one) => /^CREATE TABLE (?:IF NOT EXISTS )?"?(\w+)"?/i.exec(one)?.[1] ?? [],
      ),
    );
    const earlier = migrations.slice(0, index + 1).flatMap((one) => statementsOf(one.sql));
    const harmless = [plainDrops(earlier), narrowings(statements, uniqueIndexes(earlier))];
    return statements.flatMap((statement) => {
      if (harmless.some((those) => those.has(statement))) return [];
      const always = breaking.find(({ pattern }) => pattern.test(statement));
      const onOld = breakingOnOldTables.find(({ pattern }) => {
        const table = pattern.exec(statement)?.[1];
        return table !== undefined && !own.has(table);
      });
      const found = always ?? onOld;
      return found === undefined ? [] : [`${name}: "${statement.slice(0, 70)}": ${found.why}`];
    });
  });
}

function isEarlier(stated: string, version: string): boolean {
  const [a, b] = [stated, version].map((text) => text.split(".").map(Number));
  const index = a?.findIndex((part, at) => part !== b?.[at]) ?? -1;
  return index >= 0 && (a?.[index] ?? 0) < (b?.[index] ?? 0);
}
