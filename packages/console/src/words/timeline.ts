/** The kinds of the timeline: what each asks of a person, and the groups of the filters. */
import type { Tone } from "../design/values/state.tsx";
import { TimelineKind } from "../gen/billing/admin/v1/subscriptions_pb.ts";

/** The groups that a reader can choose, by the word of the address. */
export const timelineGroups = [
  [undefined, "All"],
  ["money", "Money"],
  ["ledger", "Ledger"],
  ["webhooks", "Webhooks"],
  ["failed", "Failed only"],
] as const;

const tones: Readonly<Record<number, Tone>> = {
  [TimelineKind.CREATED]: "ok",
  [TimelineKind.UNITS_CHANGED]: "ok",
  [TimelineKind.END_REQUESTED]: "info",
  [TimelineKind.RESTORED]: "ok",
  [TimelineKind.DEFERRED]: "info",
  [TimelineKind.ISSUED]: "ok",
  [TimelineKind.AMENDED]: "ok",
  [TimelineKind.WAITING]: "info",
  [TimelineKind.POSTED]: "ok",
  [TimelineKind.REFUSED]: "bad",
  [TimelineKind.ABANDONED]: "warn",
  [TimelineKind.CREDITED]: "ok",
  [TimelineKind.PAID]: "ok",
  [TimelineKind.VOIDED]: "quiet",
  [TimelineKind.DELETED]: "quiet",
  [TimelineKind.REMOVED]: "quiet",
  [TimelineKind.REMOVAL_REFUSED]: "bad",
  [TimelineKind.KEPT]: "info",
  [TimelineKind.ENDED]: "quiet",
  [TimelineKind.END_REFUSED]: "bad",
  [TimelineKind.PARKED]: "bad",
  [TimelineKind.PUBLISHED]: "quiet",
  [TimelineKind.DELIVERED]: "ok",
  [TimelineKind.DELIVERY_FAILED]: "bad",
  [TimelineKind.DELIVERY_WAITING]: "info",
  [TimelineKind.DELIVERY_ENDED]: "quiet",
  [TimelineKind.OPERATOR]: "info",
};

/** Returns the tone of a kind. */
export function toneOf(kind: TimelineKind): Tone {
  return tones[kind] ?? "quiet";
}

/** The words for several neighbours of a kind, or null for a kind that is always read. */
export function foldedWords(kind: TimelineKind): string | null {
  if (kind === TimelineKind.PUBLISHED) return "events published";
  return kind === TimelineKind.DELIVERED ? "deliveries succeeded" : null;
}
