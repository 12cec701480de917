/**
 * What a retry of a document sends to the ledger. SQL, because a line's mapping is looked up in
 * several tables. ADMIN-6, ADMIN-22.
 */
import { columns } from "../../../gen/columns.ts";
import type { Transaction } from "../../database/pool.ts";
import { bool, pick, type RowOf } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { documentKinds, ofKinds } from "../../documents/document-kinds.ts";
import { stateOf } from "../previewed-state.ts";
import type { AdminDocument } from "./document-listing.ts";
import { isMapped, isMappingRefused, isNumberUsed, mappedLines } from "./renumber-and-map-lines.ts";
import { findRunning } from "./retry-documents.ts";

const lineRow = {
  ...pick(columns.invoiceLine, "name", "amount", "revenueAccount", "taxType"),
  mappedAgain: bool,
};

/** A line as a retry would send it. */
export type RetriedLine = RowOf<typeof lineRow>;

/** What a retry would send. An allocation and a pending job have no lines here. */
export interface DescribedRetry {
  readonly document: AdminDocument;
  readonly takesNextNumber: boolean;
  readonly lines: readonly RetriedLine[];
  /** The running job that an amendment waits for, as the end of a sentence. */
  readonly running: string | null;
}

const account = sql`CASE WHEN ${isMapped} THEN coalesce(m.revenue_account, l.revenue_account)
  ELSE l.revenue_account END`;
const taxType = sql`CASE WHEN ${isMapped} THEN m.tax_type ELSE l.tax_type END`;

const readLines = ofKinds((kind) =>
  query({
    name: `read_retried_${kind}_lines`,
    text: sql`
      SELECT
        l.name, l.amount, ${account} AS revenue_account, ${taxType} AS tax_type,
        (${account}, ${taxType}) IS DISTINCT FROM (l.revenue_account, l.tax_type) AS mapped_again
      FROM
        ${documentKinds[kind].lines} l
        JOIN (${mappedLines[kind]}) m ON m.id = l.id
      WHERE l.organisation_id = $1
      ORDER BY l.position
    `,
    row: lineRow,
  }),
);

/** Returns what a retry of this document would send. */
export async function describeRetry(
  tx: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<DescribedRetry> {
  const { id, kind, state, operation } = document;
  const hasLines = state === "failed" && (operation === "creation" || operation === "amendment");
  const lines = hasLines
    ? await readLines[kind](tx, organisationId, id, isMappingRefused(document))
    : [];
  const takesNextNumber = state === "failed" && operation === "creation" && isNumberUsed(document);
  const running =
    state === "failed" && operation === "amendment"
      ? await findRunning(tx, organisationId, document)
      : null;
  return { document, takesNextNumber, lines, running };
}

/** Returns the previewed state. Another attempt at a pending job is no change. */
export function retryState({ document, takesNextNumber, lines }: DescribedRetry): string {
  const { id, number, state, status, operation, invoiceId } = document;
  return stateOf([id, number, state, status, operation, invoiceId, takesNextNumber, lines]);
}
