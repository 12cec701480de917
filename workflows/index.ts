/** Exports every workflow of the service, for the bundle and the worker's registration. */
export { billingRun, organisationBilling } from "./billing-run.ts";
export { endpointDeliveries } from "./endpoint-deliveries.ts";
export { ledgerPosting } from "./ledger-posting.ts";
export { organisationEvents } from "./organisation-events.ts";
export { testClock } from "./test-clock.ts";
export {
  creditAllocation,
  endSubscription,
  invoiceAmendment,
  ledgerSync,
} from "./work-batches.ts";
