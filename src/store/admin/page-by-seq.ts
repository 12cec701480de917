/**
 * Pages of records that the typed client reads: newest first by sequence number, like the lists of
 * organisations. OBJECT-3.
 */
import { unknownPosition } from "../../domain/refusal.ts";
import type { Page, PageRequest } from "../database/page.ts";

/** What a page reads: the record of its position, or the records below a sequence number. */
interface SeqQuery {
  readonly where: { id?: string; seq?: { lt: bigint } };
  readonly orderBy: { readonly seq: "desc" };
  readonly take: number;
}

/**
 * Returns the page. `find` reads the records of one query. It adds the list's own filters. Refuses
 * `invalid_parameter`, param `starting_after`, if that is no id of the list.
 */
export async function pageBySeq<T extends { readonly seq: bigint }>(
  { limit, startingAfter }: PageRequest,
  find: (query: SeqQuery) => Promise<readonly T[]>,
): Promise<Page<T>> {
  const orderBy = { seq: "desc" } as const;
  let where: SeqQuery["where"] = {};
  if (startingAfter !== null) {
    const [position] = await find({ where: { id: startingAfter }, orderBy, take: 1 });
    if (position === undefined) throw unknownPosition();
    where = { seq: { lt: position.seq } };
  }
  const rows = await find({ where, orderBy, take: limit + 1 });
  return { data: rows.slice(0, limit), hasMore: rows.length > limit };
}
