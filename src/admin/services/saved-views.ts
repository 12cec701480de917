/** SavedViewService: the views of the console's lists that an operator saved. ADMIN-23 */
import type { SavedViewService } from "../../gen/proto/billing/admin/v1/saved_views_pb.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  requireOrganisation,
} from "./dependencies.ts";

/** Implements the service. Refuses `organisation_not_found`, `invalid_state` for one too many. */
export function savedViewService(
  deps: AdminDependencies,
): AdminImplementation<typeof SavedViewService> {
  const { savedViews } = deps.store;
  const ownerOf = async (organisation: string, { operatorId }: { readonly operatorId: string }) => {
    const { id: organisationId } = await requireOrganisation(deps, organisation);
    return { organisationId, operatorId };
  };
  return {
    listSavedViews: async ({ organisation }, { caller }) => ({
      data: [...(await savedViews.list(await ownerOf(organisation, caller)))],
    }),
    saveView: async ({ organisation, page, name, search }, call) => {
      const view = { ...(await ownerOf(organisation, call.caller)), page, name, search };
      return { view: await savedViews.save(actorOf(call), view) };
    },
    deleteView: async ({ organisation, id }, call) => {
      const owner = await ownerOf(organisation, call.caller);
      return { deleted: await savedViews.delete(actorOf(call), owner, id) };
    },
  };
}
