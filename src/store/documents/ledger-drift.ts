/**
 * What a document is in the ledger otherwise than here, as SQL: the rows of many documents are
 * compared in the statement that writes them (LEDGER-20).
 */
import type { LedgerDrift } from "../../domain/ledger/drift.ts";
import { joinSql, literal, type Sql, sql } from "../database/sql/sql.ts";
import { stands } from "./document-presence.ts";

/**
 * A document's members in the ledger that are compared with ours, and the ledger's own number of
 * it. Absent if they were not read.
 */
export interface ObservedIdentity {
  readonly number?: string;
  readonly ledgerNumber?: string | null | undefined;
  readonly reference?: string;
  readonly currency?: string;
  readonly lineAmounts?: string | null;
  readonly contactId?: string;
  readonly issueDate?: string;
  readonly dueDate?: string | null;
}

/** SQL: the columns of a record with an observed identity. */
export const identityColumns = sql`number text, reference text, currency text, line_amounts text,
  contact_id text, issue_date text, due_date date, ledger_number text`;

/** Returns the record of an observed identity. */
export function identityRecord(observed: ObservedIdentity): object {
  const { number, reference, currency, lineAmounts, contactId, issueDate, dueDate } = observed;
  const names = { line_amounts: lineAmounts, contact_id: contactId, issue_date: issueDate };
  const theirs = { due_date: dueDate, ledger_number: observed.ledgerNumber };
  return { number, reference, currency, ...names, ...theirs };
}

/** SQL: the ledger's own number of row `d` after its observation `r`. */
export const ledgerNumber = sql`coalesce(r.ledger_number, d.ledger_number)`;

const folded = (text: Sql) => sql`lower(btrim(regexp_replace(${text}, '\s+', ' ', 'g')))`;
const differs = (observed: Sql, ours: Sql) =>
  sql`CASE WHEN ${folded(observed)} <> ${folded(ours)} THEN ${observed} END`;

const dates = {
  invoices: sql`d.issue_date::text`,
  credit_notes: sql`(d.credit_note_date AT TIME ZONE 'UTC')::date::text`,
} as const;

/**
 * SQL: what row `d` is otherwise in its observation `r`. Null if nothing. Without an observation it
 * stays. Ledgers fold case and blanks of numbers and references.
 */
export const driftOf = (table: keyof typeof dates): Sql => sql`CASE WHEN r.currency IS NULL
  THEN d.ledger_drift
  ELSE nullif(jsonb_strip_nulls(jsonb_build_object('currency', nullif(r.currency, d.currency),
    'amounts', nullif(r.line_amounts, 'exclusive'),
    'contact', (SELECT nullif(r.contact_id, k.ledger_contact_id) FROM customers k
      WHERE k.organisation_id = $1 AND k.id = d.customer_id),
    'number', ${differs(sql`r.number`, sql`d.number`)},
    'issue_date', nullif(r.issue_date, ${dates[table]}),
    'reference', ${differs(sql`r.reference`, sql`d.reference`)})), '{}') END`;

/**
 * SQL: the drift of the row as it counts now. The customer may have moved to the contact by a merge
 * since. An inactive customer's contact may have been merged into another customer's, so that the
 * ledger is asked. Reads each other document without its customer.
 */
export function currentDrift(d: Sql): Sql {
  return sql`CASE WHEN ${d}.ledger_drift IS NULL THEN NULL
    WHEN EXISTS (SELECT FROM customers k
      WHERE k.organisation_id = ${d}.organisation_id AND k.id = ${d}.customer_id
        AND (k.ledger_contact_id = ${d}.ledger_drift->>'contact' OR k.status <> 'active'))
    THEN nullif(${d}.ledger_drift - 'contact', '{}') ELSE ${d}.ledger_drift END`;
}

const meanings = ["currency", "amounts", "contact"] as const satisfies (keyof LedgerDrift)[];

const meaningWords = joinSql(meanings.map(literal), ", ");

/**
 * SQL: the ids of documents that drift. What a removed document was does not matter. Both
 * conditions match partial indexes of the few that drift.
 */
export const driftIds = (table: Sql): Sql => sql`
  SELECT d.id
  FROM ${table} d
  WHERE d.organisation_id = $1 AND d.ledger_subtotal <> d.subtotal AND ${stands(sql`d`)}
  UNION
  SELECT d.id
  FROM ${table} d
  WHERE
    d.organisation_id = $1
    AND d.ledger_drift IS NOT NULL
    AND ${currentDrift(sql`d`)} IS NOT NULL
    AND ${stands(sql`d`)}
`;

/** SQL: amounts of row `d` mean something else in the ledger than here. */
export const isAltered = (d: Sql): Sql =>
  sql`coalesce(jsonb_exists_any(${currentDrift(d)}, ARRAY[${meaningWords}]), false)`;
