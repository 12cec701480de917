/**
 * Admissions in batches: while a statement runs, new requests wait, and the next statement takes
 * them together.
 */
import type pg from "pg";

/**
 * A batch with its statement; `read` is given the row of each request, which has its `ordinal`, or
 * none.
 */
export interface Batching<Row extends { readonly ordinal: number }, Admission> {
  /** The statement that admits these hashes; it returns a row for each hash that it knows. */
  readonly statement: (hashes: readonly Buffer[]) => pg.QueryConfig;
  readonly read: (row: Row | undefined) => Admission;
  readonly largestBatch: number;
  readonly statementsInFlight: number;
  /**
   * One request more is refused as if the server had no connections left: it cannot be answered
   * now.
   */
  readonly mostWaiting: number;
  /** Called after each statement with the number of its requests. */
  readonly onBatch?: ((size: number) => void) | undefined;
}

/**
 * How long an admission is waited for. It takes a millisecond; behind a connection that has gone
 * silent all requests of the process would wait, so it is given up long before other statements
 * are.
 */
const admissionTimeoutMs = 3_000;

/**
 * Returns what admits a request by the SHA-256 of its credential. It rejects when the database does
 * not answer.
 */
export function batchAdmissions<Row extends { readonly ordinal: number }, Admission>(
  pool: Pick<pg.Pool, "query">,
  batching: Batching<Row, Admission>,
): (hash: Uint8Array) => Promise<Admission> {
  let waiting: { readonly hash: Uint8Array; readonly answer: PromiseWithResolvers<Admission> }[] = [];
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
      // pg knows the limit of one query, its types do not.
      const query: pg.QueryConfig & { readonly query_timeout: number } = {
        query_timeout: admissionTimeoutMs,
        ...batching.statement(batch.map(({ hash }) => Buffer.from(hash))),
      };
      const { rows } = await pool.query<Row>(query);
      batching.onBatch?.(batch.length);
      const byOrdinal = new Map(rows.map((row) => [row.ordinal, row]));
      for (const [index, { answer }] of batch.entries()) answer.resolve(batching.read(byOrdinal.get(index + 1)));
    } catch (error) {
      for (const { answer } of batch) answer.reject(error);
    }
  };

  return (hash) => {
    const answer = Promise.withResolvers<Admission>();
    if (waiting.length >= batching.mostWaiting) {
      answer.reject(Object.assign(new Error("too many requests wait to be admitted"), { code: "53300" }));
    } else {
      waiting.push({ hash, answer });
      next();
    }
    return answer.promise;
  };
}
