/** Asserts that documents explain themselves, and that the explanations verify. MONEY-9. */
import { expect } from "vitest";
import { verify } from "../../packages/verify/src/verify.ts";
import type { DocumentObject } from "../../src/domain/explanation/named-facts.ts";
import { explain } from "../../src/domain/explanation/render.ts";
import type { Pool } from "../../src/store/database/pool.ts";
import { loadDocumentToExplain } from "../../src/store/documents/explained-documents.ts";
import { hashName } from "../../src/store/documents/line-facts.ts";

/** What does not verify, and why. */
interface Unexplained {
  readonly number: string;
  readonly why: string;
}

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
 * Asserts that every document after `last` explains itself and verifies. A document without the job
 * that posts it was written by a test.
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
  const unexplained: Unexplained[] = [];
  for (let at = 0; at < rows.length; at += atOnce) {
    const found = await Promise.all(rows.slice(at, at + atOnce).map((row) => check(pool, row)));
    unexplained.push(...found.filter((one) => one !== null));
  }
  expect(unexplained).toEqual([]);
}

async function check(pool: Pool, row: IssuedRow): Promise<Unexplained | null> {
  const { kind, id, organisation_id: organisationId, number } = row;
  const document = await loadDocumentToExplain(pool, organisationId, kind, id);
  if (document === null) return { number, why: "not found" };
  const explanation = explain(document, hashName);
  if (!explanation.available) return { number, why: explanation.reason };
  const verdict = await verify(JSON.stringify(explanation));
  return verdict.verified ? null : { number, why: `${verdict.at}: ${verdict.why}` };
}
