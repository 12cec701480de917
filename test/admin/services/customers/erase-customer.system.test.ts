/** Erasing a customer's personal data: no table has it afterwards. Documents stay. CUSTOMER-7 */
import { expect } from "vitest";
import { verify } from "../../../../packages/verify/src/verify.ts";
import { untilPosted } from "../../../faults/ledger-documents.ts";
import { reusedSystemTest as test } from "../../../support/fixtures.ts";
import { publishAll } from "../../../support/published-events.ts";
import { tables } from "../../../support/rows.ts";
import { type TestSystem, until } from "../../../support/system.ts";
import { askWith } from "../request.ts";

const person = {
  code: "ZQ-1",
  name: "Quixotic Zeppelins",
  company_name: "Zeppelin Holdings",
  first_name: "Zebediah",
  last_name: "Quillfeather",
  email: "zebediah@quillfeather.example",
};
const traces = Object.values(person)
  .slice(1)
  .concat("Renamed Zeppelins")
  .map((value) => value.toLowerCase());

/** The columns that contain one of these texts, over every table: text, JSON and bytes. */
async function columnsWith({ pool }: TestSystem, texts: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ table: string; column: string; type: string }>(
    `SELECT c.relname AS table, a.attname AS column, format_type(a.atttypid, NULL) AS type
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
        AND format_type(a.atttypid, NULL) IN ('text', 'text[]', 'jsonb', 'json', 'bytea')`,
  );
  expect(rows.length).toBeGreaterThan(100);
  const found: string[] = [];
  for (const { table, column, type } of rows) {
    const value = type === "bytea" ? `encode("${column}", 'escape')` : `"${column}"::text`;
    const { rowCount } = await pool.query(
      `SELECT 1 FROM "${table}"
        WHERE EXISTS (SELECT 1 FROM unnest($1::text[]) t WHERE strpos(lower(${value}), t) > 0)
        LIMIT 1`,
      [texts],
    );
    if (rowCount !== 0) found.push(`${table}.${column}`);
  }
  return found.sort();
}

test("no table has a customer's personal data after an erasure", async ({ system }) => {
  const admin = askWith(system, await system.operator("admin", "Ed"));
  const { organisationId: organisation, apiKey: key } = await system.organisation();
  await system.pool.query(
    `INSERT INTO webhook_endpoints (id, organisation_id, url, kinds, encrypted_secret,
      encryption_key_id, status, disabled_reason, disabled_at)
      VALUES (gen_random_uuid(), $1, 'https://receiver.example', '{}', 'secret', 'key',
        'disabled', 'by hand', now())`,
    [organisation],
  );
  const asked = { key, idempotencyKey: "create" };
  const created = await system.ask("POST", "/v1/customers", { ...asked, body: person });
  expect(created.status, created.text).toBe(201);
  const { id } = created.json;
  const own = { organisation, id };
  const body = { customer_code: person.code, plan_code: "team", units: 3 };
  const subscription = await system.ask("POST", "/v1/subscriptions", {
    key,
    idempotencyKey: "subscribe",
    body,
  });
  expect(subscription.status, subscription.text).toBe(201);
  const search = new URLSearchParams({ email: person.email }).toString();
  const view = { organisation, page: "customers", name: "One", search };
  await admin.done("SavedViewService/SaveView", view);
  expect(await admin.refused("CustomerService/EraseCustomer", own)).toBe("invalid_state");
  await admin.done("CustomerService/DeactivateCustomer", own, { idempotencyKey: "deactivate" });
  await publishAll(system.pool, organisation);
  // As if a person had renamed the contact, and as if the ledger had named it in a refusal.
  const texts = [
    `UPDATE customers SET name = 'Renamed Zeppelins', company_name = 'Zeppelin Holdings',
      ledger_updated_at = now() WHERE organisation_id = $1 AND id = $2`,
    `UPDATE invoices SET sync_error = 'Contact Quixotic Zeppelins is archived.'
      WHERE organisation_id = $1 AND customer_id = $2`,
    `UPDATE ledger_jobs SET message = 'Contact Quixotic Zeppelins is archived.',
      reason = 'not read: Quixotic Zeppelins'
      WHERE organisation_id = $1 AND customer_id = $2`,
  ];
  for (const text of texts) await system.pool.query(text, [organisation, id]);
  await publishAll(system.pool, organisation);
  const end = await system.ask("POST", `/v1/subscriptions/${subscription.json.id}/end`, {
    key,
    idempotencyKey: "end",
    body: { when: "now" },
  });
  expect(end.status, end.text).toBe(200);
  await untilPosted(system, organisation);
  expect(await columnsWith(system, traces)).toEqual([
    "audit_log.after",
    "audit_log.before",
    "customers.company_name",
    "customers.email",
    "customers.first_name",
    "customers.last_name",
    "customers.name",
    "events.body",
    "idempotency_keys.response",
    "invoices.sync_error",
    "ledger_jobs.message",
    "ledger_jobs.reason",
    "published_snapshots.object",
    "saved_views.search",
  ]);
  const invoicePath = `/v1/invoices/${subscription.json.invoice.id}`;
  const explained = () => system.ask("GET", `${invoicePath}/explanation`, { key });
  const [before, explainedBefore] = [
    await system.ask("GET", invoicePath, { key }),
    await explained(),
  ];

  const erased = await admin.done("CustomerService/EraseCustomer", own);

  expect(erased.customer).toMatchObject({ id, name: "erased", email: "erased@erased.invalid" });
  expect(await columnsWith(system, traces)).toEqual([]);
  expect(await admin.lastEntry()).toMatchObject({
    operation: "billing.admin.v1.CustomerService/EraseCustomer",
    target: id,
    after: { status: "inactive" },
  });
  // The relay publishes what was changed, and brings nothing back.
  await publishAll(system.pool, organisation);
  expect(await columnsWith(system, traces)).toEqual([]);
  const after = await system.ask("GET", invoicePath, { key });
  const { ledger: _before, ...documentBefore } = before.json;
  const { ledger: _after, ...documentAfter } = after.json;
  expect(documentAfter).toEqual(documentBefore);
  // Amounts explain themselves as before, by facts that never were personal.
  const { text } = await explained();
  expect(text).toBe(explainedBefore.text);
  expect(await verify(text)).toEqual({ verified: true, lines: 1 });
  expect(traces.filter((trace) => text.toLowerCase().includes(trace))).toEqual([]);

  // A repeat changes nothing, and nothing brings the customer back.
  const entry = await admin.lastEntry();
  expect(await admin.done("CustomerService/EraseCustomer", own)).toEqual(erased);
  expect(await admin.lastEntry()).toEqual(entry);
  expect(await admin.refused("CustomerService/ActivateCustomer", own)).toBe("invalid_state");
  await system.pool.query(
    `INSERT INTO ledger_notifications (organisation_id, kind, ledger_id)
      SELECT organisation_id, 'contacts', ledger_contact_id FROM customers
      WHERE organisation_id = $1 AND id = $2`,
    [organisation, id],
  );
  await admin.done("LedgerSyncService/SyncLedger", { organisation });
  await until("the contact was read", async () => {
    const where = { organisationId: organisation };
    return (await tables(system.pool).ledgerNotification.count({ where })) === 0;
  });
  expect(await columnsWith(system, traces)).toEqual([]);
  const other = await admin.refused("CustomerService/EraseCustomer", { ...own, id: organisation });
  expect(other).toBe("customer_not_found");
});
