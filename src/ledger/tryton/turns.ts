/**
 * One change that Tryton numbers at a time. Its numbers have no gaps, so that of two posts at once
 * one fails after a few attempts, and everything before it was in vain.
 */
import type { BegunCall } from "../port/http/begun-call.ts";
import type { LedgerAnswer } from "../port/ledger.ts";

/** Runs work when it is its turn. */
export type InTurn = <Value>(
  call: BegunCall,
  work: () => Promise<LedgerAnswer<Value>>,
) => Promise<LedgerAnswer<Value>>;

/** The largest share of a call's time to wait for its turn. The rest is for Tryton. */
const waitedShare = 0.5;

/** Two documents later it may be its turn. */
const retryAfterMs = 2_000;

/** Creates the turns of one company in this process. */
export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return async (call, work) => {
    const before = last;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    last = before.then(() => ended);
    try {
      if (await isInTime(before, (call.endMs - performance.now()) * waitedShare))
        return await work();
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
