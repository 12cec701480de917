/**
 * The facts of lines as they are stored, and the price sheets that they name (MONEY-9). SQL,
 * because sheets are inserted as a set, and facts are read with their sheet.
 */
import { createHash } from "node:crypto";
import { type LineFacts, readFacts } from "../../domain/explanation/facts.ts";
import { readSheet } from "../../domain/explanation/price-sheet.ts";
import type { HashName } from "../../domain/explanation/render.ts";
import { text } from "../database/sql/columns.ts";
import { asSql, type Sql, sql } from "../database/sql/sql.ts";

/** The hash that names price sheets. */
export const hashName: HashName = (content) =>
  createHash("sha256").update(content).digest("hex").slice(0, 32);

/** A column of facts, and its price sheet, null if they name none. */
export const factsRow = { facts: text.orNull(), sheet: text.orNull() };

/** SQL of the columns of `factsRow`, of the facts of `alias`. `$1` is the organisation. */
export function factsColumns(alias: string): Sql {
  const facts = asSql(`${alias}.facts`);
  return sql`${facts} AS facts, (SELECT s.content FROM price_sheets s WHERE s.organisation_id = $1
    AND s.name = ${facts}::json->>'s') AS sheet`;
}

/** Reads the facts of a row. None if it is older than they are. */
export function readLineFacts(row: {
  readonly facts: string | null;
  readonly sheet: string | null;
}): { readonly facts?: LineFacts } {
  const { facts, sheet } = row;
  if (facts === null) return {};
  return {
    facts: readFacts(facts, (name) => {
      if (sheet === null) throw new Error(`there is no price sheet ${name}`);
      return readSheet(sheet);
    }),
  };
}
