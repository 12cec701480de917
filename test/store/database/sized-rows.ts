/** Thousands of copies of a subscription's rows, for tests of query plans at size. */
import { inTransaction, type Pool } from "../../../src/store/database/pool.ts";
import { copiedId, copyRows } from "../../support/row-copies.ts";

const copies = 8_000;

/** The columns of each copied table whose values are other ones in each copy, as SQL. */
const copied: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  customers: {
    id: copiedId("id"),
    code: "t.code || n",
    ledger_contact_id: "t.ledger_contact_id || n",
  },
  plans: { id: copiedId("id"), code: "t.code || n" },
  charges: { id: copiedId("id"), code: "t.code || n" },
  subscriptions: { id: copiedId("id") },
  periods: { subscription_id: copiedId("subscription_id") },
  invoices: {
    id: copiedId("id"),
    subscription_id: copiedId("subscription_id"),
    number: "t.number || '-' || n",
  },
  invoice_lines: { id: copiedId("id"), invoice_id: copiedId("invoice_id") },
  ledger_jobs: {
    id: copiedId("id"),
    subscription_id: copiedId("subscription_id"),
    invoice_id: copiedId("invoice_id"),
  },
  outbox: { object_id: copiedId("object_id") },
};

/**
 * One copy of ten is of a separate organisation. A plan for any organisation may then expect a few
 * rows of each, although one has thousands.
 */
const organisationOf = `CASE WHEN n % 10 = 0 THEN md5('other' || n)::uuid
  ELSE t.organisation_id END`;

const creditNotesText = `
INSERT INTO credit_notes (id, organisation_id, customer_id, subscription_id, number, status,
  currency, credit_note_date, subtotal, total, remaining_credit, ledger_credit_note_id)
SELECT gen_random_uuid(), organisation_id, customer_id, subscription_id, number, 'approved',
  currency, created_at, 1, 1, 1, id FROM invoices`;

// Half of the jobs are done. One ready job in a hundred has a waiting caller.
const jobsText = `
UPDATE ledger_jobs SET state = CASE seq % 2 WHEN 0 THEN 'done' ELSE 'ready' END,
  finished_at = CASE seq % 2 WHEN 0 THEN now() END,
  awaited_until = CASE WHEN seq % 100 = 1 THEN now() + interval '1 hour' END`;

const endpointText = `
INSERT INTO webhook_endpoints (id, organisation_id, url, kinds, encrypted_secret,
  encryption_key_id)
VALUES (gen_random_uuid(), $1, 'https://receiver.example', '{}', '\\x00', 'key') RETURNING id`;

const deliveriesText = `
WITH event AS (
  INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body)
  SELECT gen_random_uuid(), organisation_id, 'subscription.created', 'subscription', id, 1000, '{}'
  FROM subscriptions RETURNING id, organisation_id
)
INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id)
SELECT gen_random_uuid(), organisation_id, id, CASE WHEN organisation_id = $1 THEN $2::uuid
  ELSE organisation_id END FROM event`;

// One notification in a thousand is due.
const notificationsText = `
INSERT INTO ledger_notifications (organisation_id, kind, ledger_id, try_at)
SELECT $1, 'invoices', gen_random_uuid(),
  now() + CASE WHEN n % 1000 = 0 THEN interval '-1 hour' ELSE interval '1 hour' END
FROM generate_series(1, ${copies}) n`;

/** Ids of the copies. */
export interface SizedRows {
  readonly subscriptions: readonly string[];
  readonly invoices: readonly string[];
  readonly endpointId: string;
}

/** Copies the organisation's rows, and adds a credit note and a due delivery for each copy. */
export async function addSizedRows(pool: Pool, organisationId: string): Promise<SizedRows> {
  return inTransaction(pool, async (client) => {
    // The rows satisfy the rules of the tables, or are not read by what is tested.
    await client.query("SET LOCAL session_replication_role = replica");
    for (const [table, own] of Object.entries(copied)) {
      const values = { ...own, organisation_id: organisationOf };
      await copyRows(client, { organisationId, table, copies, rows: 1, values });
    }
    await copyRows(client, {
      organisationId,
      table: "ledger_connections",
      copies: copies / 10,
      rows: 1,
      values: { organisation_id: "md5('other' || n * 10)::uuid", tenant_id: "t.tenant_id || n" },
    });
    await client.query(notificationsText, [organisationId]);
    await client.query(creditNotesText);
    await client.query(jobsText);
    const endpoints = await client.query<{ id: string }>(endpointText, [organisationId]);
    const endpointId = endpoints.rows[0]?.id ?? "";
    await client.query(deliveriesText, [organisationId, endpointId]);
    await client.query("ANALYZE");
    const idsOf = async (table: string) => {
      const text = `SELECT id FROM ${table} WHERE organisation_id = $1 ORDER BY seq LIMIT 100`;
      const { rows } = await client.query<{ id: string }>(text, [organisationId]);
      return rows.map(({ id }) => id);
    };
    return {
      subscriptions: await idsOf("subscriptions"),
      invoices: await idsOf("invoices"),
      endpointId,
    };
  });
}
