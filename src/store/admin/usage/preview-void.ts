/** Previews the void of a usage event: what its usage comes to with it and without it. ADMIN-22. */
import { type UsageSums, usageSoFar } from "../../../domain/billing/usage-so-far.ts";
import { requireVoidable, withoutEvent } from "../../../domain/usage/void-event.ts";
import type { Pool } from "../../database/pool.ts";
import { inSnapshot } from "../../database/snapshot.ts";
import { readMeterUsage } from "../../usage/read-usage.ts";
import { getUsageEvent, type StoredUsageEvent } from "../../usage/usage-events.ts";
import { stateOf } from "../previewed-state.ts";

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
