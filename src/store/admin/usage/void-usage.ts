/**
 * Voids a usage event. It is decided while no bill of its subscription can be created, so the event
 * is voided or billed and never both. USAGE-13, INVARIANT-4.
 */

import { lockToBill } from "../../billing/usage-locks.ts";
import type { Transaction } from "../../database/pool.ts";
import type { Changed } from "../changes.ts";
import { getEvent, type StoredUsageEvent } from "./usage-events.ts";

/** The event to void, the reason, and the instant by the organisation's clock. */
export interface EventToVoid {
  readonly eventId: string;
  readonly reason: string;
  readonly now: Date;
}

/** The current state of the event. `billed` and `voided_before` changed nothing. */
export interface VoidOutcome {
  readonly kind: "voided" | "billed" | "voided_before";
  readonly event: StoredUsageEvent;
}

/**
 * Voids the event unless a bill has taken it. Null if the organisation has no event with this id.
 */
export async function voidEvent(
  client: Transaction,
  organisationId: string,
  { eventId, reason, now }: EventToVoid,
): Promise<Changed<VoidOutcome | null>> {
  const seen = await getEvent(client, organisationId, eventId);
  if (seen === null) return { result: null, changes: [] };
  await lockToBill(client, [seen.subscriptionId]);
  // Read again, because a bill under way may have taken the event before the lock.
  const before = await getEvent(client, organisationId, eventId);
  if (before === null) throw new Error(`the usage event ${eventId} is gone`);
  if (before.voidedAt !== null)
    return { result: { kind: "voided_before", event: before }, changes: [] };
  if (before.isBilled) return { result: { kind: "billed", event: before }, changes: [] };
  await client.query({
    text: "UPDATE usage_events SET voided_at = $3, void_reason = $4 WHERE organisation_id = $1 AND event_id = $2",
    values: [organisationId, eventId, now, reason],
  });
  const event = { ...before, voidedAt: now, voidReason: reason };
  const change = {
    targetKind: "usage_event",
    // An event's id can be any text. The log finds its entries by the subscription.
    targetId: before.subscriptionId,
    organisationId,
    before: logged(before),
    after: logged(event),
  } as const;
  return { result: { kind: "voided", event }, changes: [change] };
}

function logged({
  eventId,
  meter,
  quantity,
  occurredAt,
  period,
  bill,
  voidedAt,
  voidReason,
}: StoredUsageEvent) {
  const said = { eventId, meter: meter.code, quantity, timestamp: occurredAt };
  return { ...said, period: period.index, bill, voidedAt, voidReason };
}
