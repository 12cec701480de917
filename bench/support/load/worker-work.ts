/**
 * Work that a schedule starts in the worker: renewals up to their post to the ledger, and
 * deliveries up to their record.
 */
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { type SeededEndpoint, webhookBuilder } from "../../../test/support/webhook-builder.ts";
import { startReceiver, type WebhookReceiver } from "../../../test/support/webhook-receiver.ts";
import { billingScheduleId, outboxScheduleId } from "../../../workflows/contract.ts";
import type { MeasuredSystem } from "../system.ts";

/** The time limit of the work. */
const limitMs = 240_000;

const pollMs = 50;

/** A trigger is skipped if a run is active. It is sent again after this time. */
const triggerMs = 5_000;

/** Triggers the schedule until nothing is left. Returns how much was left before. */
async function until(
  system: MeasuredSystem,
  scheduleId: string,
  left: () => Promise<number>,
): Promise<number> {
  const endMs = performance.now() + limitMs;
  let triggeredMs = Number.NEGATIVE_INFINITY;
  const first = await left();
  for (let count = first; count > 0; count = await left()) {
    const nowMs = performance.now();
    assert.ok(nowMs < endMs, `${scheduleId}: ${count} are left after ${limitMs / 1_000} s`);
    if (nowMs - triggeredMs > triggerMs) {
      await system.runSchedule(scheduleId);
      triggeredMs = nowMs;
    }
    await wait(pollMs);
  }
  return first;
}

/**
 * Waits until all that was due is renewed and all documents are posted. Returns how many were left
 * before: fewer if the schedule's own start of the minute has begun with them.
 */
export async function renewDue(system: MeasuredSystem, organisationId: string): Promise<number> {
  const left = async () => {
    const { rows } = await system.pool.query<{ left: number }>(
      `SELECT ((SELECT count(*) FROM subscriptions
          WHERE organisation_id = $1 AND due_at <= now())
        + (SELECT count(*) FROM ledger_jobs
          WHERE organisation_id = $1 AND state IN ('ready', 'sending', 'uncertain')))::int AS left`,
      [organisationId],
    );
    return rows[0]?.left ?? 0;
  };
  return until(system, billingScheduleId, left);
}

/**
 * Waits until all changes are published. Rows that a measurement inserts are published like any
 * others, which takes about as long as their insertion. A measurement would include it.
 */
export async function publishAll(system: MeasuredSystem): Promise<void> {
  const left = async () => {
    const { rows } = await system.pool.query<{ left: number }>(
      "SELECT count(*)::int AS left FROM outbox",
    );
    return rows[0]?.left ?? 0;
  };
  await until(system, outboxScheduleId, left);
}

/** An endpoint with its receiver. */
export interface Deliveries {
  readonly receiver: WebhookReceiver;
  readonly endpoint: SeededEndpoint;
  /** Adds deliveries that `deliverEvents` makes due. A batch that still runs would begin before. */
  add(events: number): Promise<unknown>;
  /** Adds delivered events until there are so many. */
  addHistory(events: number): Promise<void>;
}

const historyText = `
WITH event AS (
  INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body)
  SELECT gen_random_uuid(), $1, 'customer.updated', 'customer', gen_random_uuid(), 1, '{}'
  FROM generate_series(1, $3::int) RETURNING id
)
INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id, state, attempts,
  last_status, began_at, due_at, finished_at)
SELECT gen_random_uuid(), $1, id, $2, 'delivered', 1, 200, now(), NULL, now() FROM event`;

/** Events in one statement: far below a statement's time limit. */
const historyBatch = 5_000;

/** Creates an organisation with an endpoint that accepts everything. */
export async function startDeliveries(system: MeasuredSystem): Promise<Deliveries> {
  const receiver = await startReceiver();
  const rows = webhookBuilder(system.pool, system.encryption);
  const endpoint = await rows.endpoint(await rows.organisation(), receiver.url("/hook"));
  let history = 0;
  const addHistory = async (events: number) => {
    while (history < events) {
      const count = Math.min(historyBatch, events - history);
      await system.pool.query(historyText, [endpoint.organisationId, endpoint.id, count]);
      history += count;
    }
  };
  const add = (events: number) => rows.events([endpoint], events, "later");
  return { receiver, endpoint, add, addHistory };
}

/**
 * Makes the endpoint's deliveries due and waits until each is recorded. The first is the bench's
 * own statement: its pages are not among those of the service.
 */
export async function deliverEvents(
  system: MeasuredSystem,
  { endpoint }: Deliveries,
): Promise<void> {
  await system.pool.query(
    `UPDATE webhook_deliveries SET due_at = now()
      WHERE organisation_id = $1 AND endpoint_id = $2 AND state = 'pending'`,
    [endpoint.organisationId, endpoint.id],
  );
  const left = async () => {
    const { rows } = await system.pool.query<{ left: number }>(
      `SELECT count(*)::int AS left FROM webhook_deliveries
        WHERE organisation_id = $1 AND endpoint_id = $2 AND state = 'pending'`,
      [endpoint.organisationId, endpoint.id],
    );
    return rows[0]?.left ?? 0;
  };
  await until(system, outboxScheduleId, left);
}
