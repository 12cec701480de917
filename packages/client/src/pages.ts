/** Lists: page after page, as async iterators. */

/** A page as every list of the service answers it. */
export interface AnyPage<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
}

/** A list, newest first. Iterating it reads one page after the other, as far as it is iterated. */
export interface List<Item, Page extends AnyPage<Item> = AnyPage<Item>>
  extends AsyncIterable<Item> {
  /** Reads the first page alone: the one after `starting_after`, if the request has it. */
  page(): Promise<Page>;
  /** Iterates over whole pages. */
  pages(): AsyncIterable<Page>;
}

/** Returns the list whose pages `read` reads. `read` gets the id of the last object before. */
export function listOf<Item extends { readonly id: string }, Page extends AnyPage<Item>>(
  read: (startingAfter: string | undefined) => Promise<Page>,
): List<Item, Page> {
  async function* pages(): AsyncIterable<Page> {
    let last: string | undefined;
    for (;;) {
      const page = await read(last);
      yield page;
      last = page.data.at(-1)?.id;
      // A page without objects has no next page, whatever it says.
      if (!page.has_more || last === undefined) return;
    }
  }
  async function* items(): AsyncGenerator<Item> {
    for await (const { data } of pages()) yield* data;
  }
  return { page: () => read(undefined), pages, [Symbol.asyncIterator]: items };
}
