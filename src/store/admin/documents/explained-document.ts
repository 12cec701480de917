/** Finds a document for its explanation. SQL, because a number is looked up among both kinds. */
import type { DocumentToExplain } from "../../../domain/explanation/render.ts";
import { isId } from "../../database/ids.ts";
import { uuid } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { type Executor, query } from "../../database/sql/statement.ts";
import { loadDocumentToExplain } from "../../documents/explained-documents.ts";

const findByNumber = query({
  name: "find_document_by_number",
  text: sql`
    SELECT d.id FROM invoices d WHERE d.organisation_id = $1 AND d.number = $2
    UNION ALL
    SELECT d.id FROM credit_notes d WHERE d.organisation_id = $1 AND d.number = $2
  `,
  row: { id: uuid },
});

/** Loads the document with this id or number. Null if the organisation has none. */
export async function findDocumentToExplain(
  executor: Executor,
  organisationId: string,
  idOrNumber: string,
): Promise<DocumentToExplain | null> {
  const [numbered] = isId(idOrNumber)
    ? []
    : await findByNumber(executor, organisationId, idOrNumber);
  const id = numbered?.id ?? idOrNumber;
  return (
    (await loadDocumentToExplain(executor, organisationId, "invoice", id)) ??
    (await loadDocumentToExplain(executor, organisationId, "credit_note", id))
  );
}
