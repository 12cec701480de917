/** Checks that everything acknowledged exists exactly once, here and in the ledger. */
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";

/** The longest wait for documents whose outcome was unknown when their creation was answered. */
const postingLimitMs = 30_000;

/** Acknowledged invoices by their subscription. */
type Acknowledged = ReadonlyMap<string, string>;

/**
 * Rejects unless every acknowledged subscription has one invoice and one ledger document, and no
 * others exist.
 */
export async function requirePostedOnce(
  pool: pg.Pool,
  { organisationId, tenantId }: CreatedOrganisation,
  acknowledged: Acknowledged,
): Promise<void> {
  await untilPosted(pool, organisationId);
  const { rows } = await pool.query<{
    subscription: string;
    invoices: string[];
    documents: string[];
  }>(
    `SELECT s.id AS subscription, array_agg(i.id::text) AS invoices,
      array_agg(d.invoice_id::text) AS documents
      FROM subscriptions s LEFT JOIN invoices i ON i.organisation_id = s.organisation_id
        AND i.subscription_id = s.id
      LEFT JOIN demo_ledger.invoices d ON d.tenant_id::text = $2 AND d.number = i.number
        AND d.invoice_id::text = i.ledger_invoice_id
      WHERE s.organisation_id = $1 GROUP BY s.id`,
    [organisationId, tenantId],
  );
  assert.equal(rows.length, acknowledged.size, "subscriptions are those acknowledged");
  for (const { subscription, invoices, documents } of rows) {
    assert.deepEqual(
      invoices,
      [acknowledged.get(subscription)],
      `subscription ${subscription} has its one invoice`,
    );
    assert(
      documents.length === 1 && documents[0] !== null,
      `subscription ${subscription} has its one document`,
    );
  }
  const ledger = await pool.query("SELECT 1 FROM demo_ledger.invoices WHERE tenant_id::text = $1", [
    tenantId,
  ]);
  assert.equal(ledger.rows.length, acknowledged.size, "the ledger has no other documents");
}

async function untilPosted(pool: pg.Pool, organisationId: string): Promise<void> {
  const endMs = performance.now() + postingLimitMs;
  for (;;) {
    const { rows } = await pool.query(
      `SELECT 1 FROM ledger_jobs WHERE organisation_id = $1
        AND state IN ('ready', 'sending', 'uncertain') LIMIT 1`,
      [organisationId],
    );
    if (rows.length === 0) return;
    assert(performance.now() < endMs, "every waiting document is posted");
    await wait(100);
  }
}
