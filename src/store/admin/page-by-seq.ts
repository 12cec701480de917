/**
 * Pages of records that belong to no organisation: newest first by sequence number, like the lists
 * of organisations. OBJECT-3.
 */
import { Refusal } from "../../domain/refusal.ts";
import type { Page, PageRequest } from "../database/page.ts";

/**
 * How a kind of record is listed: the sequence number of one record, and the records below a
 * number, newest first.
 */
export interface SeqListing<T> {
  readonly seqOf: (id: string) => Promise<{ readonly seq: bigint } | null>;
  readonly below: (seq: { readonly lt: bigint } | undefined, take: number) => Promise<readonly T[]>;
}

/**
 * Returns the page. Refuses `invalid_parameter`, param `starting_after`, if that is no id of the
 * list.
 */
export async function pageBySeq<T>(page: PageRequest, listing: SeqListing<T>): Promise<Page<T>> {
  const position =
    page.startingAfter === null ? undefined : await listing.seqOf(page.startingAfter);
  if (position === null) {
    throw new Refusal(
      "invalid_parameter",
      "starting_after is not the id of an object of this list.",
      "starting_after",
    );
  }
  const rows = await listing.below(
    position === undefined ? undefined : { lt: position.seq },
    page.limit + 1,
  );
  return { data: rows.slice(0, page.limit), hasMore: rows.length > page.limit };
}
