/** Two organisations with a row of every kind, for tests of what the database refuses, and SQL that changes one of them. */
import { createHash, randomUUID } from "node:crypto";
import type pg from "pg";

/** The ids of an organisation's rows: one of each kind. */
export interface SeededRows {
  readonly organisation: string;
  readonly key: string;
  readonly customer: string;
  readonly plan: string;
  readonly tieredPlan: string;
  readonly charge: string;
  readonly meter: string;
  readonly subscription: string;
  readonly invoice: string;
  readonly line: string;
  readonly creditNote: string;
  readonly creditNoteLine: string;
  readonly allocation: string;
  readonly invoiceOperation: string;
  readonly contactOperation: string;
  readonly amendment: string;
  readonly creditNoteOperation: string;
  readonly allocationOperation: string;
  readonly deferredLine: string;
  readonly unitChange: string;
  readonly ending: string;
  readonly restoration: string;
  readonly operator: string;
  readonly token: string;
  readonly auditEntry: string;
  readonly event: string;
  readonly endpoint: string;
  readonly delivery: string;
}

/** New ids for an organisation. */
export function newRows(): SeededRows {
  return {
    organisation: randomUUID(),
    key: randomUUID(),
    customer: randomUUID(),
    plan: randomUUID(),
    tieredPlan: randomUUID(),
    charge: randomUUID(),
    meter: randomUUID(),
    subscription: randomUUID(),
    invoice: randomUUID(),
    line: randomUUID(),
    creditNote: randomUUID(),
    creditNoteLine: randomUUID(),
    allocation: randomUUID(),
    invoiceOperation: randomUUID(),
    contactOperation: randomUUID(),
    amendment: randomUUID(),
    creditNoteOperation: randomUUID(),
    allocationOperation: randomUUID(),
    deferredLine: randomUUID(),
    unitChange: randomUUID(),
    ending: randomUUID(),
    restoration: randomUUID(),
    operator: randomUUID(),
    token: randomUUID(),
    auditEntry: randomUUID(),
    event: randomUUID(),
    endpoint: randomUUID(),
    delivery: randomUUID(),
  };
}

/** Writes the rows, which break no rule: a live organisation, its subscription in its second period, one invoice of 25.00. */
export async function seed(client: pg.Client, rows: SeededRows): Promise<void> {
  const hash = createHash("sha256").update(rows.key).digest("hex");
  await client.query(`
BEGIN;
INSERT INTO organisations (id, name, timezone, default_currency, livemode) VALUES ('${rows.organisation}', 'Acme', 'UTC', 'EUR', true);
INSERT INTO api_keys (id, organisation_id, name, key_hash, hint) VALUES ('${rows.key}', '${rows.organisation}', 'key', '\\x${hash}', 'hint');
INSERT INTO idempotency_keys (api_key_id, key, organisation_id, operation, path, fingerprint, state, owner, lease_until, expires_at)
  VALUES ('${rows.key}', 'order', '${rows.organisation}', 'Create', '/', '\\x00', 'running', gen_random_uuid(), now(), now());
INSERT INTO ledger_connections (organisation_id, kind, tenant_id, base_url, identity_url, client_id, encrypted_secret, encryption_key_id)
  VALUES ('${rows.organisation}', 'xero', 'tenant', 'http://a', 'http://b', 'client', '\\x00', 'key');
INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until)
  VALUES ('${rows.organisation}', ARRAY[now()], ARRAY[gen_random_uuid()], ARRAY[now()]);
INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at) VALUES ('${rows.organisation}', 'tenant', now());
INSERT INTO ledger_reference_data (organisation_id, kind, tenant_id, next_read_at) VALUES ('${rows.organisation}', 'accounts', 'tenant', now());
INSERT INTO ledger_notifications (organisation_id, kind, ledger_id) VALUES ('${rows.organisation}', 'invoices', 'invoice');
INSERT INTO document_counters (organisation_id, kind) VALUES ('${rows.organisation}', 'invoice');
INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
  VALUES ('${rows.customer}', '${rows.organisation}', 'ACME', 'Acme', 'a@acme.example', 'active', 'contact');
INSERT INTO plans (id, organisation_id, code, name, type, currency, price, status) VALUES
  ('${rows.plan}', '${rows.organisation}', 'team', 'Team', 'per_unit', 'EUR', 12.5, 'active'),
  ('${rows.tieredPlan}', '${rows.organisation}', 'growth', 'Growth', 'tiered', 'EUR', 0, 'active');
INSERT INTO plan_tiers (organisation_id, plan_id, position, up_to, unit_price) VALUES ('${rows.organisation}', '${rows.tieredPlan}', 0, 5, 7);
INSERT INTO charges (id, organisation_id, code, name, currency, price, status)
  VALUES ('${rows.charge}', '${rows.organisation}', 'setup', 'Setup', 'EUR', 250, 'active');
INSERT INTO meters (id, organisation_id, code, name, unit_label, status)
  VALUES ('${rows.meter}', '${rows.organisation}', 'api-calls', 'API calls', 'call', 'active');
INSERT INTO plan_meters (organisation_id, plan_id, position, meter_id, type, price) VALUES
  ('${rows.organisation}', '${rows.plan}', 0, '${rows.meter}', 'per_unit', 0.5),
  ('${rows.organisation}', '${rows.tieredPlan}', 0, '${rows.meter}', 'tiered', 0);
INSERT INTO plan_meter_tiers (organisation_id, plan_id, meter_id, position, unit_price)
  VALUES ('${rows.organisation}', '${rows.tieredPlan}', '${rows.meter}', 0, 0.5);
INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency, interval_unit, interval_count, timezone, start_date,
    billing_day, current_period, renewal_date, units, minimum_units, discount_percent, due_at, request_hash, usage_bill, usage_billed)
  VALUES ('${rows.subscription}', '${rows.organisation}', '${rows.customer}', '${rows.plan}', 'active', 'EUR', 'month', 1, 'UTC', '2026-01-15',
    15, 1, '2026-03-15', 2, 0, 0, '2026-03-15', '\\x00', 1, 1);
INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date, end_date, billed_units) VALUES
  ('${rows.organisation}', '${rows.subscription}', 0, NULL, '2026-01-15', '2026-02-15', 2),
  ('${rows.organisation}', '${rows.subscription}', 1, 0, '2026-02-15', '2026-03-15', 2);
INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, type, status, currency, subtotal, total, amount_due, issue_date,
    period_index, period_start, period_end, ledger_invoice_id)
  VALUES ('${rows.invoice}', '${rows.organisation}', '${rows.customer}', '${rows.subscription}', 'INV-0001', 'first', 'draft', 'EUR', 25, 25, 25,
    '2026-01-15', 0, '2026-01-15', '2026-02-15', 'ledger');
INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind, name, description, units, unit_price, amount, period_start, period_end)
  VALUES ('${rows.line}', '${rows.organisation}', '${rows.invoice}', 0, 'plan', 'Team', '2 × 12.5000', 2, 12.5, 25, '2026-01-15', '2026-02-15');
INSERT INTO credit_notes (id, organisation_id, customer_id, subscription_id, number, status, currency, credit_note_date, subtotal, total,
    remaining_credit, ledger_credit_note_id)
  VALUES ('${rows.creditNote}', '${rows.organisation}', '${rows.customer}', '${rows.subscription}', 'CN-0001', 'approved', 'EUR', now(), 5, 5, 4, 'ledger');
INSERT INTO credit_note_lines (id, organisation_id, credit_note_id, position, name, description, amount, effective_date)
  VALUES ('${rows.creditNoteLine}', '${rows.organisation}', '${rows.creditNote}', 0, 'Team', '2 to 1 seats', 5, now());
INSERT INTO allocations (id, organisation_id, credit_note_id, invoice_id, amount, date, status, sync_status)
  VALUES ('${rows.allocation}', '${rows.organisation}', '${rows.creditNote}', '${rows.invoice}', 1, now(), 'active', 'synced');
INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id)
  VALUES ('${rows.invoiceOperation}', '${rows.organisation}', 'create_invoice', 'ready', '${rows.subscription}', '${rows.invoice}');
INSERT INTO ledger_jobs (id, organisation_id, kind, state, customer_id)
  VALUES ('${rows.contactOperation}', '${rows.organisation}', 'create_contact', 'ready', '${rows.customer}');
INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, credit_note_id, amount) VALUES
  ('${rows.amendment}', '${rows.organisation}', 'amend_invoice', 'ready', '${rows.subscription}', '${rows.invoice}', NULL, NULL),
  ('${rows.creditNoteOperation}', '${rows.organisation}', 'create_credit_note', 'ready', '${rows.subscription}', NULL, '${rows.creditNote}', NULL),
  ('${rows.allocationOperation}', '${rows.organisation}', 'allocate_credit', 'ready', '${rows.subscription}', '${rows.invoice}', '${rows.creditNote}', 4);
INSERT INTO deferred_lines (id, organisation_id, subscription_id, period_index, name, description, amount, period_start, period_end, from_units,
    to_units, days_remaining, days_in_period)
  VALUES ('${rows.deferredLine}', '${rows.organisation}', '${rows.subscription}', 1, 'Team', '2 to 3 seats', 6.25, '2026-03-01', '2026-03-15', 2, 3, 14, 28);
INSERT INTO unit_changes (id, organisation_id, subscription_id, from_units, to_units, invoice_id, credit_note_id, deferred, job_ids, request_hash)
  VALUES ('${rows.unitChange}', '${rows.organisation}', '${rows.subscription}', 2, 3, '${rows.invoice}', '${rows.creditNote}', false,
    ARRAY['${rows.amendment}']::uuid[], '\\x${hash}');
INSERT INTO terminations (id, organisation_id, subscription_id, end_when, request_hash)
  VALUES ('${rows.ending}', '${rows.organisation}', '${rows.subscription}', 'now', '\\x${hash}');
INSERT INTO removals (organisation_id, termination_id, step, invoice_id, state)
  VALUES ('${rows.organisation}', '${rows.ending}', 0, '${rows.invoice}', 'waiting');
INSERT INTO restorations (id, organisation_id, subscription_id, job_ids, request_hash)
  VALUES ('${rows.restoration}', '${rows.organisation}', '${rows.subscription}', '{}', '\\x${hash}');
INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index, bill, quantity, occurred_at) VALUES
  ('${rows.organisation}', 'evt-1', '${rows.subscription}', '${rows.meter}', 0, 0, 10, '2026-02-01'),
  ('${rows.organisation}', 'evt-2', '${rows.subscription}', '${rows.meter}', 1, 1, 3, '2026-03-01');
INSERT INTO usage_bills (organisation_id, subscription_id, bill, period_index, meter_id, events, quantity, priced, amount, invoice_id)
  VALUES ('${rows.organisation}', '${rows.subscription}', 0, 0, '${rows.meter}', 1, 10, 10, 5, '${rows.invoice}');
INSERT INTO clock_advances (organisation_id, started_from, target) VALUES ('${rows.organisation}', '2026-03-01', '2026-04-01');
INSERT INTO operators (id, name, role) VALUES ('${rows.operator}', 'Ada', 'owner');
INSERT INTO operator_tokens (id, operator_id, name, token_hash, hint) VALUES ('${rows.token}', '${rows.operator}', 'token', '\\x${hash}', 'hint');
INSERT INTO ledger_authorisations (organisation_id, ledger_connection, encrypted_refresh, encrypted_access, encryption_key_id, fresh_until)
  VALUES ('${rows.organisation}', 'connection', '\\x00', '\\x00', 'key', now());
INSERT INTO ledger_consents (organisation_id, operator_id, token_id, state_hash, redirect_url, encrypted_verifier, encryption_key_id, expires_at)
  VALUES ('${rows.organisation}', '${rows.operator}', '${rows.token}', '\\x${hash}', 'http://localhost', '\\x00', 'key', now());
INSERT INTO audit_log (id, operator_id, operator_name, token_id, operation, organisation_id, target_kind, target_id, after, request_id)
  VALUES ('${rows.auditEntry}', '${rows.operator}', 'Ada', '${rows.token}', 'Create', '${rows.organisation}', 'organisation',
    '${rows.organisation}', '{}', 'request');
INSERT INTO published_snapshots (organisation_id, object_kind, object_id, sequence, object)
  VALUES ('${rows.organisation}', 'customer', '${rows.customer}', 1, '{}');
INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body)
  VALUES ('${rows.event}', '${rows.organisation}', 'customer.created', 'customer', '${rows.customer}', 1, '{}');
INSERT INTO webhook_endpoints (id, organisation_id, url, kinds, encrypted_secret, encryption_key_id)
  VALUES ('${rows.endpoint}', '${rows.organisation}', 'https://hooks.example.com', '{}', '\\x00', 'key');
INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id)
  VALUES ('${rows.delivery}', '${rows.organisation}', '${rows.event}', '${rows.endpoint}');
INSERT INTO webhook_attempts (organisation_id, delivery_id, number, at, latency_ms)
  VALUES ('${rows.organisation}', '${rows.delivery}', 1, now(), 12);
COMMIT`);
}

/** SQL that sets columns of one row; `where` is its id, or a condition. */
export function change(table: string, where: string, assignments: string): string {
  return `UPDATE ${table} SET ${assignments} WHERE ${conditionOf(where)}`;
}

/** Tables whose rows have an id of their own, and those that count their rows. */
const counted = [
  "organisations",
  "api_keys",
  "operators",
  "operator_tokens",
  "audit_log",
  "customers",
  "plans",
  "charges",
  "meters",
  "subscriptions",
  "invoices",
  "credit_notes",
  "ledger_jobs",
  "deferred_lines",
  "unit_changes",
  "events",
  "webhook_endpoints",
  "webhook_deliveries",
];
const withId = [...counted, "invoice_lines", "credit_note_lines", "allocations"];

/** The table whose sequence counts the rows: one sequence counts both kinds of documents. */
const countedBy = (table: string) => (table === "credit_notes" ? "invoices" : table);

/** SQL that adds a row like that one with another id and place in the order, except for these columns. */
export function another(
  table: string,
  where: string,
  columns: Readonly<Record<string, unknown>> = {},
): string {
  const own = withId.includes(table) && columns.id === undefined ? { id: randomUUID() } : {};
  const json = JSON.stringify({ ...own, ...columns }).replaceAll("'", "''");
  const place =
    counted.includes(table) && columns.seq === undefined
      ? ` || jsonb_build_object('seq', nextval(pg_get_serial_sequence('${countedBy(table)}', 'seq')))`
      : columns.seq === "same"
        ? " - 'seq'"
        : "";
  return `INSERT INTO ${table} SELECT (jsonb_populate_record(t, '${json}'::jsonb${place})).* FROM ${table} t WHERE ${conditionOf(where)}`;
}

function conditionOf(where: string): string {
  return where.includes(" ") ? where : `id = '${where}'`;
}
