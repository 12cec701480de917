/**
 * Voids a usage event, and previews that (ADMIN-22). It is decided while no bill of its
 * subscription can be created, so the event is voided or billed and never both. USAGE-13,
 * INVARIANT-4.
 */
import { type UsageSums, usageSoFar } from "../../../domain/billing/usage-so-far.ts";
import { requireVoidable, withoutEvent } from "../../../domain/usage/void-event.ts";
import { lockToBill } from "../../billing/usage-locks.ts";
import { inSnapshot, type Pool, type Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { readMeterUsage } from "../../usage/read-usage.ts";
import { getUsageEvent, type StoredUsageEvent } from "../../usage/usage-events.ts";
import { type Changed, changed } from "../changes.ts";
import { stateOf } from "../previewed-state.ts";

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

/** An event, and the usage of its meter and period with it and without it. */
export interface PreviewedVoid {
  readonly event: StoredUsageEvent;
  readonly before: UsageSums;
  readonly after: UsageSums;
  readonly currency: string;
  readonly previewedState: string;
}

/** Returns the previewed state of an event. Other usage of its period is no part of it. */
export function eventState({ eventId, bill, isBilled, voidedAt }: StoredUsageEvent): string {
  return stateOf([eventId, bill, isBilled, voidedAt]);
}

/** Previews a void. Null if there is no such event. Refuses as `requireVoidable` does. */
export function previewVoid(
  pool: Pool,
  organisationId: string,
  eventId: string,
): Promise<PreviewedVoid | null> {
  return inSnapshot(pool, async (client) => {
    const event = await getUsageEvent(client, organisationId, eventId);
    if (event === null) return null;
    requireVoidable(event);
    const { usage, currency } = await readMeterUsage(client, organisationId, event);
    const before = usageSoFar(usage, currency);
    const after = usageSoFar(withoutEvent(usage, event), currency);
    return { event, before, after, currency, previewedState: eventState(event) };
  });
}
