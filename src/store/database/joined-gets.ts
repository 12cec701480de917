/**
 * Joins reads of single objects: the callers of one posting batch are answered together, and each
 * reads what it created.
 */
import type { Executor } from "./client.ts";
import { joinCalls } from "./joined-calls.ts";
import { type Listing, readRows } from "./page.ts";
import type { AnyRow } from "./pool.ts";

/**
 * Returns the row of an organisation's object. Null if it does not exist or belongs to another
 * organisation.
 */
export type GetRow<Row> = (organisationId: string, id: string) => Promise<Row | null>;

/** Limits of joined reads. `most` is the size of a page (OBJECT-3). */
const joining = { most: 100, atOnce: 2, mostWaiting: 1_000 } as const;

/** Returns a read that joins, for the objects of a listing. */
export function joinGets<Row extends AnyRow & { readonly id: string }>(
  executor: Executor,
  listing: Listing<Row, unknown>,
): GetRow<Row> {
  return joinCalls<string, Row | null>({
    ...joining,
    run: async (organisationId, ids) => {
      const rows = await readRows(executor, organisationId, listing, [...new Set(ids)]);
      const byId = new Map(rows.map((row) => [row.id, row]));
      // A request may write its id in capital letters.
      return ids.map((id) => byId.get(id.toLowerCase()) ?? null);
    },
  });
}
