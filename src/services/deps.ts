/** What every service method works with: the caller's tenant, and the posting of its documents. */
import type { Store, Tenant } from "../store/tenant.ts";
import type { Call } from "../transport/rpc/caller.ts";
import { createPosting, type LedgerWork, type Posting } from "./posting.ts";

/** The dependencies of the services. */
export interface Deps {
  /** Opens the data of the caller's organisation, as of the call. */
  tenant(call: Call): Tenant;
  /** Opens the posting of what the call commits. The deadline is counted from here. */
  posting(call: Call): Posting;
}

/** Creates the dependencies over the store and the work in Temporal. */
export function createDeps(store: Store, work: LedgerWork): Deps {
  return {
    tenant: ({ caller }) => store.tenant(caller.organisationId, caller.now),
    posting: ({ caller }) => createPosting(work, caller.organisationId),
  };
}
