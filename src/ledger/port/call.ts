/**
 * The calls of a ledger: their deadline and idempotency, and the limits that they obey (POSTING-6).
 * Part of the ledger's port. Callers import these types from `ledger.ts`.
 */
import type { AnsweredRequest } from "../../domain/ledger/answered-request.ts";

/**
 * The members of every call. `deadlineMs` is the allowed time from now, with tokens and replays.
 * `jobKeys` are the stable ids of the call's jobs, empty for reads. The same jobs and documents
 * give the same idempotency key, so a fast resend is not done twice (LEDGER-10). Set another
 * `variant` after a bad answer, because the ledger may remember it. Keep it after a lost one.
 */
export interface LedgerCall {
  readonly deadlineMs: number;
  readonly jobKeys: readonly string[];
  readonly variant?: string;
  /**
   * No caller waits for this call. It leaves the budget's reserve to calls with a waiting caller.
   */
  readonly isBackground?: boolean;
  /**
   * Called when a request gets its permit, once a request. Waiting work may then form the next
   * batch.
   */
  readonly onPermit?: () => void;
  /** Called when a request was answered, or was not before the deadline, once a request. */
  readonly onAnswered?: (answered: AnsweredRequest) => void;
}

/** What is left of a ledger's limits, as its answer reported it. Null if it reported nothing. */
export interface LimitsLeft {
  readonly minute: number | null;
  readonly day: number | null;
}

/**
 * The call budget, shared by all processes (POSTING-6). `end` returns a granted permit and reports
 * the limits that the ledger's headers gave.
 */
export interface CallBudget {
  take(isBackground: boolean): Promise<
    | {
        readonly kind: "granted";
        readonly end: (left: LimitsLeft | null) => Promise<void>;
      }
    | {
        readonly kind: "spent";
        readonly scope: "minute" | "day" | "concurrent";
        readonly waitMs: number;
      }
  >;
}

/**
 * A ledger's limits of calls for one organisation (LEDGER-8).
 * - `minute`: calls in any minute. If the ledger's answers report more, more are allowed.
 * - `day`: calls in 24 hours. Null: only the ledger's answers say how many are left.
 * - `concurrent`: calls at once, at least two.
 * - `documents`: documents or contacts that one call creates.
 */
export interface LedgerCallLimits {
  readonly minute: number;
  readonly day: number | null;
  readonly concurrent: number;
  readonly documents: number;
}

/**
 * A call of the port in progress. Its deadline starts at `beginCall` and covers all its requests.
 * At `endMs` of `performance.now()` the signal fires.
 */
export interface BegunCall extends Required<Omit<LedgerCall, "deadlineMs" | "variant">> {
  readonly signal: AbortSignal;
  readonly endMs: number;
  readonly variant: string | null;
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
