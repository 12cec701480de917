/**
 * Leases of this process's idempotent runs. One statement renews all of them, and each renewal
 * retries the outcomes that could not be written. The timer runs only while there is a lease.
 */
import type { Claim } from "./idempotency.ts";

/** How a run ended, if that is not written yet. */
type RunOutcome =
  | { readonly kind: "complete"; readonly response: Uint8Array }
  | { readonly kind: "release" };

/** A claim of this process. `outcome` is null while its run continues. */
export interface Leased {
  readonly claim: Claim;
  readonly outcome: RunOutcome | null;
}

/** Dependencies of the leases. */
interface LeaseDependencies {
  readonly everyMs: number;
  readonly renew: (claims: readonly Claim[]) => Promise<void>;
  readonly recordOutcome: (leased: Leased) => Promise<unknown>;
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Outcomes written at once. A database that has just come back must not get all of them together.
 */
const finishedAtOnce = 50;

/**
 * The time after which an outcome that cannot be written is abandoned. Its lease expires, and the
 * key works again.
 */
const giveUpAfterMs = 10 * 60_000;

/** Creates the leases of this process. */
export function createLeases({ everyMs, renew, recordOutcome, onTrouble }: LeaseDependencies) {
  const leases = new Map<string, Leased>();
  /** The instant at which the retry of an outcome first failed. */
  const endedAtMs = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let working: Promise<void> = Promise.resolve();

  const schedule = (): void => {
    if (timer !== null || leases.size === 0) return;
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
      await renew([...leases.values()].map(({ claim }) => claim));
      await recordEnded();
    } catch (error) {
      onTrouble(error);
    }
  };

  const recordEnded = async (): Promise<void> => {
    const ended = [...leases.values()]
      .filter(({ outcome }) => outcome !== null)
      .slice(0, finishedAtOnce);
    await Promise.all(ended.map(recordOne));
  };

  /**
   * Each outcome is written separately, so that one that always fails does not hold up the others.
   */
  const recordOne = async (leased: Leased): Promise<void> => {
    const { owner } = leased.claim;
    try {
      await recordOutcome(leased);
      leases.delete(owner);
      endedAtMs.delete(owner);
    } catch (error) {
      onTrouble(error);
      const firstMs = endedAtMs.get(owner) ?? performance.now();
      endedAtMs.set(owner, firstMs);
      if (performance.now() - firstMs < giveUpAfterMs) return;
      leases.delete(owner);
      endedAtMs.delete(owner);
    }
  };

  return {
    /** Starts to renew the lease, or records how the run ended. */
    keep: (leased: Leased): void => {
      leases.set(leased.claim.owner, leased);
      schedule();
    },
    /** Stops renewing a claim. */
    drop: ({ owner }: Claim): void => void leases.delete(owner),
    /** Waits for a renewal under way, tries the unwritten outcomes once more and stops. */
    stop: async (): Promise<void> => {
      if (timer !== null) clearTimeout(timer);
      await working;
      await recordEnded();
      leases.clear();
      if (timer !== null) clearTimeout(timer);
    },
  };
}
