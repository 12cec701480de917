/** What a failed call to a ledger means for the operations that it carried. Facts: facts-ledger sections 5.2 and 5.4. */
import type { LedgerFailure } from "../ledger/port.ts";
import type { Settlement } from "../store/operations.ts";

/** The first pause after a failed attempt; each further one doubles it. */
const firstDelayMs = 1_000;

/** The longest pause between two attempts: a ledger that comes back is noticed within five minutes. */
const longestDelayMs = 5 * 60_000;

/** How long a connection that the ledger does not let in is left alone: a person must act. */
export const unauthorisedPauseMs = 60_000;

/** The pause before the next attempt after `attempts` have failed. */
export function retryDelayMs(attempts: number): number {
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.max(0, Math.min(attempts - 1, 20)));
}

/** An operation that a call carried. */
export interface Carried {
  readonly id: string;
  readonly attempts: number;
}

/**
 * The settlement of one operation whose call failed. `lookUpAfterMs`: when the first request can no longer take effect.
 * A refusal is final; `rate_limited` and `unauthorised` use up no attempt; a lost answer is looked up, never sent again blindly.
 */
export function settleFailure(operation: Carried, failure: LedgerFailure, lookUpAfterMs: number): Settlement {
  const operationId = operation.id;
  switch (failure.kind) {
    case "refused":
      return { kind: "refused", operationId, reason: failure.reason, message: failure.messages.join(" ") || "Refused" };
    case "rate_limited": {
      const reason = `rate limit of the ledger: ${failure.scope}`;
      return { kind: "again", operationId, delayMs: failure.retryAfterMs, countsAsAttempt: false, reason };
    }
    case "unauthorised": {
      const reason = `the ledger does not let us in: ${failure.why}`;
      return { kind: "again", operationId, delayMs: unauthorisedPauseMs, countsAsAttempt: false, reason };
    }
    case "unavailable":
      return failure.outcome === "unknown"
        ? { kind: "uncertain", operationId, delayMs: lookUpAfterMs, reason: failure.cause }
        : {
            kind: "again",
            operationId,
            delayMs: retryDelayMs(operation.attempts),
            countsAsAttempt: true,
            reason: failure.cause,
          };
  }
}

/** The pause that a failure puts on the whole connection, or null. */
export function connectionPause(failure: LedgerFailure): { readonly pauseMs: number; readonly reason: string } | null {
  if (failure.kind === "rate_limited") return { pauseMs: failure.retryAfterMs, reason: `${failure.scope} limit` };
  if (failure.kind === "unauthorised") return { pauseMs: unauthorisedPauseMs, reason: failure.why };
  return null;
}

/** The settlement of an operation whose look-up failed: it stays uncertain, and nothing is sent before a look-up succeeds. */
export function settleFailedLookup(operation: Carried, failure: LedgerFailure): Settlement {
  const cause = failure.kind === "unavailable" ? failure.cause : failure.kind;
  const delayMs = failure.kind === "rate_limited" ? failure.retryAfterMs : retryDelayMs(operation.attempts);
  return { kind: "uncertain", operationId: operation.id, delayMs, reason: `look-up failed: ${cause}` };
}
