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

/** Triggers the schedule until nothing is left. */
async function until(
  system: MeasuredSystem,
  scheduleId: string,
  left: () => Promise<number>,
): Promise<void> {
  const endMs = performance.now() + limitMs;
  let triggeredMs = Number.NEGATIVE_INFINITY;
  for (let count = await left(); count > 0; count = await left()) {
    const nowMs = performance.now();
    assert.ok(nowMs < endMs, `${scheduleId}: ${count} are left after ${limitMs / 1_000} s`);
    if (nowMs - triggeredMs > triggerMs) {
      await system.runSchedule(scheduleId);
      triggeredMs = nowMs;
    }
    await wait(pollMs);
  }
}

/** Waits until all that was due is renewed and all documents are posted. */
export async function renewDue(system: MeasuredSystem, organisationId: string): Promise<void> {
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
  await until(system, billingScheduleId, left);
}

/** An endpoint with its receiver. */
export interface Deliveries {
  readonly receiver: WebhookReceiver;
  readonly endpoint: SeededEndpoint;
  add(events: number): Promise<unknown>;
}

/** Creates an organisation with an endpoint that accepts everything. */
export async function startDeliveries(system: MeasuredSystem): Promise<Deliveries> {
  const receiver = await startReceiver();
  const rows = webhookBuilder(system.pool, system.encryption);
  const endpoint = await rows.endpoint(await rows.organisation(), receiver.url("/hook"));
  return { receiver, endpoint, add: (events) => rows.events([endpoint], events) };
}

/** Waits until every delivery of the endpoint is recorded. */
export async function deliverEvents(
  system: MeasuredSystem,
  { endpoint }: Deliveries,
): Promise<void> {
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
