/**
 * The leases of this process's runs: renewed by one statement for all of them, and with it a second try for every ending that
 * could not be written. The timer runs only while there is something to keep.
 */
import type { Claim } from "./idempotency.ts";

/** How a run ended, where that still has to be written. */
export type Ending = { readonly kind: "complete"; readonly response: Uint8Array } | { readonly kind: "release" };

/** A claim of this process; `ending` is null while its run goes on. */
export interface Leased {
  readonly claim: Claim;
  readonly ending: Ending | null;
}

/** The leases of one process. */
export interface Leases {
  /** Begins to renew, or notes how the run ended. */
  readonly keep: (leased: Leased) => void;
  /** Ends the renewals of a claim. */
  readonly drop: (claim: Claim) => void;
  /** Waits for a renewal under way, tries the endings once more and stops. */
  readonly stop: () => Promise<void>;
}

/** What the leases are kept with. */
export interface LeaseParts {
  readonly everyMs: number;
  readonly renew: (claims: readonly Claim[]) => Promise<void>;
  readonly settle: (leased: Leased) => Promise<unknown>;
  readonly onTrouble: (error: unknown) => void;
}

/** Endings tried at once: a database that has just come back is not to be met by all of them. */
const finishedAtOnce = 50;

/** An ending that could not be written for so long will not be: its lease is let go, and the key works again. */
const giveUpAfterMs = 10 * 60_000;

/** Makes the leases of this process. */
export function createLeases({ everyMs, renew, settle, onTrouble }: LeaseParts): Leases {
  const held = new Map<string, Leased>();
  /** When the second try of an ending first failed. */
  const endedAtMs = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let working: Promise<void> = Promise.resolve();

  const schedule = (): void => {
    if (timer !== null || held.size === 0) return;
    timer = setTimeout(() => {
      working = work().finally(() => {
        timer = null;
        schedule();
      });
    }, everyMs);
    timer.unref();
  };

  const work = async (): Promise<void> => {
    try {
      await renew([...held.values()].map(({ claim }) => claim));
      await recordEnded();
    } catch (error) {
      onTrouble(error);
    }
  };

  const recordEnded = async (): Promise<void> => {
    const ended = [...held.values()].filter(({ ending }) => ending !== null).slice(0, finishedAtOnce);
    await Promise.all(ended.map(postOne));
  };

  /** On its own, so that one that fails for ever does not hold up the others. */
  const postOne = async (leased: Leased): Promise<void> => {
    const { owner } = leased.claim;
    try {
      await settle(leased);
      held.delete(owner);
      endedAtMs.delete(owner);
    } catch (error) {
      onTrouble(error);
      const firstMs = endedAtMs.get(owner) ?? performance.now();
      endedAtMs.set(owner, firstMs);
      if (performance.now() - firstMs < giveUpAfterMs) return;
      held.delete(owner);
      endedAtMs.delete(owner);
    }
  };

  return {
    keep: (leased) => {
      held.set(leased.claim.owner, leased);
      schedule();
    },
    drop: (claim) => {
      held.delete(claim.owner);
    },
    stop: async () => {
      if (timer !== null) clearTimeout(timer);
      await working;
      await recordEnded();
      held.clear();
      if (timer !== null) clearTimeout(timer);
    },
  };
}
