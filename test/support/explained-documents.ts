/** Asserts that documents explain themselves, and that the explanations verify. MONEY-9. */
import { expect } from "vitest";
import { verify } from "../../packages/verify/src/verify.ts";
import type { DocumentObject } from "../../src/domain/explanation/named-facts.ts";
import { explain } from "../../src/domain/explanation/render.ts";
import type { Explanation, Unavailable } from "../../src/domain/explanation/shown.ts";
import type { Pool } from "../../src/store/database/pool.ts";
import { loadDocumentToExplain } from "../../src/store/documents/explained-documents.ts";
import { hashName } from "../../src/store/documents/line-facts.ts";
import { askTwin, isPythonHere } from "../explanations/twins.ts";

/** A document that was issued. */
interface IssuedRow {
  readonly kind: DocumentObject;
  readonly id: string;
  readonly organisation_id: string;
  readonly number: string;
}

const atOnce = 8;

/** Returns the number of the last document. Invoices and credit notes share the sequence. */
export async function lastDocument(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ last: string }>(`SELECT greatest(
    (SELECT coalesce(max(seq), 0) FROM invoices),
    (SELECT coalesce(max(seq), 0) FROM credit_notes)) AS last`);
  return rows[0]?.last ?? "0";
}

/**
 * Asserts that every document after `last` explains itself, and that both verifiers come to its
 * amounts. A document without the job that posts it was written by a test.
 */
export async function expectExplained(pool: Pool, last = "0"): Promise<void> {
  const { rows } = await pool.query<IssuedRow>(
    `SELECT 'invoice' AS kind, d.id, d.organisation_id, d.number FROM invoices d
      WHERE d.seq > $1 AND EXISTS (SELECT FROM ledger_jobs j WHERE j.invoice_id = d.id
        AND j.kind = 'create_invoice')
    UNION ALL SELECT 'credit_note', d.id, d.organisation_id, d.number FROM credit_notes d
      WHERE d.seq > $1 AND EXISTS (SELECT FROM ledger_jobs j WHERE j.credit_note_id = d.id
        AND j.kind = 'create_credit_note')`,
    [last],
  );
  const texts: string[] = [];
  const unexplained: string[] = [];
  for (let at = 0; at < rows.length; at += atOnce) {
    const some = rows.slice(at, at + atOnce);
    for (const shown of await Promise.all(some.map((row) => explanationOf(pool, row)))) {
      const text = JSON.stringify(shown);
      const verdict = await verify(text);
      if (verdict.verified) texts.push(text);
      else unexplained.push(`${shown.number}: ${verdict.at} ${verdict.why}`);
    }
  }
  expect(unexplained).toEqual([]);
  if (texts.length === 0 || !isPythonHere("the twin over the documents of a file")) return;
  const answers = await askTwin(texts);
  expect(answers.filter((answer) => !answer.startsWith("verified"))).toEqual([]);
}

/** Has the documents of an organisation, or of all, count as written by a test. */
export async function writtenByTest(pool: Pool, organisationId: string | null = null) {
  const text = "DELETE FROM ledger_jobs WHERE organisation_id = $1 OR $1 IS NULL";
  await pool.query(text, [organisationId]);
}

async function explanationOf(
  pool: Pool,
  { kind, id, organisation_id: organisationId, number }: IssuedRow,
): Promise<Explanation | Unavailable> {
  const document = await loadDocumentToExplain(pool, organisationId, kind, id);
  if (document === null) throw new Error(`${number} is not found`);
  return explain(document, hashName);
}
