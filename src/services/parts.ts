/** What the services are built over; the composition root fills it in. */
import type { Store } from "../store/tenant.ts";
import type { Settlement } from "./settlement.ts";

/** The store, and the way to have documents settled in the ledger. */
export interface ServiceParts {
  readonly store: Store;
  readonly settlement: Settlement;
}
