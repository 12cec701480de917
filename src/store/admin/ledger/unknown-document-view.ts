/** Documents of the ledger that a restored database does not know, as operators see them. */
import type { DocumentStatus } from "../../../domain/model/invoice.ts";
import type { UnknownKind } from "../../ledger-jobs/unknown-documents.ts";

/** An unknown document as operators see it. */
export interface AdminUnknownDocument {
  readonly ledgerId: string;
  readonly kind: UnknownKind;
  readonly number: string;
  readonly state: "open" | "adopted" | "dismissed" | "removed";
  readonly status: DocumentStatus;
  readonly customerId: string | null;
  readonly contactId: string;
  readonly currency: string;
  readonly total: string;
  readonly issueDate: string;
  readonly documentId: string | null;
  readonly isNumberTaken: boolean;
}

/** SQL: unknown documents `u` as operators see them. `$1` is the organisation. */
export const selectUnknown = `SELECT u.ledger_id AS "ledgerId", u.kind, u.number, u.state, u.status,
    c.id AS "customerId", u.contact_id AS "contactId", u.currency, u.total,
    u.issue_date AS "issueDate", u.document_id AS "documentId",
    CASE u.kind WHEN 'invoice' THEN EXISTS (SELECT 1 FROM invoices i
        WHERE i.organisation_id = $1 AND i.number = u.number
          AND i.id IS DISTINCT FROM u.document_id)
      ELSE EXISTS (SELECT 1 FROM credit_notes n
        WHERE n.organisation_id = $1 AND n.number = u.number
          AND n.id IS DISTINCT FROM u.document_id) END AS "isNumberTaken"
  FROM unknown_documents u LEFT JOIN customers c
    ON c.organisation_id = $1 AND c.ledger_contact_id = u.contact_id`;
