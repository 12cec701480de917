/** The pages of a list, one call after the other. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { callJson } from "./call-json.ts";
import type { ApiConnection } from "./connection.ts";
import type { Json } from "./output/message-json.ts";
import { listOf } from "./output/words.ts";

/** The largest page size, for the fewest calls. */
const largestPage = 100;

/** Yields the pages from the request's position on. `method` returns `data` and `has_more`. */
export async function* pages(
  connection: ApiConnection,
  method: DescMethodUnary,
  request: Json,
): AsyncGenerator<Json> {
  const hasLimit = method.input.fields.some(({ name }) => name === "limit");
  let next: Json = { ...(hasLimit ? { limit: largestPage } : {}), ...request };
  for (;;) {
    const page = await callJson(connection, method, next);
    yield page;
    if (page.has_more !== true) return;
    const last = listOf(page.data).at(-1);
    if (typeof page.next_cursor === "string") next = { ...next, cursor: page.next_cursor };
    else if (typeof last?.id === "string") next = { ...next, starting_after: last.id };
    else throw new Error("has_more is true, but the page has no cursor");
  }
}
