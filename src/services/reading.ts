/** The two reads that every resource has, list and retrieve, written once. */
import { Refusal, type RefusalCode } from "../domain/refusal.ts";
import type { PageRequest } from "../store/database/page.ts";
import type { Collection, Scope, Store } from "../store/tenant.ts";
import type { Call } from "../transport/rpc/caller.ts";

/** How many objects a page has when the request does not say. Spec: Lists and pagination. */
const defaultLimit = 25;

/** The page members of every list request. */
export interface PagedRequest {
  readonly limit?: number | undefined;
  readonly startingAfter?: string | undefined;
}

/** The page that a request asks for. */
function pageOf(request: PagedRequest): PageRequest {
  return { limit: request.limit ?? defaultLimit, startingAfter: request.startingAfter ?? null };
}

/** A list method: filters from the request, the page from the collection, each object presented. Refuses `invalid_parameter`. */
export function listMethod<Request extends PagedRequest, T, Filters, Message>(
  store: Store,
  collection: (scope: Scope) => Collection<T, Filters>,
  filtersOf: (request: Request) => Filters,
  present: (object: T) => Message,
): (request: Request, call: Call) => Promise<{ data: Message[]; hasMore: boolean }> {
  return async (request, call) => {
    const scope = store.organisation(call.caller.organisationId);
    const page = await collection(scope).list(filtersOf(request), pageOf(request));
    return { data: page.data.map(present), hasMore: page.hasMore };
  };
}

/** A look-up by id. Refuses with `code` where the organisation has no such object. */
export function getObject<T, Filters>(
  store: Store,
  collection: (scope: Scope) => Collection<T, Filters>,
  code: RefusalCode & `${string}_not_found`,
): (id: string, call: Call) => Promise<T> {
  const kind = code.slice(0, -"_not_found".length).replaceAll("_", " ");
  return async (id, call) => {
    const object = await collection(store.organisation(call.caller.organisationId)).get(id);
    if (object === null) throw new Refusal(code, `There is no ${kind} with this id.`);
    return object;
  };
}
