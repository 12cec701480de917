/**
 * The permits for a process's calls, within the budget that all processes share (POSTING-6). Each
 * ledger has one queue, and only its head takes from the budget. Short waits are waited out. Long
 * waits are reported before anything is sent.
 */
import type { CallBudget, LedgerFailure, LimitsLeft } from "./ledger.ts";

/** A permit to send one request. Call `end` after the request. */
interface CallPermit {
  readonly kind: "granted";
  readonly end: (left: LimitsLeft | null) => Promise<void>;
}

/** A call whose request waits for a permit. `endMs` is its deadline, by `performance.now()`. */
export interface WaitingCall {
  readonly endMs: number;
  readonly isBackground: boolean;
}

/** The limiter that grants the permits. */
export interface CallPermits {
  /**
   * Returns a permit, or `rate_limited` with the time until one may be free. Then nothing was sent.
   * Without a budget it returns at once.
   */
  take(call: WaitingCall): Promise<CallPermit | LedgerFailure>;
}

/**
 * The longest wait in this process. Evenly spread calls are a second or two apart, and a concurrent
 * slot is free after one call. For a longer wait the caller may do other work.
 */
const maxWaitMs = 2_500;

/** The largest share of a call's remaining time to wait. The ledger needs time as well. */
const waitedShare = 0.5;

/**
 * The spacing of retry times for callers that must wait for the minute limit. It matches the pace
 * of calls, so that they do not all return at once and wait in vain.
 */
const retryGapMs = 1_000;

/**
 * The order of the queue. A call that has begun is first, because its earlier requests would be
 * lost. Then calls with a waiting caller, then background work.
 */
const ranks = { continuing: 0, awaited: 1, background: 2 } as const;

interface Waiter {
  readonly call: WaitingCall;
  readonly rank: number;
  readonly giveUpMs: number;
  readonly resolve: (permit: CallPermit | LedgerFailure) => void;
}

type Spent = Extract<Awaited<ReturnType<CallBudget["take"]>>, { readonly kind: "spent" }>;

/** Creates the limiter over a budget. */
export function createPermits(budget: CallBudget | undefined): CallPermits {
  if (budget === undefined)
    return { take: async () => ({ kind: "granted", end: async () => undefined }) };
  const begun = new WeakSet<WaitingCall>();
  let queue: readonly Waiter[] = [];
  let isServing = false;
  /** The limit that the head waits for, and how to wake it early. */
  let sleep: { readonly scope: Spent["scope"]; readonly wake: () => void } | null = null;

  const serveHead = async (head: Waiter): Promise<void> => {
    const answer = await takeFrom(budget, head);
    if (answer.kind === "unavailable") {
      for (const { resolve } of queue) resolve(answer);
      queue = [];
    } else if (answer.kind === "granted") {
      queue = queue.filter((waiter) => waiter !== head);
      begun.add(head.call);
      const end = async (left: LimitsLeft | null) => {
        await answer.end(left);
        if (sleep?.scope === "concurrent") sleep.wake();
      };
      head.resolve({ kind: "granted", end });
    } else {
      queue = reportLongWaits(queue, answer);
      const [first] = queue;
      // A waiter that arrived in the meantime may get a permit although this one gets none.
      if (first === undefined || first.rank < head.rank) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, answer.waitMs);
      sleep = { scope: answer.scope, wake: resolve };
      await promise;
      clearTimeout(timer);
      sleep = null;
    }
  };
  const serve = async (): Promise<void> => {
    if (isServing) return;
    isServing = true;
    for (let [head] = queue; head !== undefined; [head] = queue) await serveHead(head);
    isServing = false;
  };

  return {
    take: (call) => {
      const leftMs = call.endMs - performance.now();
      if (leftMs <= 0) return Promise.resolve(notSent("the deadline had passed"));
      const rank = begun.has(call)
        ? ranks.continuing
        : call.isBackground
          ? ranks.background
          : ranks.awaited;
      const waitMs = Math.min(waitedShare * leftMs, rank === ranks.continuing ? leftMs : maxWaitMs);
      const { promise, resolve } = Promise.withResolvers<CallPermit | LedgerFailure>();
      const waiter: Waiter = { call, rank, giveUpMs: performance.now() + waitMs, resolve };
      const place = queue.findIndex((other) => other.rank > rank);
      queue = queue.toSpliced(place === -1 ? queue.length : place, 0, waiter);
      // It may get a permit although the previous head got none.
      if (queue[0] === waiter) sleep?.wake();
      void serve();
      return promise;
    },
  };
}

/**
 * Takes a permit from the budget. If the budget cannot be reached, none is granted and nothing was
 * sent.
 */
async function takeFrom(budget: CallBudget, { call, rank }: Waiter) {
  try {
    return await budget.take(call.isBackground && rank !== ranks.continuing);
  } catch {
    return notSent("the budget of calls could not be reached");
  }
}

/** Rejects waiters whose wait is too long. The others stay in the queue. */
function reportLongWaits(queue: readonly Waiter[], { scope, waitMs }: Spent): readonly Waiter[] {
  const nowMs = performance.now();
  return queue.filter(({ giveUpMs, resolve }, place) => {
    if (nowMs + waitMs <= giveUpMs) return true;
    const retryAfterMs = Math.max(1, waitMs) + (scope === "minute" ? place * retryGapMs : 0);
    resolve({ kind: "rate_limited", scope, retryAfterMs, isOurs: true });
    return false;
  });
}

function notSent(cause: string): LedgerFailure & { readonly kind: "unavailable" } {
  return { kind: "unavailable", outcome: "not_sent", cause };
}
