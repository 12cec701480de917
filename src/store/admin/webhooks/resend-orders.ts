/** The orders to send events by hand, and their outcomes. */
import type { DueDelivery } from "../../events/due-endpoints.ts";

/** A test event for an endpoint. `eventId` is new, or that of an earlier try of the same call. */
export interface TestToSend {
  readonly endpointId: string;
  readonly eventId: string;
}

/**
 * `due`: the endpoint's workflow must be woken. `disabled`: the endpoint is disabled. `other`: the
 * test event with that id went to another endpoint.
 */
export type ResendOutcome =
  | { readonly kind: "due"; readonly delivery: DueDelivery }
  | { readonly kind: "disabled" }
  | { readonly kind: "other" };

/**
 * The events to send to an endpoint again: those since an instant, and before `until`.
 * `includeDelivered` includes delivered ones. With `afterEvent`, only events after that one. An
 * empty list of kinds stands for all.
 */
export interface EventsToResend {
  readonly endpointId: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly kinds: readonly string[];
  readonly includeDelivered: boolean;
  readonly afterEvent: string | null;
}

/**
 * Counts of deliveries that are pending again, and of those that were added. `lastEvent`: events
 * after it remain. Null if none do.
 */
export interface ResentCounts {
  readonly resent: number;
  readonly added: number;
  readonly lastEvent: string | null;
}
