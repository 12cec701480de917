/** What waits for a person, in words. */
import type { Tone } from "../design/values/state.tsx";
import { AttentionKind, AttentionSeverity } from "../gen/billing/admin/v1/attention_pb.ts";
import { wordOf } from "./choices.ts";

/** The kinds. */
export const attentionKinds: Readonly<Record<number, string>> = {
  [AttentionKind.RENEWALS_OVERDUE]: "Renewals are overdue",
  [AttentionKind.LEDGER_DISCONNECTED]: "The ledger is disconnected",
  [AttentionKind.LEDGER_UNAUTHORISED]: "The ledger refuses our credentials",
  [AttentionKind.SUBSCRIPTION_PARKED]: "Parked by billing",
  [AttentionKind.DOCUMENT_REFUSED]: "Refused by the ledger",
  [AttentionKind.CREDIT_REFUSED]: "Its credit was refused",
  [AttentionKind.UNKNOWN_DOCUMENT]: "Unknown here",
  [AttentionKind.DOCUMENT_DRIFT]: "Changed in the ledger",
  [AttentionKind.ENDPOINT_DISABLED]: "Endpoint disabled",
  [AttentionKind.DELIVERY_FAILED]: "Delivery given up",
  [AttentionKind.CLOCK_STOPPED]: "Test clock stopped",
};

/** What a severity asks. */
export const severityTones: Readonly<Record<number, Tone>> = {
  [AttentionSeverity.HIGH]: "bad",
  [AttentionSeverity.MEDIUM]: "warn",
  [AttentionSeverity.LOW]: "info",
};

/** The word of a kind in the address. */
export function kindWord(kind: AttentionKind): string | undefined {
  return wordOf(AttentionKind, kind);
}
