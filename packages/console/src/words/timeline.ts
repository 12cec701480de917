/** The kinds of the timeline: the group of each for the filters, and what it asks of a person. */
import type { Tone } from "../design/values/state.tsx";
import { TimelineKind } from "../gen/billing/admin/v1/subscriptions_pb.ts";

/** A group of kinds. */
export type TimelineGroup = "changes" | "money" | "ledger" | "webhooks";

/** The groups in words. */
export const timelineGroups: readonly (readonly [TimelineGroup, string])[] = [
  ["changes", "Changes"],
  ["money", "Money"],
  ["ledger", "Ledger"],
  ["webhooks", "Webhooks"],
];

const kinds: Readonly<Record<number, readonly [TimelineGroup, Tone]>> = {
  [TimelineKind.CREATED]: ["changes", "ok"],
  [TimelineKind.UNITS_CHANGED]: ["changes", "ok"],
  [TimelineKind.END_REQUESTED]: ["changes", "info"],
  [TimelineKind.RESTORED]: ["changes", "ok"],
  [TimelineKind.DEFERRED]: ["money", "info"],
  [TimelineKind.ISSUED]: ["money", "ok"],
  [TimelineKind.AMENDED]: ["money", "ok"],
  [TimelineKind.WAITING]: ["ledger", "info"],
  [TimelineKind.POSTED]: ["ledger", "ok"],
  [TimelineKind.REFUSED]: ["ledger", "bad"],
  [TimelineKind.ABANDONED]: ["ledger", "warn"],
  [TimelineKind.CREDITED]: ["money", "ok"],
  [TimelineKind.PAID]: ["money", "ok"],
  [TimelineKind.VOIDED]: ["money", "quiet"],
  [TimelineKind.DELETED]: ["money", "quiet"],
  [TimelineKind.REMOVED]: ["money", "quiet"],
  [TimelineKind.REMOVAL_REFUSED]: ["ledger", "bad"],
  [TimelineKind.KEPT]: ["money", "info"],
  [TimelineKind.ENDED]: ["changes", "quiet"],
  [TimelineKind.END_REFUSED]: ["changes", "bad"],
  [TimelineKind.PARKED]: ["money", "bad"],
  [TimelineKind.PUBLISHED]: ["webhooks", "quiet"],
  [TimelineKind.DELIVERED]: ["webhooks", "ok"],
  [TimelineKind.DELIVERY_FAILED]: ["webhooks", "bad"],
  [TimelineKind.DELIVERY_WAITING]: ["webhooks", "info"],
  [TimelineKind.DELIVERY_ENDED]: ["webhooks", "quiet"],
  [TimelineKind.OPERATOR]: ["changes", "info"],
};

/** Returns the group of a kind. */
export function groupOf(kind: TimelineKind): TimelineGroup {
  return kinds[kind]?.[0] ?? "changes";
}

/** Returns the tone of a kind. */
export function toneOf(kind: TimelineKind): Tone {
  return kinds[kind]?.[1] ?? "quiet";
}

/** The words for several neighbours of a kind, or null for a kind that is always read. */
export function foldedWords(kind: TimelineKind): string | null {
  if (kind === TimelineKind.PUBLISHED) return "events published";
  return kind === TimelineKind.DELIVERED ? "deliveries succeeded" : null;
}
