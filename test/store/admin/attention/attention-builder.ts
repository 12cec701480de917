/** Makes each kind of what waits for a person happen, and mends it. */

import type { AttentionKind } from "../../../../src/store/admin/attention/attention.ts";
import { deadReason } from "../../../../src/store/events/exhaust-deliveries.ts";
import { pauseConnection } from "../../../../src/store/ledger-connection/connections.ts";
import { endedByLedger } from "../../../../src/store/ledger-connection/oauth-tokens.ts";
import type { BillingFixture } from "../../billing/billing-fixture.ts";

/** A sandbox of 10 March with a subscription whose first invoice the ledger has. */
export interface Made {
  readonly fixture: BillingFixture;
  readonly organisation: string;
  readonly subscription: string;
}

/** A case of a kind: what makes it happen, what the list shows, and what mends it. */
interface Case {
  readonly make: (made: Made) => Promise<unknown>;
  readonly shows: { objectKind: string; label: string | RegExp; reason: string };
  /** SQL with the organisation as `$1`. */
  readonly mend: string;
}

/** Runs statements with the organisation as `$1`. */
const run =
  (...texts: readonly string[]) =>
  async ({ fixture, organisation }: Made): Promise<void> => {
    for (const text of texts) await fixture.pool.query(text, [organisation]);
  };

const endpoint = `INSERT INTO webhook_endpoints (id, organisation_id, url, kinds,
    encrypted_secret, encryption_key_id)
  VALUES (gen_random_uuid(), $1, 'https://receiver.example', '{}', '\\x00', 'key')`;

const note = `WITH n AS (INSERT INTO credit_notes (id, organisation_id, customer_id,
    subscription_id, number, status, currency, credit_note_date, subtotal, total,
    remaining_credit, ledger_credit_note_id)
  SELECT gen_random_uuid(), organisation_id, customer_id, subscription_id, 'CN-0001', 'approved',
    currency, created_at, 5, 5, 5, 'note' FROM invoices WHERE organisation_id = $1
    RETURNING id, organisation_id, credit_note_date)
  INSERT INTO credit_note_lines (id, organisation_id, credit_note_id, position, name, description,
    amount, effective_date)
  SELECT gen_random_uuid(), organisation_id, id, 0, 'Credit', '', 5, credit_note_date FROM n`;

/** Every kind. A new kind does not compile without its case. */
export const attentionCases: Readonly<Record<AttentionKind, Case>> = {
  renewals_overdue: {
    make: run("UPDATE organisations SET test_clock = NULL WHERE id = $1"),
    shows: { objectKind: "organisation", label: "Sandbox", reason: "overdue" },
    mend: `UPDATE subscriptions SET due_at = now() + interval '1 day' WHERE organisation_id = $1`,
  },
  ledger_disconnected: {
    make: run(`UPDATE ledger_connections SET grant_kind = 'authorisation', encrypted_secret = NULL,
      encryption_key_id = NULL, disconnected_at = now(), disconnected_reason = '${endedByLedger}'
      WHERE organisation_id = $1`),
    shows: { objectKind: "ledger_connection", label: "Sandbox", reason: "consent_expired" },
    mend: `UPDATE ledger_connections SET disconnected_at = NULL, disconnected_reason = NULL
      WHERE organisation_id = $1`,
  },
  ledger_unauthorised: {
    make: ({ fixture, organisation }) =>
      pauseConnection(fixture.pool, organisation, 60_000, "expired"),
    shows: { objectKind: "ledger_connection", label: "Sandbox", reason: "expired" },
    mend: `UPDATE ledger_connections SET paused_until = now() - interval '5 minutes'
      WHERE organisation_id = $1`,
  },
  subscription_parked: {
    make: async (made) => {
      // Its next invoice is more than an invoice may carry.
      await run(`UPDATE subscriptions SET units = 1000000000, price_override = 999999999
        WHERE organisation_id = $1`)(made);
      await made.fixture.setClock(made.organisation, "2026-04-10");
      await made.fixture.bill(made.organisation);
    },
    shows: { objectKind: "subscription", label: "Acme", reason: "billing_failed" },
    mend: `UPDATE subscriptions SET parked_until = NULL, parked_reason = NULL,
      parked_attempts = 0 WHERE organisation_id = $1`,
  },
  document_refused: {
    make: run(
      `UPDATE invoices SET sync_error = 'Account 999 is archived' WHERE organisation_id = $1`,
      `UPDATE ledger_jobs SET state = 'refused', reason = 'account_invalid',
        message = 'Account 999 is archived', finished_at = now()
        WHERE organisation_id = $1`,
    ),
    shows: { objectKind: "invoice", label: "INV-0001", reason: "account_invalid" },
    mend: "UPDATE invoices SET sync_error = NULL WHERE organisation_id = $1",
  },
  credit_refused: {
    make: run(
      note,
      `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id,
          credit_note_id, amount, reason, message, finished_at)
        SELECT gen_random_uuid(), $1, 'allocate_credit', 'refused', i.subscription_id, i.id, n.id,
          5, 'validation', 'Not today', now()
        FROM invoices i JOIN credit_notes n ON n.organisation_id = $1
        WHERE i.organisation_id = $1`,
    ),
    shows: { objectKind: "credit_note", label: "CN-0001", reason: "validation" },
    mend: `UPDATE ledger_jobs SET state = 'abandoned'
      WHERE organisation_id = $1 AND kind = 'allocate_credit'`,
  },
  unknown_document: {
    make: run(`INSERT INTO unknown_documents (organisation_id, kind, ledger_id, number, contact_id,
        status, currency, reference, issue_date, subtotal, total, lines)
      VALUES ($1, 'invoice', 'foreign.1', 'INV-0044', 'contact', 'approved', 'NZD', '',
        '2026-03-10', 5, 5, '[]')`),
    shows: { objectKind: "unknown_document", label: "INV-0044", reason: "unknown" },
    mend: "UPDATE unknown_documents SET state = 'dismissed' WHERE organisation_id = $1",
  },
  document_drift: {
    make: run("UPDATE invoices SET ledger_subtotal = subtotal + 1 WHERE organisation_id = $1"),
    shows: { objectKind: "invoice", label: "INV-0001", reason: "amount" },
    mend: "UPDATE invoices SET ledger_subtotal = subtotal WHERE organisation_id = $1",
  },
  endpoint_disabled: {
    make: run(
      endpoint,
      `UPDATE webhook_endpoints SET status = 'disabled', disabled_at = now(),
        disabled_reason = '${deadReason}' WHERE organisation_id = $1`,
    ),
    shows: {
      objectKind: "webhook_endpoint",
      label: "https://receiver.example",
      reason: "no_success",
    },
    mend: `UPDATE webhook_endpoints SET disabled_reason = 'An operator did it'
      WHERE organisation_id = $1`,
  },
  clock_stopped: {
    make: run(`INSERT INTO clock_advances (organisation_id, started_from, target, moved_at)
      SELECT id, test_clock, test_clock + interval '1 day', now() - interval '16 minutes'
      FROM organisations WHERE id = $1`),
    shows: { objectKind: "organisation", label: "Sandbox", reason: "clock_stopped" },
    mend: "UPDATE clock_advances SET finished_at = now() WHERE organisation_id = $1",
  },
  delivery_failed: {
    make: run(
      endpoint,
      `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body)
        SELECT gen_random_uuid(), $1, 'subscription.created', 'subscription', id, 1, '{}'
        FROM subscriptions WHERE organisation_id = $1`,
      `INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id, state, due_at,
          finished_at, last_status, last_error)
        SELECT gen_random_uuid(), $1, e.id, w.id, 'exhausted', NULL, now(), 503, 'status 503'
        FROM events e JOIN webhook_endpoints w ON w.organisation_id = $1
        WHERE e.organisation_id = $1`,
    ),
    shows: {
      objectKind: "webhook_delivery",
      label: "subscription.created → https://receiver.example",
      reason: "http_503",
    },
    mend: `UPDATE webhook_deliveries SET state = 'cancelled' WHERE organisation_id = $1`,
  },
};
