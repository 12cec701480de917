/** SearchService: finds objects by what a person has of them. ADMIN-21 */
import type { SearchService } from "../../gen/proto/billing/admin/v1/search_pb.ts";
import { searchedBys } from "../present/enums.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  requireOrganisation,
} from "./dependencies.ts";

/** Implements the service. Refuses `organisation_not_found`. */
export function searchService(
  deps: Pick<AdminDependencies, "store">,
): AdminImplementation<typeof SearchService> {
  return {
    search: async ({ text, organisation }) => {
      const scope =
        organisation === undefined ? null : (await requireOrganisation(deps, organisation)).id;
      const searched = text.trim();
      const found = searched === "" ? [] : await deps.store.search(scope, searched);
      return {
        hits: found.map(({ by, organisationId, matched, isExact, ...hit }) => ({
          ...hit,
          by: searchedBys[by],
          organisation: organisationId ?? undefined,
          matched: matched ?? undefined,
          exact: isExact,
        })),
      };
    },
  };
}
