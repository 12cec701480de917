/**
 * Lists the documents that an operator's act issued. SQL: invoices and credit notes share one
 * sequence of numbers, so that one read finds both in order.
 */

import type { InvoiceType } from "../../domain/model/invoice.ts";
import { columns } from "../../gen/columns.ts";
import type { Transaction } from "../database/pool.ts";
import { bigint, pick, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";

/** A document that an act issues. `id` and `number` are null in a preview. */
export interface IssuedDocument {
  readonly kind: "invoice" | "credit_note";
  readonly id: string | null;
  readonly number: string | null;
  /** Null for a credit note. */
  readonly type: InvoiceType | null;
  readonly currency: string;
  /** A decimal with four places. */
  readonly subtotal: string;
}

const loadLast = query({
  name: "load_last_document_of_subscription",
  text: sql`
    SELECT
      greatest(
        (SELECT max(seq) FROM invoices WHERE organisation_id = $1 AND subscription_id = $2),
        (SELECT max(seq) FROM credit_notes WHERE organisation_id = $1 AND subscription_id = $2),
        0
      ) AS seq
  `,
  row: { seq: bigint },
});

/** The place of the subscription's newest document. The subscription must be locked. */
export async function lastNumber(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
): Promise<string> {
  const [row] = await loadLast(client, organisationId, subscriptionId);
  return row?.seq ?? "0";
}

const loadSince = query({
  name: "load_documents_since",
  text: sql`
    SELECT
      'invoice' AS kind,
      i.id, i.number, i.type, i.currency, i.subtotal::text AS subtotal, i.seq
    FROM invoices i
    WHERE i.organisation_id = $1 AND i.subscription_id = $2 AND i.seq > $3
    UNION ALL
    SELECT 'credit_note', n.id, n.number, NULL, n.currency, n.subtotal::text, n.seq
    FROM credit_notes n
    WHERE n.organisation_id = $1 AND n.subscription_id = $2 AND n.seq > $3
    ORDER BY seq
  `,
  row: {
    ...pick(columns.invoice, "id", "number", "currency", "seq"),
    kind: text.as<IssuedDocument["kind"]>(),
    type: columns.invoice.type.as<InvoiceType>().orNull(),
    subtotal: text,
  },
});

/** The documents that were issued since, oldest first. */
export async function issuedSince(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
  seq: string,
): Promise<readonly IssuedDocument[]> {
  const rows = await loadSince(client, organisationId, subscriptionId, seq);
  return rows.map(({ seq: _, ...document }) => document);
}
