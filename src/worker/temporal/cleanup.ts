/**
 * Deletes what has outlived its use: idempotency keys whose 24 hours are over. In small batches, so that no statement holds
 * many rows, and one after the other only while there is a full batch to delete.
 */

/** Deletes expired keys, at most so many; answers how many. Several processes may do so at once. */
export type DeleteExpired = (atMost: number) => Promise<number>;

/** The housekeeping of one worker process. */
export interface Cleanup {
  stop(): Promise<void>;
}

/** Times and sizes, which tests shorten, and who hears of trouble. */
export interface CleanupSettings {
  readonly everyMs?: number;
  readonly batch?: number;
  /** Told where the database could not be asked; it is asked again at the next time. */
  readonly onError: (error: unknown) => void;
}

/** How often it looks: an expired key is as good as none already, so that only the size of the table depends on it. */
const defaultEveryMs = 60_000;

/** A batch takes milliseconds; ten thousand creations a minute still leave it idle most of the time. */
const defaultBatch = 1_000;

/** Looks at once, then at every interval, until stopped. */
export function startCleanup(deleteExpired: DeleteExpired, settings: CleanupSettings): Cleanup {
  const { everyMs = defaultEveryMs, batch = defaultBatch, onError } = settings;
  let stopped = false;
  let wakeUp: () => void = () => undefined;
  const work = async (): Promise<void> => {
    while (!stopped) {
      try {
        while (!stopped && (await deleteExpired(batch)) >= batch);
      } catch (error) {
        onError(error);
      }
      if (stopped) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs);
        wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const working = work();
  return {
    stop: async () => {
      stopped = true;
      wakeUp();
      await working;
    },
  };
}
