/**
 * Voids a usage event. It is decided while no bill of its subscription can be created, so the event
 * is voided or billed and never both. USAGE-13, INVARIANT-4.
 */

import { lockToBill } from "../../billing/usage-locks.ts";
import { db } from "../../database/client.ts";
import type { Transaction } from "../../database/pool.ts";
import { type Changed, changed } from "../changes.ts";
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
  tx: Transaction,
  organisationId: string,
  { eventId, reason, now }: EventToVoid,
): Promise<Changed<VoidOutcome | null>> {
  const stored = await getEvent(tx, organisationId, eventId);
  if (stored === null) return changed(null);
  await lockToBill(tx, [stored.subscriptionId]);
  // Read again, because a bill under way may have taken the event before the lock.
  const before = await getEvent(tx, organisationId, eventId);
  if (before === null) throw new Error(`the usage event ${eventId} is gone`);
  if (before.voidedAt !== null) return changed({ kind: "voided_before", event: before });
  if (before.isBilled) return changed({ kind: "billed", event: before });
  await db(tx).usageEvent.updateMany({
    where: { organisationId, eventId },
    data: { voidedAt: now, voidReason: reason },
  });
  const event = { ...before, voidedAt: now, voidReason: reason };
  return changed<VoidOutcome>(
    { kind: "voided", event },
    {
      targetKind: "usage_event",
      // An event's id can be any text. The log finds its entries by the subscription.
      targetId: before.subscriptionId,
      organisationId,
      before: logged(before),
      after: logged(event),
    },
  );
}

function logged(event: StoredUsageEvent): object {
  const { eventId, meter, quantity, occurredAt, period, bill, voidedAt, voidReason } = event;
  const reported = { eventId, meter: meter.code, quantity, timestamp: occurredAt };
  return { ...reported, period: period.index, bill, voidedAt, voidReason };
}
