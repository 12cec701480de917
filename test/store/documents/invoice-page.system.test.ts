/**
 * A page of invoices: the same objects as their retrieval, read by a few rows at any depth, and
 * planned once. OBJECT-3, OBJECT-9, OBJECT-10
 */
import { expect } from "vitest";
import type { Invoice } from "../../../src/domain/model/invoice.ts";
import { presentInvoice } from "../../../src/present/objects.ts";
import { getThese, listPage, type PageRequest } from "../../../src/store/database/page.ts";
import { inTransaction, type Pool, type Transaction } from "../../../src/store/database/pool.ts";
import { invoiceListing } from "../../../src/store/documents/invoices.ts";
import { perFile } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { addOrganisation } from "../../support/organisation-builder.ts";
import { tables } from "../../support/rows.ts";
import { planModes, rowsRead, type SentStatement } from "../../support/rows-read.ts";

const size = 3_000;

/**
 * Invoices of every form, with none to three lines each. Their free texts have bars, quotes, and no
 * characters at all.
 */
const insertText = `
WITH invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, reference, type,
    status, currency, subtotal, total, amount_due, issue_date, due_date, period_index, period_start,
    period_end, sent, ledger_invoice_id, sync_error, created_at)
  SELECT gen_random_uuid(), $1, md5((n % 7)::text)::uuid, md5((n % 11)::text)::uuid, 'INV|' || n,
    (ARRAY['', '|', 'PO "1" \\ || 2', ' '])[n % 4 + 1], 'change',
    (ARRAY['draft', 'paid', 'voided', 'scheduled', 'not_in_external'])[n % 5 + 1], 'NZD',
    n * 0.0001, n * 1000000000.25, CASE n % 2 WHEN 0 THEN 0 ELSE n END,
    '2024-02-29'::date + n, CASE WHEN n % 3 > 0 THEN '2024-02-29'::date + n END, 0,
    CASE WHEN n % 2 = 1 THEN '2024-01-31'::date + n END,
    CASE WHEN n % 2 = 1 THEN '2024-02-29'::date + n END, n % 3 = 0,
    CASE WHEN n % 5 < 3 THEN 'led|' || n END,
    CASE WHEN n % 5 = 4 THEN 'refused | "no"' END,
    '2026-03-01T09:30:00Z'::timestamptz + n * interval '1.000477 s'
  FROM generate_series(1, $2::int) n RETURNING id, seq
)
INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind, name, description,
  units, quantity, unit_price, amount, period_start, period_end, from_units, to_units,
  days_remaining, days_in_period, charge_id, meter_id, revenue_account, tax_type, amending)
SELECT gen_random_uuid(), $1, i.id, p, k.kind, k.kind || '|', (ARRAY['', '|x|', 'é "\\'])[p + 1],
  CASE k.kind WHEN 'usage' THEN NULL ELSE p + 1 END,
  CASE k.kind WHEN 'usage' THEN 12345678901234567890.1234 END,
  CASE WHEN p < 2 THEN 12.5 END, p * 0.1,
  CASE WHEN p < 2 THEN '2024-02-01'::date END, CASE WHEN p < 2 THEN '2024-03-01'::date END,
  CASE k.kind WHEN 'proration' THEN 0 END, CASE k.kind WHEN 'proration' THEN 12 END,
  CASE k.kind WHEN 'proration' THEN 3 END, CASE k.kind WHEN 'proration' THEN 31 END,
  NULL, CASE k.kind WHEN 'usage' THEN gen_random_uuid() END, '200', NULL, i.seq % 9 = 0
FROM invoice i, generate_series(0, 2) p,
  LATERAL (SELECT (ARRAY['plan', 'proration', 'usage'])[p + 1] AS kind) k
WHERE p < i.seq % 4`;

const test = databaseTest.extend("organisations", perFile, async ({ pool }) => {
  const organisations = [await addOrganisation(pool), await addOrganisation(pool)] as const;
  await inTransaction(pool, async (client) => {
    // They need no subscriptions, which triggers and keys would ask for.
    await client.query("SET LOCAL session_replication_role = replica");
    for (const id of organisations) await client.query(insertText, [id, size]);
  });
  await pool.query("ANALYZE invoices, invoice_lines");
  return organisations;
});

/** Returns the statement that reads a page. */
async function statementOf(
  pool: Pool,
  organisationId: string,
  startingAfter: string | null,
): Promise<SentStatement> {
  let sent: SentStatement | null = null;
  const query = (statement: SentStatement) => {
    sent = statement;
    return pool.query({ text: statement.text, values: [...statement.values], rowMode: "array" });
  };
  const recording = { query } as unknown as Pool;
  await listPage(recording, organisationId, invoiceListing, [], { limit: 25, startingAfter });
  if (sent === null) throw new Error("no statement was sent");
  return sent;
}

test("pages of invoices have all invoices, newest first, as their retrievals return them", async ({
  pool,
  organisations: [organisationId],
}) => {
  const rows = await tables(pool).invoice.findMany({
    where: { organisationId },
    orderBy: { seq: "desc" },
  });
  const listed: Invoice[] = [];
  for (let startingAfter: string | null = null; ; ) {
    const at: PageRequest = { limit: 100, startingAfter };
    const page = await listPage(pool, organisationId, invoiceListing, [], at);
    listed.push(...page.data);
    if (!page.hasMore) break;
    startingAfter = page.data.at(-1)?.id ?? null;
  }
  expect(listed.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  const ids = rows.slice(0, 200).map(({ id }) => id);
  const retrieved = await getThese(pool, organisationId, invoiceListing, ids);
  const byId = new Map(retrieved.map((invoice) => [invoice.id, presentInvoice(invoice)]));
  expect(listed.slice(0, 200).map(presentInvoice)).toEqual(ids.map((id) => byId.get(id)));
});

test("a page of invoices reads a few rows at any depth", async ({
  pool,
  organisations: [organisationId],
}) => {
  const later = await tables(pool).invoice.findFirst({
    where: { organisationId },
    orderBy: { seq: "asc" },
    skip: 100,
  });
  for (const startingAfter of [null, later?.id ?? null]) {
    const statement = await statementOf(pool, organisationId, startingAfter);
    for (const mode of planModes)
      expect(await rowsRead(pool, statement, mode), mode).toBeLessThan(300);
  }
});

/** How often this connection has listed invoices with the plan that it keeps. */
async function keptPlans(client: Transaction): Promise<number> {
  const { rows } = await client.query(
    `SELECT coalesce(sum(generic_plans), 0)::int AS count FROM pg_prepared_statements
      WHERE statement LIKE '%FROM invoices t%'`,
  );
  return rows[0].count;
}

test("a page of invoices is not planned again for each request", async ({
  pool,
  organisations: [organisationId],
}) => {
  const client = await pool.connect();
  try {
    const before = await keptPlans(client);
    for (let request = 0; request < 8; request++) {
      const page = { limit: 20 + request, startingAfter: null };
      await listPage(client, organisationId, invoiceListing, [], page);
    }
    // PostgreSQL always plans the first five executions.
    expect((await keptPlans(client)) - before).toBeGreaterThanOrEqual(3);
  } finally {
    client.release();
  }
});
