/**
 * SQL: the definition of the domain, whether a document stands, is to be sent, or is nowhere
 * (DOCUMENT-7). `document` is the alias of a row.
 */
import { type DocumentPresence, presences } from "../../domain/billing/document-presence.ts";
import { joinSql, literal, type Sql, sql } from "../database/sql/sql.ts";

function isOneOf(document: Sql, wanted: readonly DocumentPresence[]): Sql {
  const statuses = Object.entries(presences).flatMap(([status, presence]) =>
    wanted.includes(presence) ? [literal(status)] : [],
  );
  return sql`${document}.status IN (${joinSql(statuses, ", ")})`;
}

/** SQL: the ledger has the document and it is not removed there. */
export const stands = (document: Sql): Sql => isOneOf(document, ["stands"]);

/** SQL: the document bills or credits: it stands or is to be sent. */
export const counts = (document: Sql): Sql => isOneOf(document, ["stands", "to_be_sent"]);

/** SQL: the ledger refused the document and never had it. `ledgerId` is its column. */
export const isNeverThere = (document: Sql, ledgerId = sql`ledger_invoice_id`): Sql =>
  sql`(${document}.status = 'not_in_external'
    AND ${document}.${ledgerId} IS NULL)`;

/** SQL: the document keeps its place: it counts, or a retry can still send it. */
export const keepsPlace = (document: Sql, ledgerId = sql`ledger_invoice_id`): Sql =>
  sql`(${counts(document)} OR ${isNeverThere(document, ledgerId)})`;

/** SQL: the invoice is of a renewal, and a person has not removed it. Its day is `period_start`. */
export const renews = (invoice: Sql): Sql =>
  sql`(${invoice}.type = 'renewal' AND ${invoice}.status NOT IN ('voided', 'deleted'))`;
