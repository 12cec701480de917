/**
 * A statement on an organisation's tables must name the organisation. A heuristic over the SQL in string literals: each
 * literal that reads or writes such a table must mention `organisation_id`. It does not see SQL that is put together from
 * several literals; the database's composite keys and the tests with two organisations are the real wall.
 */
import type { Fault, Source } from "./source.ts";

/** A statement that rightly names no organisation. */
export interface UnscopedStatement {
  readonly path: string;
  /** A part of the statement that tells it from the others of its file. */
  readonly contains: string;
  readonly reason: string;
}

/** The tables that carry `organisation_id`, read from the Prisma schema. */
export function tenantTables(schema: string): string[] {
  const models = [...schema.matchAll(/^model \w+ \{\n([\s\S]*?)^\}/gm)].map(([, body = ""]) => body);
  return models
    .filter((body) => /@map\("organisation_id"\)/.test(body))
    .flatMap((body) => /@@map\("(\w+)"\)/.exec(body)?.[1] ?? []);
}

/** Statements of a file that touch a tenant's table without its organisation and are not excused. */
export function scopeFaults(
  { path, strings }: Source,
  tables: readonly string[],
  excused: readonly UnscopedStatement[],
): Fault[] {
  const touches = new RegExp(`\\b(?:from|join|into|update)\\s+(?:only\\s+)?"?(${tables.join("|")})\\b`, "i");
  return strings
    .filter(({ text }) => touches.test(text) && !/\borganisation_id\b/.test(text))
    .filter(({ text }) => !excused.some((entry) => entry.path === path && text.includes(entry.contains)))
    .map(({ text, line }) => `${path}:${line} the statement on ${touches.exec(text)?.[1]} names no organisation_id`);
}
