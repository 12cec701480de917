/**
 * Voids a usage event. It is decided while no bill of its subscription can be created, so the event
 * is voided or billed and never both. USAGE-13, INVARIANT-4.
 */

import { lockToBill } from "../../billing/usage-locks.ts";
import type { Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { getUsageEvent, type StoredUsageEvent } from "../../usage/usage-events.ts";
import { type Changed, changed } from "../changes.ts";

/** The reason, and the instant by the organisation's clock. */
export interface VoidToSave {
  readonly reason: string;
  readonly now: Date;
}

/**
 * Locks the usage of the event's subscription, and returns the event. Null if the organisation has
 * no event with this id.
 */
export async function lockEvent(
  tx: Transaction,
  organisationId: string,
  eventId: string,
): Promise<StoredUsageEvent | null> {
  const stored = await getUsageEvent(tx, organisationId, eventId);
  if (stored === null) return null;
  await lockToBill(tx, [stored.subscriptionId]);
  // Read again, because a bill under way may have taken the event before the lock.
  const event = await getUsageEvent(tx, organisationId, eventId);
  if (event === null) throw new Error(`the usage event ${eventId} is gone`);
  return event;
}

/** Voids a locked event that no bill has taken. */
export async function saveVoid(
  tx: Transaction,
  organisationId: string,
  before: StoredUsageEvent,
  { reason, now }: VoidToSave,
): Promise<Changed<StoredUsageEvent>> {
  await db(tx).usageEvent.updateMany({
    where: { organisationId, eventId: before.eventId },
    data: { voidedAt: now, voidReason: reason },
  });
  const event = { ...before, voidedAt: now, voidReason: reason };
  return changed(event, {
    targetKind: "usage_event",
    // An event's id can be any text. The log finds its entries by the subscription, and shows the
    // id of the snapshot.
    targetId: before.subscriptionId,
    organisationId,
    before: logged(before),
    after: logged(event),
  });
}

function logged(event: StoredUsageEvent): object {
  const { eventId, meter, quantity, occurredAt, period, bill, voidedAt, voidReason } = event;
  const reported = { eventId, meter: meter.code, quantity, timestamp: occurredAt };
  return { ...reported, period: period.index, bill, voidedAt, voidReason };
}
