/**
 * Documents of the ledger that a restored database does not know, as posting takes them: a document
 * that is about to be created takes an equal one instead (LEDGER-19). SQL, because a claim decides
 * which of several writers takes a document, and numbers are a counter's claim.
 */
import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { documentNumber } from "../documents/invoice-writes.ts";

/** The kinds of documents, as rows name them. */
export type UnknownKind = "invoice" | "credit_note";

/**
 * A document of the ledger. Dates are `YYYY-MM-DD`, amounts decimal text with four places.
 * `documentId` is the document here that has taken it, null while it is open.
 */
export interface UnknownDocument {
  readonly ledgerId: string;
  readonly number: string;
  readonly contactId: string;
  readonly currency: string;
  readonly reference: string;
  readonly issueDate: string;
  readonly subtotal: string;
  readonly lines: readonly { readonly description: string; readonly amount: string }[];
  readonly documentId: string | null;
}

/** A document here, its job, and the document of the ledger that it takes. */
export interface Adoption {
  readonly ledgerId: string;
  readonly documentId: string;
  readonly jobId: string;
}

/** The unknown documents of one organisation, for posting. */
export interface UnknownDocuments {
  /**
   * Open ones of these contacts, and those that these documents have taken. One that another
   * organisation has by now is neither taken nor waited for.
   */
  load(
    kind: UnknownKind,
    contactIds: readonly string[],
    documentIds: readonly string[],
  ): Promise<readonly UnknownDocument[]>;
  /**
   * The documents take them with their numbers. Returns the ledger's ids of those that were open.
   */
  adopt(kind: UnknownKind, adoptions: readonly Adoption[]): Promise<ReadonlySet<string>>;
  /** Records that the ledger no longer counts these: they were voided or deleted. */
  remove(kind: UnknownKind, ledgerIds: readonly string[]): Promise<void>;
}

/** Binds the unknown documents of an organisation to a pool. */
export function createUnknownDocuments(pool: Pool, organisationId: string): UnknownDocuments {
  return {
    load: async (kind, contactIds, documentIds) => {
      const { rows } = await pool.query<UnknownDocument>({
        name: `load_unknown_${tables[kind]}`,
        text: `SELECT ledger_id AS "ledgerId", number, contact_id AS "contactId", currency,
            reference, issue_date AS "issueDate", subtotal, lines, document_id AS "documentId"
          FROM unknown_documents u
          WHERE organisation_id = $1 AND kind = $2
            AND (state = 'open' AND contact_id = ANY ($3) AND NOT ${isAnothers(kind, "u.ledger_id")}
              OR document_id = ANY ($4::uuid[]))
          ORDER BY number, ledger_id`,
        values: [organisationId, kind, contactIds, documentIds],
      });
      return rows;
    },
    adopt: (kind, adoptions) =>
      inTransaction(pool, async (tx) => {
        const jobIds = adoptions.map(({ jobId }) => jobId);
        await lockInOrder(tx, organisationId, { jobIds });
        return adoptUnknown(tx, organisationId, kind, adoptions);
      }),
    remove: async (kind, ledgerIds) => {
      await pool.query({
        name: "remove_unknown_documents",
        text: `UPDATE unknown_documents SET state = 'removed'
          WHERE organisation_id = $1 AND kind = $2 AND ledger_id = ANY ($3) AND state = 'open'`,
        values: [organisationId, kind, ledgerIds],
      });
    },
  };
}

/** SQL: the prefix of a kind's numbers. An organisation's own prefix is in those of its notes. */
export const numberPrefixes: Readonly<Record<UnknownKind, string>> = {
  invoice: "o.number_prefix",
  credit_note: "'CN-' || regexp_replace(o.number_prefix, '^INV-', '')",
};

const tables = { invoice: "invoices", credit_note: "credit_notes" } as const;

const ledgerIds = { invoice: "ledger_invoice_id", credit_note: "ledger_credit_note_id" } as const;

/**
 * SQL condition: another organisation of the same tenant has the document with this id of the
 * ledger. Organisation `$1` never takes it (LEDGER-19).
 */
export const isAnothers = (kind: UnknownKind, ledgerId: string): string => `EXISTS (
  SELECT 1 FROM ledger_connections own
    JOIN ledger_connections c ON lower(c.tenant_id) = lower(own.tenant_id)
      AND c.organisation_id <> own.organisation_id
    JOIN ${tables[kind]} a ON a.organisation_id = c.organisation_id
      AND a.${ledgerIds[kind]} = ${ledgerId}
  WHERE own.organisation_id = $1)`;

/**
 * The documents take open unknown ones, with their numbers. Another document here that has such a
 * number, and that the ledger does not have, gets the next free number. The caller holds the locks
 * of the documents. Returns the ledger's ids of those that were open.
 */
export async function adoptUnknown(
  tx: Transaction,
  organisationId: string,
  kind: UnknownKind,
  adoptions: readonly Omit<Adoption, "jobId">[],
): Promise<ReadonlySet<string>> {
  const values = [
    organisationId,
    kind,
    adoptions.map(({ ledgerId }) => ledgerId),
    adoptions.map(({ documentId }) => documentId),
  ];
  const { rows } = await tx.query<{ readonly ledgerId: string; readonly number: string }>({
    name: "adopt_unknown_documents",
    text: `UPDATE unknown_documents u SET state = 'adopted', document_id = p.document_id
      FROM unnest($3::text[], $4::uuid[]) AS p(ledger_id, document_id)
      WHERE u.organisation_id = $1 AND u.kind = $2 AND u.ledger_id = p.ledger_id
        AND u.state = 'open'
      RETURNING u.ledger_id AS "ledgerId", u.number`,
    values,
  });
  const taken = new Set(rows.map(({ ledgerId }) => ledgerId));
  await renumberOthers(tx, organisationId, kind, [...taken]);
  const table = tables[kind];
  await tx.query({
    name: `number_adopted_${table}`,
    text: `UPDATE ${table} d SET number = u.number FROM unknown_documents u
      WHERE d.organisation_id = $1 AND u.organisation_id = $1 AND u.kind = $2
        AND u.ledger_id = ANY ($3) AND d.id = u.document_id AND d.number <> u.number`,
    values: [organisationId, kind, [...taken]],
  });
  return taken;
}

/**
 * Gives other documents the next numbers whose numbers are about to be taken. The ledger has none
 * of them, and refuses each under its old number.
 */
async function renumberOthers(
  tx: Transaction,
  organisationId: string,
  kind: UnknownKind,
  taken: readonly string[],
): Promise<void> {
  const table = tables[kind];
  await tx.query({
    name: `renumber_other_${table}`,
    text: `WITH other AS (
        SELECT d.id, row_number() OVER (ORDER BY d.seq) - 1 AS position
        FROM unknown_documents u JOIN ${table} d
          ON d.organisation_id = $1 AND d.number = u.number AND d.id <> u.document_id
        WHERE u.organisation_id = $1 AND u.kind = $2 AND u.ledger_id = ANY ($3)
          AND d.${ledgerIds[kind]} IS NULL
      ), counter AS (
        UPDATE document_counters c SET next = next + (SELECT count(*) FROM other)
        WHERE c.organisation_id = $1 AND c.kind = $2 AND EXISTS (SELECT 1 FROM other)
        RETURNING c.next - (SELECT count(*) FROM other) AS first
      )
      UPDATE ${table} d
      SET number = ${documentNumber(numberPrefixes[kind], "k.first + other.position")}
      FROM other, counter k, organisations o
      WHERE d.organisation_id = $1 AND d.id = other.id AND o.id = $1`,
    values: [organisationId, kind, taken],
  });
}
