/** Opens the platform's own methods for an operator, with its token in place of the API key. */
import type { Acting } from "../../../store/admin/acting-tenant.ts";
import type { Call } from "../../../transport/rpc/caller.ts";
import {
  type AdminCall,
  type AdminDependencies,
  actorOf,
  nowOf,
  requireOrganisation,
} from "../dependencies.ts";

/** The organisation whose platform it is, the reason in the audit log, and what was previewed. */
interface Opening {
  readonly organisation: string;
  readonly reason: string;
  readonly previewedState: string | null;
}

/** The platform's methods, and the call as they take it. */
interface OpenPlatform {
  readonly platform: ReturnType<AdminDependencies["platform"]>;
  readonly platformCall: Call;
}

/**
 * Returns the platform's methods, and the call as they take it. Refuses `organisation_not_found`.
 */
export async function openPlatform(
  deps: Pick<AdminDependencies, "store" | "platform">,
  { organisation, ...opening }: Opening,
  call: AdminCall,
): Promise<OpenPlatform> {
  const owner = await requireOrganisation(deps, organisation);
  const acting: Acting = { actor: actorOf(call), ...opening };
  const platformCall: Call = {
    ...call,
    caller: {
      apiKeyId: call.caller.tokenId,
      organisationId: owner.id,
      scopes: new Set(),
      livemode: owner.livemode,
      canCreateLedgerContacts: owner.canCreateLedgerContacts,
      usageAllowed: owner.usageAllowed,
      now: nowOf(owner),
    },
  };
  return { platform: deps.platform(acting), platformCall };
}
