/**
 * One change that Tryton numbers at a time. Its numbers have no gaps, so that of two posts at once
 * one fails after a few attempts, and everything before it was in vain.
 */
import { type BegunCall, beginCall } from "../port/call.ts";
import type { LedgerAnswer, LedgerCall } from "../port/ledger.ts";

/** The largest share of a call's time to wait for its turn. The rest is for Tryton. */
const waitedShare = 0.5;

/** Two documents later it may be its turn. */
const retryAfterMs = 2_000;

/** Creates the turns of one company in this process. They run work when it is its turn. */
export function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return async <Value>(
    call: LedgerCall,
    work: (call: BegunCall) => Promise<LedgerAnswer<Value>>,
  ): Promise<LedgerAnswer<Value>> => {
    const begun = beginCall(call);
    const before = last;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    last = before.then(() => ended);
    try {
      if (await isInTime(before, (begun.endMs - performance.now()) * waitedShare))
        return await work(begun);
      return { kind: "rate_limited", scope: "concurrent", retryAfterMs, isOurs: true };
    } finally {
      end();
    }
  };
}

async function isInTime(turn: Promise<unknown>, limitMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), limitMs);
  const isTurn = await Promise.race([turn.then(() => true), late.promise]);
  clearTimeout(timer);
  return isTurn;
}
