/** A call of the port in progress: its deadline covers all its requests. */
import type { LedgerCall } from "../call.ts";

/**
 * A call of the port in progress. Its deadline starts at `beginCall` and covers all its requests.
 * At `endMs` of `performance.now()` the signal fires.
 */
export interface BegunCall {
  readonly signal: AbortSignal;
  readonly endMs: number;
  readonly jobKeys: readonly string[];
  readonly variant: string | null;
  readonly isBackground: boolean;
  readonly onPermit: () => void;
  readonly onAnswered: NonNullable<LedgerCall["onAnswered"]>;
}

/** Starts a call and its deadline. */
export function beginCall(call: LedgerCall): BegunCall {
  const deadlineMs = Math.ceil(call.deadlineMs);
  return {
    signal: deadlineMs > 0 ? AbortSignal.timeout(deadlineMs) : AbortSignal.abort(),
    endMs: performance.now() + deadlineMs,
    jobKeys: call.jobKeys,
    variant: call.variant ?? null,
    isBackground: call.isBackground ?? false,
    onPermit: call.onPermit ?? (() => undefined),
    onAnswered: call.onAnswered ?? (() => undefined),
  };
}
