/**
 * Deletes expired rows, such as idempotency keys after 24 hours (IDEMPOTENCY-6). It deletes in
 * small batches, so that no statement holds many rows. The next batch follows at once only if the
 * last one was full.
 */

/**
 * Deletes at most `atMost` expired rows and returns their number. Several processes may do so at
 * once.
 */
type DeleteExpired = (atMost: number) => Promise<number>;

/** The cleanup of one worker process. */
export interface Cleanup {
  stop(): Promise<void>;
}

/** Times and sizes, which tests shorten, and the receiver of errors. */
interface CleanupSettings {
  readonly everyMs?: number;
  readonly batch?: number;
  /** Called if the database could not be queried. The next run tries again. */
  readonly onError: (error: unknown) => void;
}

/**
 * The interval of runs. Expired rows are never used, so only the size of the table depends on it.
 */
const defaultEveryMs = 60_000;

/**
 * A batch takes milliseconds. Even ten thousand creations a minute leave the cleanup idle most of
 * the time.
 */
const defaultBatch = 1_000;

/** Runs at once and then at every interval, until stopped. */
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
