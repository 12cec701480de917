/**
 * Changes what a retry of a refused document needs before it is posted again: its number, and the
 * accounts and tax types of its lines. SQL, because a number is a counter's claim and one statement
 * writes all lines.
 */
import { strict as assert } from "node:assert";
import { invalidationsOf } from "../../../domain/ledger/validation.ts";
import { newId } from "../../database/ids.ts";
import type { Transaction } from "../../database/pool.ts";
import { text } from "../../database/sql/columns.ts";
import { type Sql, sql } from "../../database/sql/sql.ts";
import { command, query } from "../../database/sql/statement.ts";
import { type DocumentKind, documentKinds, ofKinds } from "../../documents/document-kinds.ts";
import { isNeverThere } from "../../documents/document-presence.ts";
import { documentNumber } from "../../documents/document-writes.ts";
import { invalidateReferenceData } from "../../ledger-connection/reference-data.ts";
import type { AdminDocument } from "./document-listing.ts";

const reserve = ofKinds((kind) =>
  query({
    name: `reserve_${kind}_number`,
    text: sql`
      WITH
        counter AS (
          INSERT INTO document_counters AS d (organisation_id, kind, next)
          VALUES ($1, $2, 2)
          ON CONFLICT (organisation_id, kind) DO UPDATE SET next = d.next + 1
          RETURNING d.next - 1 AS reserved
        )
      SELECT ${documentNumber(kind, sql`k.reserved`)} AS number
      FROM
        counter k, organisations o
      WHERE o.id = $1
    `,
    row: { number: text },
  }),
);

/**
 * Reserves the next number of its kind, because the ledger uses the document's number for another
 * document. INVARIANT-2.
 */
export async function reserveNumber(
  tx: Transaction,
  organisationId: string,
  kind: DocumentKind,
): Promise<string> {
  const [reserved] = await reserve[kind](tx, organisationId, kind);
  assert(reserved, "a counter counts");
  return reserved.number;
}

/**
 * SQL: the lines that the ledger does not have of document $2, by the mappings that apply now: the
 * plan's, charge's or meter's, then the organisation's (DOCUMENT-5).
 */
export const mappedLines: Readonly<Record<DocumentKind, Sql>> = {
  invoice: sql`
    SELECT
      k.id,
      coalesce(c.tax_type, m.tax_type, p.tax_type, o.tax_type) AS tax_type,
      coalesce(
        c.revenue_account, m.revenue_account, p.revenue_account, o.revenue_account
      ) AS revenue_account
    FROM
      invoice_lines k
      JOIN invoices i ON i.organisation_id = $1 AND i.id = k.invoice_id
      JOIN organisations o ON o.id = i.organisation_id
      JOIN subscriptions s ON s.organisation_id = i.organisation_id AND s.id = i.subscription_id
      LEFT JOIN plans p
        ON k.kind IN ('plan', 'proration')
        AND p.organisation_id = i.organisation_id
        AND p.id = s.plan_id
      LEFT JOIN charges c ON c.organisation_id = i.organisation_id AND c.id = k.charge_id
      LEFT JOIN meters m ON m.organisation_id = i.organisation_id AND m.id = k.meter_id
    WHERE k.organisation_id = $1 AND k.invoice_id = $2 AND (k.amending OR ${isNeverThere(sql`i`)})
  `,
  credit_note: sql`
    SELECT
      k.id,
      coalesce(m.tax_type, p.tax_type, o.tax_type) AS tax_type,
      coalesce(m.revenue_account, p.revenue_account, o.revenue_account) AS revenue_account
    FROM
      credit_note_lines k
      JOIN credit_notes n ON n.organisation_id = $1 AND n.id = k.credit_note_id
      JOIN organisations o ON o.id = n.organisation_id
      JOIN subscriptions s ON s.organisation_id = n.organisation_id AND s.id = n.subscription_id
      LEFT JOIN plans p
        ON k.meter_id IS NULL AND p.organisation_id = n.organisation_id AND p.id = s.plan_id
      LEFT JOIN meters m ON m.organisation_id = n.organisation_id AND m.id = k.meter_id
    WHERE k.organisation_id = $1 AND k.credit_note_id = $2
  `,
};

/** SQL: whether line `l` takes the mapping. $3: the ledger refused an account or tax type. */
export const isMapped = sql`($3 OR l.revenue_account IS NULL)`;

const mapping = ofKinds((kind) =>
  command({
    name: `map_${kind}_lines`,
    text: sql`
      UPDATE ${documentKinds[kind].lines} l
      SET
        revenue_account = coalesce(m.revenue_account, l.revenue_account),
        tax_type = m.tax_type
      FROM (${mappedLines[kind]}) m
      WHERE l.organisation_id = $1 AND l.id = m.id AND ${isMapped}
    `,
  }),
);

/** Whether the ledger refused the document because of an account or a tax type of its lines. */
export function isMappingRefused({ reason }: AdminDocument): boolean {
  return reason === "account_invalid" || reason === "tax_invalid";
}

/** Whether the ledger has another document with the number, so that a retry takes the next one. */
export function isNumberUsed({ reason }: AdminDocument): boolean {
  return reason === "duplicate_number";
}

/**
 * Updates accounts and tax types of lines that the ledger does not have. Lines without an account
 * are updated. If the ledger refused an account or tax type, all lines are. The operator may also
 * have repaired the ledger, so its reference data is invalidated.
 */
export async function mapLines(
  tx: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<void> {
  const { id, kind, reason } = document;
  await invalidateReferenceData(tx, organisationId, invalidationsOf(reason ?? ""), "mended");
  await mapping[kind](tx, organisationId, id, isMappingRefused(document));
}

const insertJob = command({
  name: "create_retry_job",
  text: sql`
    INSERT INTO ledger_jobs
      (
        id, organisation_id, kind, state, subscription_id, invoice_id, credit_note_id,
        skip_validation
      )
    VALUES ($1, $2, $3, 'ready', $4, $5, $6, true)
  `,
});

/** Creates the job that creates the document in the ledger. Returns its id. */
export async function createJob(
  tx: Transaction,
  organisationId: string,
  { id, kind, subscriptionId }: AdminDocument,
): Promise<string> {
  const jobId = newId();
  const isInvoice = kind === "invoice";
  await insertJob(
    tx,
    jobId,
    organisationId,
    isInvoice ? "create_invoice" : "create_credit_note",
    subscriptionId,
    isInvoice ? id : null,
    isInvoice ? null : id,
  );
  return jobId;
}
