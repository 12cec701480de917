/** The two reads that every resource has, list and retrieve, written once. */
import { Refusal, type RefusalCode } from "../domain/refusal.ts";
import type { PageRequest } from "../store/database/page.ts";
import type { Collection, Tenant } from "../store/tenant.ts";
import type { Call, Caller } from "../transport/rpc/caller.ts";
import type { Deps } from "./deps.ts";

/** The default page size (OBJECT-3). */
const defaultLimit = 25;

/** The page members of every list request. */
export interface PagedRequest {
  readonly limit?: number | undefined;
  readonly startingAfter?: string | undefined;
}

/** Returns the page that a request selects. */
export function pageOf(request: PagedRequest): PageRequest {
  return { limit: request.limit ?? defaultLimit, startingAfter: request.startingAfter ?? null };
}

/**
 * Returns a list method. It takes filters from the request and a page from the collection, and
 * presents each object. Refuses `invalid_parameter` (OBJECT-3, OBJECT-4).
 */
export function listMethod<Request extends PagedRequest, T, Filters, Message>(
  deps: Pick<Deps, "tenant">,
  collection: (tenant: Tenant, caller: Caller) => Pick<Collection<T, Filters>, "list">,
  filtersOf: (request: Request, caller: Caller) => Filters,
  present: (object: T) => Message,
): (request: Request, call: Call) => Promise<{ data: Message[]; hasMore: boolean }> {
  return async (request, call) => {
    const { caller } = call;
    const objects = collection(deps.tenant(call), caller);
    const page = await objects.list(filtersOf(request, caller), pageOf(request));
    return { data: page.data.map(present), hasMore: page.hasMore };
  };
}

/**
 * Returns the object with this id. Refuses with `code` if the organisation has no such object
 * (REQUEST-12).
 */
export function getObject<T>(
  deps: Pick<Deps, "tenant">,
  collection: (tenant: Tenant, caller: Caller) => Pick<Collection<T, never>, "get">,
  code: RefusalCode & `${string}_not_found`,
): (id: string, call: Call) => Promise<T> {
  const kind = code.slice(0, -"_not_found".length).replaceAll("_", " ");
  return async (id, call) => {
    const object = await collection(deps.tenant(call), call.caller).get(id);
    if (object === null) throw new Refusal(code, `There is no ${kind} with this id.`);
    return object;
  };
}
