/** Voiding a usage event: decided while no bill of its subscription can be made, so that it is voided or billed and never both. */

import { lockToBill } from "../../billing/usage-locks.ts";
import type { Client } from "../../documents/issue-documents.ts";
import type { Changed } from "../changes.ts";
import { getEvent, type StoredUsageEvent } from "./usage-events.ts";

/** Which event is voided, why, and when by the organisation's clock. */
export interface EventToVoid {
  readonly eventId: string;
  readonly reason: string;
  readonly now: Date;
}

/** The event as it is now; `billed` and `voided_before` changed nothing. */
export interface VoidOutcome {
  readonly kind: "voided" | "billed" | "voided_before";
  readonly event: StoredUsageEvent;
}

/** Voids the event unless a bill has taken it; null where the organisation has none with this id. */
export async function voidEvent(
  client: Client,
  organisationId: string,
  { eventId, reason, now }: EventToVoid,
): Promise<Changed<VoidOutcome | null>> {
  const seen = await getEvent(client, organisationId, eventId);
  if (seen === null) return { result: null, changes: [] };
  await lockToBill(client, [seen.subscriptionId]);
  // As it stands now that a close which was on its way is done.
  const before = await getEvent(client, organisationId, eventId);
  if (before === null) throw new Error(`the usage event ${eventId} is gone`);
  if (before.voidedAt !== null) return { result: { kind: "voided_before", event: before }, changes: [] };
  if (before.isBilled) return { result: { kind: "billed", event: before }, changes: [] };
  await client.query({
    text: "UPDATE usage_events SET voided_at = $3, void_reason = $4 WHERE organisation_id = $1 AND event_id = $2",
    values: [organisationId, eventId, now, reason],
  });
  const event = { ...before, voidedAt: now, voidReason: reason };
  const change = {
    targetKind: "usage_event",
    // An event's id is any text; its subscription is what its entries are found by.
    targetId: before.subscriptionId,
    organisationId,
    before: logged(before),
    after: logged(event),
  } as const;
  return { result: { kind: "voided", event }, changes: [change] };
}

function logged({ eventId, meter, quantity, occurredAt, period, bill, voidedAt, voidReason }: StoredUsageEvent) {
  const said = { eventId, meter: meter.code, quantity, timestamp: occurredAt };
  return { ...said, period: period.index, bill, voidedAt, voidReason };
}
