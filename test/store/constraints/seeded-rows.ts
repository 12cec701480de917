/**
 * The rows of an organisation for the tests of constraints: one of each kind, in the order in which
 * they refer to each other. They break no rule.
 */
import { randomUUID } from "node:crypto";
import type { SeededRows } from "./rows.ts";
import { billingRows, bytes, hashOf, now, type Row } from "./seeded-billing-rows.ts";

/**
 * Returns the rows: a live organisation, its subscription in its second period, and one invoice of
 * 25.00.
 */
export function rowsOf(rows: SeededRows): readonly Row[] {
  return [
    ...accessRows(rows),
    ...ledgerRows(),
    ...billingRows(rows),
    ...operatorRows(rows),
    ...webhookRows(rows),
  ];
}

function accessRows(rows: SeededRows): readonly Row[] {
  return [
    [
      "organisations",
      {
        id: rows.organisation,
        name: "Acme",
        timezone: "UTC",
        default_currency: "EUR",
        livemode: true,
      },
    ],
    ["api_keys", { id: rows.key, name: "key", key_hash: hashOf(rows), hint: "hint" }],
    [
      "idempotency_keys",
      {
        api_key_id: rows.key,
        key: "order",
        operation: "Create",
        path: "/",
        fingerprint: bytes,
        state: "running",
        owner: randomUUID(),
        lease_until: now,
        expires_at: now,
      },
    ],
  ];
}

function ledgerRows(): readonly Row[] {
  return [
    [
      "unknown_documents",
      {
        kind: "invoice",
        ledger_id: "lost",
        number: "INV-0009",
        contact_id: "contact",
        status: "draft",
        currency: "EUR",
        reference: "",
        issue_date: "2026-01-01",
        subtotal: 1,
        total: 1,
        lines: "[]",
        state: "adopted",
        document_id: randomUUID(),
      },
    ],
    [
      "ledger_connections",
      {
        kind: "xero",
        tenant_id: "tenant",
        base_url: "http://a",
        identity_url: "http://b",
        client_id: "client",
        encrypted_secret: bytes,
        encryption_key_id: "key",
      },
    ],
    ["ledger_budgets", { calls: [now], flights: [randomUUID()], flights_until: [now] }],
    ["ledger_sync_cursors", { tenant_id: "tenant", next_sync_at: now }],
    ["ledger_reference_data", { kind: "accounts", tenant_id: "tenant", next_read_at: now }],
    ["ledger_notifications", { kind: "invoices", ledger_id: "invoice" }],
    ["document_counters", { kind: "invoice" }],
    [
      "ledger_attempts",
      {
        document_id: randomUUID(),
        job_kind: "create_invoice",
        outcome: "refused",
        duration_ms: 5,
      },
    ],
    ["overviews", {}],
    ["usage_hours", { hour: now, events: 1 }],
    ["price_sheets", { name: "44136fa355b3678a1146ad16f7e8649e", content: "{}" }],
  ];
}

function operatorRows(rows: SeededRows): readonly Row[] {
  return [
    ["operators", { id: rows.operator, name: "Ada", role: "owner" }],
    [
      "operator_tokens",
      {
        id: rows.token,
        operator_id: rows.operator,
        name: "token",
        token_hash: hashOf(rows),
        hint: "hint",
      },
    ],
    [
      "console_sessions",
      {
        id: rows.session,
        operator_id: rows.operator,
        token_id: rows.token,
        session_hash: hashOf(rows),
        user_agent: "browser",
      },
    ],
    [
      "saved_views",
      {
        id: rows.view,
        operator_id: rows.operator,
        page: "invoices",
        name: "Drafts",
        search: "status=draft",
      },
    ],
    ["console_sign_in_codes", { code_hash: hashOf(rows), token_id: rows.token, expires_at: now }],
    [
      "ledger_authorisations",
      {
        ledger_connection: "connection",
        encrypted_refresh: bytes,
        encrypted_access: bytes,
        encryption_key_id: "key",
        fresh_until: now,
      },
    ],
    [
      "ledger_consents",
      {
        kind: "xero",
        operator_id: rows.operator,
        token_id: rows.token,
        state_hash: hashOf(rows),
        redirect_url: "http://localhost",
        encrypted_verifier: bytes,
        encryption_key_id: "key",
        expires_at: now,
      },
    ],
    [
      "audit_log",
      {
        id: rows.auditEntry,
        operator_id: rows.operator,
        operator_name: "Ada",
        token_id: rows.token,
        operation: "Create",
        target_kind: "organisation",
        target_id: rows.organisation,
        after: {},
        request_id: "request",
      },
    ],
  ];
}

function webhookRows(rows: SeededRows): readonly Row[] {
  return [
    [
      "published_snapshots",
      { object_kind: "customer", object_id: rows.customer, sequence: 1, object: "{}" },
    ],
    [
      "events",
      {
        id: rows.event,
        type: "customer.created",
        object_kind: "customer",
        object_id: rows.customer,
        sequence: 1,
        body: "{}",
      },
    ],
    [
      "webhook_endpoints",
      {
        id: rows.endpoint,
        url: "https://hooks.example.com",
        kinds: [],
        encrypted_secret: bytes,
        encryption_key_id: "key",
      },
    ],
    ["webhook_deliveries", { id: rows.delivery, event_id: rows.event, endpoint_id: rows.endpoint }],
    ["webhook_attempts", { delivery_id: rows.delivery, number: 1, at: now, latency_ms: 12 }],
  ];
}
