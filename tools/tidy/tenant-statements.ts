/**
 * A statement on an organisation's tables must name the organisation (ACCESS-8). This is a
 * heuristic over the SQL in string literals: each literal that reads or writes such a table must
 * mention `organisation_id`. SQL that is joined from several literals escapes it. The isolation
 * itself comes from the database's composite keys and is proven by tests with two organisations.
 */
import type { Fault, Source } from "./source.ts";

/** A statement that correctly names no organisation. */
export interface ExcusedStatement {
  readonly path: string;
  /** A part of the statement that distinguishes it from the others of its file. */
  readonly contains: string;
  readonly reason: string;
}

/** Returns the tables with `organisation_id`, read from the Prisma schema. */
export function tenantTables(schema: string): string[] {
  const models = [...schema.matchAll(/^model \w+ \{\n([\s\S]*?)^\}/gm)].map(
    ([, body = ""]) => body,
  );
  return models
    .filter((body) => /@map\("organisation_id"\)/.test(body))
    .flatMap((body) => /@@map\("(\w+)"\)/.exec(body)?.[1] ?? []);
}

/**
 * Returns a fault for each statement on a tenant's table without its organisation, except the
 * excused ones.
 */
export function tenantFaults(
  { path, strings }: Source,
  tables: readonly string[],
  excused: readonly ExcusedStatement[],
): Fault[] {
  const touches = new RegExp(
    `\\b(?:from|join|into|update)\\s+(?:only\\s+)?"?(${tables.join("|")})\\b`,
    "i",
  );
  return strings
    .filter(({ text }) => touches.test(text) && !/\borganisation_id\b/.test(text))
    .filter(
      ({ text }) => !excused.some((entry) => entry.path === path && text.includes(entry.contains)),
    )
    .map(
      ({ text, line }) =>
        `${path}:${line} the statement on ${touches.exec(text)?.[1]} names no organisation_id`,
    );
}
