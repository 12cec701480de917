/** Decides whether a usage event can be voided, and what usage is without it. USAGE-13. */
import type { MeterUsage } from "../billing/usage-so-far.ts";
import { parseDecimal, subtract } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";

/**
 * Returns the refusal for an id under which no event is stored. A dropped event is not found, and
 * its id stays taken (USAGE-18).
 */
export function usageEventNotFound(wasDropped: boolean): Refusal {
  const message = wasDropped
    ? "The usage event was billed, exported and dropped. Its id stays taken."
    : "There is no usage event with this id.";
  return new Refusal("usage_event_not_found", message);
}

/** What decides about an event. A document is null if none of its kind bills the event. */
export interface VoidableEvent {
  readonly voidedAt: Date | null;
  readonly voidReason: string | null;
  readonly isBilled: boolean;
  readonly invoice: { readonly number: string } | null;
  readonly creditNote: { readonly number: string } | null;
}

/** Refuses `invalid_state` for an event that is voided or billed already. */
export function requireVoidable(event: VoidableEvent): void {
  if (event.voidedAt !== null) {
    const at = event.voidedAt.toISOString();
    const message = `The event was voided already, at ${at}: ${event.voidReason}`;
    throw new Refusal("invalid_state", message);
  }
  if (event.isBilled)
    throw new Refusal("invalid_state", `The event is billed already: ${billOf(event)}.`);
}

function billOf({ invoice, creditNote }: VoidableEvent): string {
  if (invoice !== null) return `it is on invoice ${invoice.number}`;
  if (creditNote !== null) return `it is on credit note ${creditNote.number}`;
  return "its bill was issued and its amount is zero";
}

/** Returns the usage without an event of it that waits for its bill. */
export function withoutEvent(
  usage: MeterUsage,
  event: { readonly bill: number; readonly quantity: string },
): MeterUsage {
  const waiting = usage.waiting.map((one) =>
    one.bill === event.bill
      ? {
          ...one,
          events: one.events - 1n,
          quantity: subtract(one.quantity, parseDecimal(event.quantity)),
        }
      : one,
  );
  return { ...usage, waiting };
}
