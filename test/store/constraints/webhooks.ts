/**
 * Statements that break the constraints of outbox entries, snapshots, events, endpoints, deliveries
 * and attempts.
 */
import { randomUUID } from "node:crypto";
import type { Faults } from "./faults.ts";
import { another, change, type SeededRows } from "./rows.ts";

const nobody = "00000000-0000-0000-0000-000000000000";

const of = (a: SeededRows) => `organisation_id = '${a.organisation}'`;

/** Refused values, repeated rows, and a change of a published event. */
export function webhookFaults(a: SeededRows): Faults {
  const mark = (columns: string) =>
    `INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      VALUES ('${a.organisation}', ${columns})`;
  const snapshot = (assignments: string) => change("published_snapshots", of(a), assignments);
  const event = (columns: object) => another("events", a.event, { sequence: 2, ...columns });
  return {
    outbox_kind: [mark(`'plan', '${a.plan}', 'updated'`)],
    outbox_change: [mark(`'customer', '${a.customer}', 'restored'`)],
    published_snapshots_kind: [snapshot("object_kind = 'plan'")],
    published_snapshots_sequence: [snapshot("sequence = -1")],
    events_sequence: [event({ sequence: 0 })],
    events_body: [event({ body: "" })],
    events_sequence_key: [event({ sequence: 1 })],
    events_organisation_id_seq_key: [event({ seq: "same" })],
    events_stay: [
      change("events", a.event, `body = '{"changed": true}'`),
      change("events", a.event, "created_at = now()"),
    ],
    ...endpointFaults(a),
    ...deliveryFaults(a),
  };
}

function endpointFaults(a: SeededRows): Faults {
  const endpoint = (assignments: string) => change("webhook_endpoints", a.endpoint, assignments);
  return {
    webhook_endpoints_organisation_id_seq_key: [
      another("webhook_endpoints", a.endpoint, { seq: "same" }),
    ],
    webhook_endpoints_url: [endpoint("url = ''"), endpoint("url = repeat('x', 2049)")],
    webhook_endpoints_kinds: [endpoint("kinds = NULL")],
    webhook_endpoints_status: [endpoint("status = 'paused'")],
    webhook_endpoints_disabled: [
      endpoint("status = 'disabled'"),
      endpoint("status = 'disabled', disabled_at = now()"),
      endpoint("status = 'disabled', disabled_reason = 'Gone'"),
      endpoint("disabled_at = now()"),
      endpoint("disabled_reason = 'Gone'"),
    ],
    webhook_endpoints_previous: [
      endpoint("encrypted_previous = '\\x00'"),
      endpoint("previous_key_id = 'key'"),
      endpoint("encrypted_previous = '\\x00', previous_until = now()"),
    ],
    webhook_endpoints_failures: [
      endpoint("failures = -1"),
      endpoint("failures = 1"),
      endpoint("failing_since = now()"),
      endpoint("open_until = now()"),
    ],
  };
}

function deliveryFaults(a: SeededRows): Faults {
  const delivery = (assignments: string) => change("webhook_deliveries", a.delivery, assignments);
  const attempt = (assignments: string) =>
    change("webhook_attempts", `delivery_id = '${a.delivery}'`, assignments);
  const second = { id: randomUUID() };
  const other = `${another("webhook_endpoints", a.endpoint, second)}; `;
  return {
    webhook_deliveries_event_id_endpoint_id_key: [another("webhook_deliveries", a.delivery)],
    webhook_deliveries_organisation_id_seq_key: [
      other + another("webhook_deliveries", a.delivery, { endpoint_id: second.id, seq: "same" }),
    ],
    webhook_deliveries_state: [delivery("state = 'odd', due_at = NULL, finished_at = now()")],
    webhook_deliveries_attempts: [delivery("attempts = -1")],
    webhook_deliveries_finished: [
      delivery("due_at = NULL"),
      delivery("finished_at = now()"),
      delivery("state = 'delivered'"),
      delivery("state = 'delivered', due_at = NULL"),
      delivery("state = 'delivered', finished_at = now()"),
    ],
    webhook_attempts_number: [attempt("number = 0")],
    webhook_attempts_latency: [attempt("latency_ms = -1")],
    webhook_attempts_answer: [attempt("answer = repeat('x', 1025)")],
  };
}

/** Rows of organisation A that refer to rows of organisation B, or to no row. */
export function webhookTenantFaults(a: SeededRows, b: SeededRows): Faults {
  const delivery = (columns: Readonly<Record<string, unknown>>) =>
    another("webhook_deliveries", a.delivery, columns);
  return {
    published_snapshots_organisation_id_fkey: [
      another("published_snapshots", of(a), { organisation_id: nobody }),
    ],
    events_organisation_id_fkey: [another("events", a.event, { organisation_id: nobody })],
    webhook_endpoints_organisation_id_fkey: [
      another("webhook_endpoints", a.endpoint, { organisation_id: nobody }),
    ],
    webhook_deliveries_organisation_id_event_id_fkey: [delivery({ event_id: b.event })],
    webhook_deliveries_organisation_id_endpoint_id_fkey: [delivery({ endpoint_id: b.endpoint })],
    webhook_attempts_organisation_id_delivery_id_fkey: [
      another("webhook_attempts", of(a), { delivery_id: b.delivery, number: 2 }),
    ],
  };
}
