/**
 * The turns of a process's calls within the budget that all processes share: one queue for each ledger, so that only its
 * head asks the budget. Short waits are waited out, long ones are told before anything is sent.
 */
import type { CallBudget, LedgerFailure } from "../../port/ledger.ts";
import type { XeroLimitsLeft } from "./connection.ts";

/** A turn: the request may be sent, and `end` is to be called after it. */
export interface Turn {
  readonly kind: "granted";
  readonly end: (left: XeroLimitsLeft | null) => Promise<void>;
}

/** A call whose request waits for its turn. `endMs` is when its deadline comes, by `performance.now()`. */
export interface Waiting {
  readonly endMs: number;
  readonly isBackground: boolean;
}

/** Where requests get their turns. */
export interface Turns {
  /** The turn, or `rate_limited` with the time until there may be one: nothing was sent. Without a budget at once. */
  take(call: Waiting): Promise<Turn | LedgerFailure>;
}

/**
 * What is waited out here: the gap between two calls that go out evenly is a second or two, a free slot comes within a
 * call. Longer waits are the caller's, who may do something else meanwhile.
 */
const longestWaitMs = 2_500;

/** Of what is left of a call it waits for so much at most: the ledger needs its time as well. */
const waitedShare = 0.5;

/**
 * How far apart those come back who were told to wait for the minute: as calls go out, so that they do not come all at
 * once and wait in vain again.
 */
const comeBackGapMs = 1_000;

/** Who is first: what a call has begun costs others nothing but would be lost; then those for whom somebody waits. */
const ranks = { continuing: 0, awaited: 1, background: 2 } as const;

interface Waiter {
  readonly call: Waiting;
  readonly rank: number;
  readonly giveUpMs: number;
  readonly resolve: (turn: Turn | LedgerFailure) => void;
}

type Spent = Extract<Awaited<ReturnType<CallBudget["take"]>>, { readonly kind: "spent" }>;

/** Turns over a budget. */
export function createPermits(budget: CallBudget | undefined): Turns {
  if (budget === undefined) return { take: async () => ({ kind: "granted", end: async () => undefined }) };
  const begun = new WeakSet<Waiting>();
  let queue: readonly Waiter[] = [];
  let isServing = false;
  /** What the head waits for, and how it is woken before its time. */
  let sleep: { readonly scope: Spent["scope"]; readonly wake: () => void } | null = null;

  const serveHead = async (head: Waiter): Promise<void> => {
    const answer = await ask(budget, head);
    if (answer.kind === "unavailable") {
      for (const { resolve } of queue) resolve(answer);
      queue = [];
    } else if (answer.kind === "granted") {
      queue = queue.filter((waiter) => waiter !== head);
      begun.add(head.call);
      const end = async (left: XeroLimitsLeft | null) => {
        await answer.end(left);
        if (sleep?.scope === "concurrent") sleep.wake();
      };
      head.resolve({ kind: "granted", end });
    } else {
      queue = reportLongWaits(queue, answer);
      const [first] = queue;
      // One that came meanwhile may have its turn where this one has none.
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
      const rank = begun.has(call) ? ranks.continuing : call.isBackground ? ranks.background : ranks.awaited;
      const waitMs = Math.min(waitedShare * leftMs, rank === ranks.continuing ? leftMs : longestWaitMs);
      const { promise, resolve } = Promise.withResolvers<Turn | LedgerFailure>();
      const waiter: Waiter = { call, rank, giveUpMs: performance.now() + waitMs, resolve };
      const place = queue.findIndex((other) => other.rank > rank);
      queue = queue.toSpliced(place === -1 ? queue.length : place, 0, waiter);
      // It may have its turn where the one that was first has none.
      if (queue[0] === waiter) sleep?.wake();
      void serve();
      return promise;
    },
  };
}

/** Asks for a call. A budget that cannot be asked allows none, and nothing was sent. */
async function ask(budget: CallBudget, { call, rank }: Waiter) {
  try {
    return await budget.take(call.isBackground && rank !== ranks.continuing);
  } catch {
    return notSent("the budget of calls could not be asked");
  }
}

/** Tells those for whom it takes too long; the others go on waiting. */
function reportLongWaits(queue: readonly Waiter[], { scope, waitMs }: Spent): readonly Waiter[] {
  const nowMs = performance.now();
  return queue.filter(({ giveUpMs, resolve }, place) => {
    if (nowMs + waitMs <= giveUpMs) return true;
    const retryAfterMs = Math.max(1, waitMs) + (scope === "minute" ? place * comeBackGapMs : 0);
    resolve({ kind: "rate_limited", scope, retryAfterMs, isOurs: true });
    return false;
  });
}

function notSent(cause: string): LedgerFailure & { readonly kind: "unavailable" } {
  return { kind: "unavailable", outcome: "not_sent", cause };
}
