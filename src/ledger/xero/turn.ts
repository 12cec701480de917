/** A call's turn within the budget of calls: short waits are waited out, long ones are told, before anything is sent. */
import { setTimeout as pause } from "node:timers/promises";
import type { CallBudget, LedgerFailure } from "../port.ts";
import type { XeroLimitsLeft } from "./connection.ts";

/** A turn: the call may be made, and `end` is to be called after it. */
export interface Turn {
  readonly kind: "granted";
  readonly end: (left: XeroLimitsLeft | null) => Promise<void>;
}

/** A call that waits for its turn. */
export interface Waiting {
  readonly signal: AbortSignal;
  readonly isBackground: boolean;
}

/**
 * What is waited out here: the gap between two calls that go out evenly is a second, a free slot comes within a call.
 * Longer waits are the caller's, who may do something else meanwhile.
 */
const longestWaitMs = 2_500;

const free: Turn = { kind: "granted", end: async () => undefined };

/** The turn, or `rate_limited` with the time until there may be one: nothing was sent. Without a budget at once. */
export async function takeTurn(budget: CallBudget | undefined, call: Waiting): Promise<Turn | LedgerFailure> {
  if (budget === undefined) return free;
  const endMs = performance.now() + longestWaitMs;
  for (;;) {
    const turn = await budget.take(call.isBackground);
    if (turn.kind === "granted") return turn;
    const { scope, waitMs } = turn;
    if (call.signal.aborted || performance.now() + waitMs > endMs) {
      return { kind: "rate_limited", scope, retryAfterMs: Math.max(1, waitMs), isOurs: true };
    }
    await pause(Math.max(1, waitMs));
  }
}
