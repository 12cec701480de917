/** Exports every workflow of the service, for the bundle and the worker's registration. */
export { billingRun, organisationBilling } from "./billing-run.ts";
export { creditAllocation } from "./credit-allocation.ts";
export { endSubscription } from "./end-subscription.ts";
export { endpointDeliveries } from "./endpoint-deliveries.ts";
export { invoiceAmendment } from "./invoice-amendment.ts";
export { ledgerPosting } from "./ledger-posting.ts";
export { ledgerSync, ledgerSyncStarts } from "./ledger-sync.ts";
export { organisationEvents, outboxRelay } from "./outbox-relay.ts";
export { testClock } from "./test-clock.ts";
