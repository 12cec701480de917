/**
 * The facts of lines as they are stored, and the price sheets that they name (MONEY-9). SQL,
 * because sheets are inserted as a set, and facts are read with their sheet.
 */
import { createHash } from "node:crypto";
import { type LineFacts, readFacts, storedFacts } from "../../domain/explanation/facts.ts";
import {
  type HashName,
  type PriceSheet,
  readSheet,
  sheetName,
  sheetText,
  showSheet,
} from "../../domain/explanation/price-sheet.ts";
import type { InvoiceLine } from "../../domain/model/invoice.ts";
import { columns } from "../../gen/columns.ts";
import { columnSet } from "../database/column-set.ts";
import type { Transaction } from "../database/pool.ts";
import { pick, type RowOf, text, uuid } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { command, type Executor, query } from "../database/sql/statement.ts";

/** The hash that names price sheets. */
export const hashName: HashName = (content) =>
  createHash("sha256").update(content).digest("hex").slice(0, 32);

/** Anything with facts: a line of a draft, or a deferred one. */
interface Explained {
  readonly facts?: LineFacts;
}

/** Lines to write. A price of the subscription's own names it. */
export interface LinesToWrite {
  readonly subscriptionId: string;
  readonly lines: readonly Explained[];
}

/** Returns the facts of a line as they are stored. Null if it has none. */
export function factsText({ facts }: Explained, subscriptionId: string): string | null {
  return facts === undefined ? null : storedFacts(facts, namer(subscriptionId)).text;
}

/** Returns the sheets that the lines name, each once. */
export function sheetRecords(written: readonly LinesToWrite[]) {
  const sheets = new Map<string, string>();
  for (const { subscriptionId, lines } of written)
    for (const { facts } of lines) {
      if (facts === undefined || !("s" in facts)) continue;
      const content = sheetText(showSheet(facts.s, subscriptionId));
      sheets.set(hashName(content), content);
    }
  return [...sheets].map(([name, content]) => ({ name, content }));
}

/** The columns of `sheetRecords`. */
export const sheetColumns = pick(columns.priceSheet, "name", "content");

/** SQL that inserts the sheets which are new, from records `r`. `$1` is the organisation. */
export const insertSheets = (records: Sql): Sql => sql`
  INSERT INTO price_sheets (organisation_id, name, content)
  SELECT $1, r.name, r.content
  FROM ${records}
  ORDER BY r.name
  ON CONFLICT DO NOTHING
`;

const sheetSet = columnSet(sheetColumns, 2);
const saveNew = command({
  name: "save_price_sheets",
  text: insertSheets(sheetSet.source(sql`r`)),
});

/**
 * Saves the sheets of all lines that the transaction is about to write, each content once. A
 * transaction calls it once, before it takes a number (INVARIANT-5).
 */
export async function saveSheets(
  client: Transaction,
  organisationId: string,
  written: readonly LinesToWrite[],
): Promise<void> {
  const sheets = sheetRecords(written);
  if (sheets.length > 0) await saveNew(client, organisationId, ...sheetSet.arrays(sheets));
}

function namer(subscriptionId: string): (sheet: PriceSheet) => string {
  return (sheet) => sheetName(sheet, subscriptionId, hashName);
}

/** A column of facts, and its price sheet, null if they name none. */
export const factsRow = { facts: text.orNull(), sheet: text.orNull() };

/** SQL of the columns of `factsRow`, of the facts of `alias`. `$1` is the organisation. */
export function factsColumns(alias: Sql): Sql {
  const facts = sql`${alias}.facts`;
  return sql`${facts} AS facts, (SELECT s.content FROM price_sheets s WHERE s.organisation_id = $1
    AND s.name = ${facts}::json->>'s') AS sheet`;
}

/**
 * Reads the facts of a row. None if the row is older than they are. Without their sheet there are
 * none either: a line without facts is billed all the same.
 */
export function readLineFacts({ facts, sheet }: RowOf<typeof factsRow>): Explained {
  if (facts === null) return {};
  if (sheet !== null) return { facts: readFacts(facts, () => readSheet(sheet)) };
  const read: LineFacts<string> = JSON.parse(facts);
  return "s" in read ? {} : { facts: read };
}

const loadFacts = query({
  name: "load_facts_of_invoices",
  text: sql`
    SELECT l.id, ${factsColumns(sql`l`)}
    FROM invoice_lines l
    WHERE l.organisation_id = $1 AND l.invoice_id = ANY ($2::uuid[])
  `,
  row: { id: uuid, ...factsRow },
});

/** Returns the invoices with the facts of their lines, which lists do not read. */
export async function withFacts<
  T extends { readonly id: string; readonly lines: readonly InvoiceLine[] },
>(executor: Executor, organisationId: string, invoices: readonly T[]): Promise<readonly T[]> {
  if (invoices.length === 0) return invoices;
  const ids = invoices.map(({ id }) => id);
  const rows = await loadFacts(executor, organisationId, ids);
  const facts = new Map(rows.map(({ id, ...stored }) => [id, readLineFacts(stored)]));
  return invoices.map((invoice) => ({
    ...invoice,
    lines: invoice.lines.map((line) => ({ ...line, ...facts.get(line.id) })),
  }));
}
