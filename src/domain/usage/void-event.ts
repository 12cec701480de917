/** Decides whether a usage event can be voided. USAGE-13. */
import { Refusal } from "../refusal.ts";

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
