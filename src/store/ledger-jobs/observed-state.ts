/**
 * How what was seen in the ledger is judged against what we know, and what comes of a look. What is older never takes the place of what
 * is newer; what fits no record here is said so, and no more. Issue 8 "Mirror".
 */
import { isBusyInvoice, isBusyNote } from "./pending-notifications.ts";

/** Which documents of the ledger are meant. */
export type DocumentKind = "invoices" | "credit_notes";

/** A document of the ledger by its id there, and the ledger's own time of it (ISO 8601). */
export interface Dated {
  readonly id: string;
  readonly updatedAt: string;
}

/**
 * What came of a look: how many of ours changed; the subscriptions whose held credit is planned to go on an invoice, whose workflows are
 * to be started; and the ledger's ids of what has to be looked at again, because it was written here meanwhile, and of what was left as
 * it is, because what was seen of it is `unfit` for any record here.
 */
export interface Followed {
  readonly changed: number;
  readonly credited: readonly string[];
  readonly again: readonly string[];
  readonly unfit: readonly string[];
}

/** Nothing came of it. */
export const nothingSynced: Followed = { changed: 0, credited: [], again: [], unfit: [] };

/** Several looks as one. */
export function joinSynced(all: readonly Followed[]): Followed {
  return {
    changed: all.reduce((sum, { changed }) => sum + changed, 0),
    credited: [...new Set(all.flatMap(({ credited }) => credited))],
    again: all.flatMap(({ again }) => again),
    unfit: all.flatMap(({ unfit }) => unfit),
  };
}

/** The column with a document's id in the ledger. */
export const ledgerIdColumn = { invoices: "ledger_invoice_id", credit_notes: "ledger_credit_note_id" } as const;

/** Whether one of our own operations is on its way with row `d`. */
export const isBusy = { invoices: isBusyInvoice, credit_notes: isBusyNote } as const;

/**
 * What becomes of row `d` by what was seen of it, a record `r`. Whoever wrote after the ledger was asked ($3) may know more than its
 * answer: that is looked at again. A scheduled one has no id there.
 */
export const verdict = (kind: DocumentKind): string => `CASE WHEN d.ledger_updated_at > r.updated_at THEN 'older'
    WHEN d.ledger_reported_at >= $3::timestamptz OR ${isBusy[kind]} THEN 'again' ELSE 'write' END`;

/** What is wrong with an invoice of which the ledger has what fits no record here, as text of SQL. Only what was seen says so. */
export const unfitText = "'What the ledger has of it fits no record here.'";
