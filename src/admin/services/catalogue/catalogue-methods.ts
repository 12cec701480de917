/**
 * The methods that plans, charges and meters have in common: create, get, list, update, and move to
 * another status. Each service adds how it reads its requests. CATALOGUE-2, CATALOGUE-3
 */
import assert from "node:assert/strict";
import type { RefusalCode } from "../../../domain/refusal.ts";
import { wordOf } from "../../../present/enums.ts";
import type {
  CatalogueEntry,
  CatalogueStore,
  UsedEntry,
} from "../../../store/admin/catalogue/catalogue.ts";
import {
  type AdminCall,
  type AdminDependencies,
  actorOf,
  pageOf,
  required,
  requireOrganisation,
  requireSame,
} from "../dependencies.ts";

/** The differences between plans, charges and meters. */
interface CatalogueKind<Entry extends CatalogueEntry, Message> {
  readonly store: CatalogueStore<Entry>;
  readonly present: (used: UsedEntry<Entry>) => Message;
  readonly statuses: Readonly<Record<Entry["status"], number>>;
  readonly notFound: RefusalCode & `${string}_not_found`;
}

/** Identifies one entry of an organisation. */
interface EntryRequest {
  readonly organisation: string;
  readonly id: string;
}

/** A list request with its filters. */
interface ListRequest {
  readonly organisation: string;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  readonly limit?: number | undefined;
  readonly startingAfter?: string | undefined;
}

/**
 * Returns the methods of one kind. They refuse `organisation_not_found`, the kind's `notFound`,
 * a code that is taken, and a change of what is billed.
 */
export function catalogueMethods<Entry extends CatalogueEntry, Message>(
  deps: AdminDependencies,
  { store, present, statuses, notFound }: CatalogueKind<Entry, Message>,
) {
  return {
    /** A repeat under the same Idempotency-Key returns the entry of the first try. */
    create: async (call: AdminCall, organisationId: string, entry: Entry) => {
      const created = await store.create(actorOf(call), organisationId, entry);
      requireSame(created.entry.code === entry.code);
      return present(created);
    },
    get: async ({ organisation, id }: EntryRequest) => {
      const owner = await requireOrganisation(deps, organisation);
      return present(required(await store.get(owner.id, id), notFound));
    },
    list: async (request: ListRequest) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const filters = { code: request.code ?? null, status: wordOf(statuses, request.status) };
      const { data, hasMore } = await store.list(id, filters, pageOf(request));
      return { data: data.map(present), hasMore };
    },
    /** `decide` gets the current entry and returns the new one. It may refuse. */
    update: async (
      call: AdminCall,
      { organisationId, id }: { readonly organisationId: string; readonly id: string },
      decide: (before: Entry) => Entry,
    ) => {
      const updated = await store.update(actorOf(call), organisationId, id, decide);
      return present(required(updated, notFound));
    },
    setStatus: async (
      { organisation, id, status }: EntryRequest & { readonly status: number },
      call: AdminCall,
    ) => {
      const owner = await requireOrganisation(deps, organisation);
      const wanted = wordOf(statuses, status);
      assert(wanted !== null, "the contract's validation refuses other numbers");
      const moved = await store.setStatus(actorOf(call), owner.id, id, wanted);
      return present(required(moved, notFound));
    },
  };
}
