/**
 * Compares state observed in the ledger with our state. An older observation never replaces a newer
 * one. An observation that does not fit the columns here is only reported (LEDGER-4, LEDGER-5).
 */
import { text } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { isUnwritable } from "../ledger-jobs/document-outcomes.ts";

/** Which kind of document of the ledger. */
export type SyncedDocumentKind = "invoices" | "credit_notes";

/** A document by its id in the ledger, and the ledger's change time (ISO 8601). */
export interface Dated {
  readonly id: string;
  readonly updatedAt: string;
}

/**
 * The result of a sync. How many rows changed, and the subscriptions with planned allocations,
 * whose workflows must be started. The ledger's ids of `again`, which were written here meanwhile
 * and must be read again. The ids of `unfit`, which do not fit the columns here.
 */
export interface SyncResult {
  readonly changed: number;
  readonly credited: readonly string[];
  readonly again: readonly string[];
  readonly unfit: readonly string[];
}

/** A sync that changed nothing. */
export const nothingSynced: SyncResult = { changed: 0, credited: [], again: [], unfit: [] };

/** Combines several results into one. */
export function joinSyncResults(all: readonly SyncResult[]): SyncResult {
  return {
    changed: all.reduce((sum, { changed }) => sum + changed, 0),
    credited: [...new Set(all.flatMap(({ credited }) => credited))],
    again: all.flatMap(({ again }) => again),
    unfit: all.flatMap(({ unfit }) => unfit),
  };
}

/**
 * Writes objects of the ledger in one batch. If one breaks a type or a rule of the database, each
 * is written singly, and `onUnfit` returns the result of one that breaks it then. So no object
 * stops the others (LEDGER-5).
 */
export async function writeBatch<T>(
  objects: readonly T[],
  write: (some: readonly T[]) => Promise<SyncResult>,
  onUnfit: (object: T) => SyncResult | Promise<SyncResult>,
): Promise<SyncResult> {
  if (objects.length === 0) return nothingSynced;
  try {
    return await write(objects);
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    const [only] = objects;
    if (objects.length === 1 && only !== undefined) return onUnfit(only);
    const each: SyncResult[] = [];
    for (const one of objects) each.push(await writeBatch([one], write, onUnfit));
    return joinSyncResults(each);
  }
}

/** The column with a document's id in the ledger. */
export const ledgerIdColumn = {
  invoices: sql`ledger_invoice_id`,
  credit_notes: sql`ledger_credit_note_id`,
} as const;

/** SQL: one of our own jobs works on row `d`. Its answer reports more than a read. */
export const isBusy = {
  invoices: sql`(EXISTS (SELECT FROM ledger_jobs o
      WHERE o.organisation_id = d.organisation_id AND o.invoice_id = d.id
        AND o.state IN ('sending', 'uncertain'))
    OR EXISTS (SELECT FROM removals r JOIN ledger_jobs o
        ON o.organisation_id = r.organisation_id AND o.id = r.termination_id
      WHERE r.organisation_id = d.organisation_id AND r.invoice_id = d.id
        AND r.state = 'waiting' AND o.state IN ('sending', 'uncertain')))`,
  credit_notes: sql`EXISTS (SELECT FROM ledger_jobs o
    WHERE o.organisation_id = d.organisation_id AND o.credit_note_id = d.id
      AND o.state IN ('sending', 'uncertain'))`,
} as const;

/**
 * SQL: what to do with row `d`, given its observation `r`. If it was written after the ledger was
 * queried ($3), it may be newer than the answer, and is read again. A scheduled document has no id
 * in the ledger.
 */
export const verdict = (
  kind: SyncedDocumentKind,
): Sql => sql`CASE WHEN d.ledger_updated_at > r.updated_at THEN 'older'
    WHEN d.ledger_reported_at >= $3::timestamptz OR ${isBusy[kind]} THEN 'again'
    ELSE 'write' END`;

/** The column of a verdict. */
export const verdictColumn = text.as<"older" | "again" | "write">();
