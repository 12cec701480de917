/**
 * The SQL of documents: insert many in one statement, lock one, change one. A `DocumentTable` has
 * the differences between invoices and credit notes.
 */

import { isUuid } from "../api/contact-rows.ts";
import type { Queryable } from "../database.ts";
import type { DemoTenant } from "../tenants.ts";
import type { DocumentRow } from "./document-rows.ts";
import type { DocumentValues } from "./document-rules.ts";

/**
 * The table of a kind of document. `columns` are the columns that a request writes, with their
 * types.
 */
export interface DocumentTable {
  readonly name: "invoices" | "credit_notes";
  readonly idColumn: "invoice_id" | "credit_note_id";
  readonly columns: Readonly<Record<string, string>>;
}

/** The columns that every kind of document has, with their types. */
export const documentColumns = {
  contact_id: "uuid",
  number: "text",
  reference: "text",
  status: "text",
  line_amount_types: "text",
  currency: "text",
  issue_date: "text",
  sub_total: "numeric",
  total_tax: "numeric",
  total: "numeric",
  lines: "jsonb",
} as const;

/** Returns the select list of a document: all columns, and the id under the name that rows use. */
export function selectedOf(table: DocumentTable): string {
  return `*, ${table.idColumn} as id`;
}

/**
 * Returns the document of an id or number, or undefined. `lock` locks its row until the transaction
 * ends.
 */
export async function loadDocument<Row extends DocumentRow>(
  client: Queryable,
  table: DocumentTable,
  tenantId: string,
  idOrNumber: string,
  lock: "for update" | "" = "",
): Promise<Row | undefined> {
  const { rows } = await client.query<Row>(
    `select ${selectedOf(table)} from demo_ledger.${table.name}
     where tenant_id = $1 and ${isUuid(idOrNumber) ? table.idColumn : "number"} = $2 ${lock}`,
    [tenantId, idOrNumber],
  );
  return rows[0];
}

/**
 * Stores new documents. Returns the rows by id. Documents with a taken number are not among them.
 */
export async function insertDocuments<Row extends DocumentRow>(
  client: Queryable,
  table: DocumentTable,
  { tenantId, foldsNumbers }: DemoTenant,
  drafts: readonly { readonly id: string; readonly values: DocumentValues }[],
): Promise<ReadonlyMap<string, Row>> {
  if (drafts.length === 0) return new Map();
  const numbered = drafts.map(({ id, values }) => ({
    ...values,
    id,
    number: foldsNumbers ? values.number.trim() : values.number,
  }));
  const names = Object.keys(table.columns).join(", ");
  const types = Object.entries(table.columns).map(([name, type]) => `${name} ${type}`);
  const { rows } = await client.query<Row>({
    name: `demo-insert-${table.name}${foldsNumbers ? "-folded" : ""}`,
    // Ordered by number, so that two requests with the same numbers wait for each other and do not
    // deadlock.
    text: `insert into demo_ledger.${table.name} (${table.idColumn}, tenant_id, ${names})
      select id, $1, ${names} from jsonb_to_recordset($2::jsonb) as draft (id uuid,
        ${types.join(", ")})
      ${foldsNumbers ? `where not exists (${sameFolded(table)})` : ""}
      order by number
      on conflict (tenant_id, number) do nothing
      returning ${selectedOf(table)}`,
    values: [tenantId, JSON.stringify(numbered)],
  });
  return new Map(rows.map((row) => [row.id, row]));
}

// No two numbers of one request differ only by case or blanks. So a number is compared only with
// stored ones.
function sameFolded({ name }: DocumentTable): string {
  return `select 1 from demo_ledger.${name} d where d.tenant_id = $1
    and lower(btrim(d.number)) = lower(draft.number)`;
}

/**
 * Writes these values to a locked document. Fails with a violated index if its new number is taken.
 */
export async function changeDocument<Row extends DocumentRow>(
  client: Queryable,
  table: DocumentTable,
  tenantId: string,
  id: string,
  values: DocumentValues,
): Promise<readonly Row[]> {
  const names = Object.keys(table.columns).join(", ");
  const types = Object.entries(table.columns).map(([name, type]) => `${name} ${type}`);
  const { rows } = await client.query<Row>({
    name: `demo-change-${table.name}`,
    text: `update demo_ledger.${table.name} set (${names}) =
        (select ${names} from jsonb_to_record($3::jsonb) as changed (${types.join(", ")})),
        updated_at = date_trunc('milliseconds', clock_timestamp())
      where tenant_id = $1 and ${table.idColumn} = $2 returning ${selectedOf(table)}`,
    values: [tenantId, id, JSON.stringify(values)],
  });
  return rows;
}
