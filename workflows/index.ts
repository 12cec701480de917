/** Exports every workflow of the service, for the bundle and the worker's registration. */
export { billingRun, organisationBilling } from "./billing-run.ts";
export { endpointDeliveries } from "./endpoint-deliveries.ts";
export { ledgerPosting } from "./ledger-posting.ts";
export { ledgerSync, ledgerSyncStarts } from "./ledger-sync.ts";
export { organisationEvents, outboxRelay } from "./outbox-relay.ts";
export { testClock } from "./test-clock.ts";
export { creditAllocation, endSubscription, invoiceAmendment } from "./work-batches.ts";
