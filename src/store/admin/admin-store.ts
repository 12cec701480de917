/**
 * The store of the admin API. It covers all organisations, and each call names the one that it
 * means.
 */
import { binding } from "../database/bind.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import { createReferenceDataStore } from "../ledger-connection/reference-data.ts";
import { readOverview } from "../overview/read-overview.ts";
import { createAttentionStore } from "./attention/attention.ts";
import { listAudit } from "./audit.ts";
import { createAuditedTenants } from "./audited-tenant.ts";
import { createBillingStore } from "./billing.ts";
import { isBreakOffDue, previewRunning } from "./break-off.ts";
import { findCatalogueCurrencies } from "./catalogue/catalogue.ts";
import { createChargeStore } from "./catalogue/charges.ts";
import { createMeterStore } from "./catalogue/meters.ts";
import { createPlanStore } from "./catalogue/plans.ts";
import { createChanges } from "./changes.ts";
import { createSessionStore } from "./console/console-sessions.ts";
import { createSavedViewStore } from "./console/saved-views.ts";
import { createApiKeyStore, createOperatorStore } from "./credentials.ts";
import { createCustomerStore } from "./customers.ts";
import { createDocumentStore } from "./documents/documents.ts";
import { createConnectionStore } from "./ledger/connections.ts";
import { createConsentStore } from "./ledger/consents.ts";
import { createLedgerSyncAdminStore } from "./ledger/ledger-sync.ts";
import { createUnknownDocumentStore } from "./ledger/unknown-documents.ts";
import { createOrganisationStore } from "./organisations/organisations.ts";
import { createPlatformObjects } from "./platform/platform-objects.ts";
import { creationState, subscriptionState } from "./previewed-state.ts";
import { search } from "./search.ts";
import { createAdminClockStore } from "./test-clock.ts";
import { listTimeline } from "./timeline/timeline.ts";
import { createUsageStore } from "./usage/usage.ts";
import { createDeliveryHistory } from "./webhooks/webhook-deliveries.ts";
import { createEndpointStore } from "./webhooks/webhook-endpoints.ts";

/** Everything that the admin services need from the database. */
export type AdminStore = ReturnType<typeof createAdminStore>;

/**
 * Reads and writes of operators have separate pools. A write waits for locks, so that writes alone
 * could take all connections of one pool, which the requests of callers also use.
 */
interface AdminPools {
  readonly reading: Pool;
  readonly writing: Pool;
}

/** Creates the store over both pools. `encryption` is for the secrets of ledgers and endpoints. */
export function createAdminStore({ reading: pool, writing }: AdminPools, encryption: Encryption) {
  const changes = createChanges(writing);
  const bound = binding(pool);
  return {
    /** Opens an organisation for changes that are decided under its locks. */
    tenant: createAuditedTenants(pool, changes),
    organisations: createOrganisationStore(pool, changes),
    connections: createConnectionStore(pool, changes, encryption),
    consents: createConsentStore(pool, changes, encryption),
    referenceData: createReferenceDataStore(pool),
    ledgerSync: createLedgerSyncAdminStore(pool, changes),
    unknownDocuments: createUnknownDocumentStore(pool, changes),
    apiKeys: createApiKeyStore(pool, changes),
    meters: createMeterStore(pool, changes),
    plans: createPlanStore(pool, changes),
    charges: createChargeStore(pool, changes),
    /** The currencies of an organisation's plans and charges. */
    currencies: bound(findCatalogueCurrencies),
    customers: createCustomerStore(pool, changes),
    documents: createDocumentStore(pool),
    billing: createBillingStore(pool, changes),
    previewBreakOff: bound(previewRunning),
    isBreakOffDue: bound(isBreakOffDue),
    /** The states that previews of subscriptions show. */
    previewedStates: { subscription: bound(subscriptionState), creation: bound(creationState) },
    usage: createUsageStore(pool),
    /** What the organisation's platform sees. */
    platform: createPlatformObjects(pool),
    listTimeline: bound(listTimeline),
    testClock: createAdminClockStore(pool, changes),
    endpoints: createEndpointStore(pool, changes, encryption),
    deliveries: createDeliveryHistory(pool, changes),
    overview: bound(readOverview),
    attention: createAttentionStore(pool),
    search: bound(search),
    operators: createOperatorStore(pool, changes),
    sessions: createSessionStore(writing, changes),
    savedViews: createSavedViewStore(pool, changes),
    listAudit: bound(listAudit),
  };
}
