/** OrganisationService: retrieves the key's organisation (ACCESS-4). */
import type { OrganisationService } from "../gen/proto/billing/v1/organisation_pb.ts";
import type { Implementation } from "../transport/rpc/implementation.ts";
import type { ServiceParts } from "./parts.ts";
import { presentOrganisation } from "./present.ts";

/**
 * Returns the implementation of OrganisationService. It reads the organisation of the calling key.
 */
export function organisationService({
  store,
}: ServiceParts): Implementation<typeof OrganisationService> {
  return {
    getOrganisation: async (_request, call) => ({
      organisation: presentOrganisation(
        await store.organisation(call.caller.organisationId).settings(),
      ),
    }),
  };
}
