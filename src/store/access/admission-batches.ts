/**
 * Admits requests in batches. While one statement runs, new requests wait, and the next statement
 * takes them together.
 */

/** A batch and its statement. */
interface Batching<Row> {
  /** Admits these hashes by one statement. Returns a row for each hash that it knows. */
  readonly admit: (hashes: readonly Buffer[]) => Promise<readonly Row[]>;
  readonly largestBatch: number;
  readonly statementsInFlight: number;
  /**
   * Above this number of waiting requests, one more is refused as if the server had no connections
   * left.
   */
  readonly maxWaiting: number;
  /** Called after each statement with the number of its requests. */
  readonly onBatch?: ((size: number) => void) | undefined;
}

/**
 * The time limit of an admission, which normally takes a millisecond. It is far below the limit of
 * other statements, because one silent connection would delay every request of the process.
 */
export const admissionTimeoutMs = 3_000;

/**
 * Returns the function that admits a request by the SHA-256 of its credential, and returns its row,
 * undefined if there is none. It rejects if the database does not answer.
 */
export function batchAdmissions<Row extends { readonly ordinal: number }>(
  batching: Batching<Row>,
): (hash: Uint8Array) => Promise<Row | undefined> {
  let waiting: {
    readonly hash: Uint8Array;
    readonly answer: PromiseWithResolvers<Row | undefined>;
  }[] = [];
  let inFlight = 0;

  const next = (): void => {
    while (waiting.length > 0 && inFlight < batching.statementsInFlight) {
      const batch = waiting.slice(0, batching.largestBatch);
      waiting = waiting.slice(batching.largestBatch);
      inFlight++;
      void admit(batch).finally(() => {
        inFlight--;
        next();
      });
    }
  };

  const admit = async (batch: typeof waiting): Promise<void> => {
    try {
      const rows = await batching.admit(batch.map(({ hash }) => Buffer.from(hash)));
      batching.onBatch?.(batch.length);
      const byOrdinal = new Map(rows.map((row) => [row.ordinal, row]));
      for (const [index, { answer }] of batch.entries()) answer.resolve(byOrdinal.get(index + 1));
    } catch (error) {
      for (const { answer } of batch) answer.reject(error);
    }
  };

  return (hash) => {
    const answer = Promise.withResolvers<Row | undefined>();
    if (waiting.length >= batching.maxWaiting) {
      answer.reject(
        Object.assign(new Error("too many requests wait to be admitted"), { code: "53300" }),
      );
    } else {
      waiting.push({ hash, answer });
      next();
    }
    return answer.promise;
  };
}
