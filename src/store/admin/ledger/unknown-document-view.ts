/** Documents of the ledger that a restored database does not know, as operators see them. */
import type { DocumentStatus } from "../../../domain/model/invoice.ts";
import { columns } from "../../../gen/columns.ts";
import { bool, pick, type RowOf, uuid } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";
import type { UnknownKind } from "../../ledger-jobs/unknown-documents.ts";

const { unknownDocument } = columns;

const documentRow = {
  ...pick(unknownDocument, "ledgerId", "number", "contactId", "currency", "total", "issueDate"),
  kind: unknownDocument.kind.as<UnknownKind>(),
  state: unknownDocument.state.as<"open" | "adopted" | "dismissed" | "removed">(),
  status: unknownDocument.status.as<DocumentStatus>(),
  documentId: unknownDocument.documentId,
};

/** An unknown document as operators see it. */
export const unknownRow = { ...documentRow, customerId: uuid.orNull(), isNumberTaken: bool };

/** An unknown document as operators see it. */
export type AdminUnknownDocument = RowOf<typeof unknownRow>;

/** SQL: `unknownRow` of the unknown documents `u`. `$1` is the organisation. */
export const selectUnknown = sql`
  SELECT
    ${columnsOf(sql`u`, documentRow)},
    c.id AS customer_id,
    CASE u.kind
      WHEN 'invoice' THEN EXISTS (
        SELECT 1
        FROM invoices i
        WHERE i.organisation_id = $1 AND i.number = u.number AND i.id IS DISTINCT FROM u.document_id
      )
      ELSE EXISTS (
        SELECT 1
        FROM credit_notes n
        WHERE n.organisation_id = $1 AND n.number = u.number AND n.id IS DISTINCT FROM u.document_id
      )
    END AS is_number_taken
  FROM
    unknown_documents u
    LEFT JOIN customers c ON c.organisation_id = $1 AND c.ledger_contact_id = u.contact_id
`;
