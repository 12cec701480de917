/** The dependencies of the services. The composition root provides them. */
import type { Store } from "../store/tenant.ts";
import type { Settlement } from "./settlement.ts";

/** The store, and the means to post documents to the ledger and await the outcome. */
export interface ServiceParts {
  readonly store: Store;
  readonly settlement: Settlement;
}
