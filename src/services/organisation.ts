/** OrganisationService: retrieves the key's organisation (ACCESS-4). */
import type { OrganisationService } from "../gen/proto/billing/v1/organisation_pb.ts";
import { presentOrganisation } from "../present/objects.ts";
import type { Implementation } from "../transport/rpc/implementation.ts";
import type { Deps } from "./deps.ts";

/**
 * Returns the implementation of OrganisationService. It reads the organisation of the calling key.
 */
export function organisationService(deps: Deps): Implementation<typeof OrganisationService> {
  return {
    getOrganisation: async (_request, call) => ({
      organisation: presentOrganisation(await deps.tenant(call).settings()),
    }),
  };
}
