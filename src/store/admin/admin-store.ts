/**
 * The store of the admin API. It covers all organisations, and each call names the one that it
 * means.
 */

import type { MeteredPlan } from "../../domain/catalogue/meter.ts";
import type { Charge } from "../../domain/catalogue/plan.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import {
  createReferenceDataStore,
  type ReferenceDataStore,
} from "../ledger-connection/reference-data.ts";
import { createOverviewStore, type OverviewStore } from "../overview/read-overview.ts";
import { type AttentionStore, createAttentionStore } from "./attention/attention.ts";
import { type AuditStore, createAuditStore } from "./audit.ts";
import { createAuditedTenants, type OpenAuditedTenant } from "./audited-tenant.ts";
import { type BillingStore, createBillingStore } from "./billing.ts";
import { type BreakOffStore, createBreakOffStore } from "./break-off.ts";
import type { CatalogueStore } from "./catalogue/catalogue.ts";
import {
  type CatalogueCurrency,
  findCatalogueCurrencies,
} from "./catalogue/catalogue-currencies.ts";
import { type AdminCharge, createChargeStore } from "./catalogue/charges.ts";
import { createMeterStore, type MeterStore } from "./catalogue/meters.ts";
import { type AdminPlan, createPlanStore } from "./catalogue/plans.ts";
import { createChanges } from "./changes.ts";
import { createSessionStore, type SessionStore } from "./console-sessions.ts";
import {
  type ApiKeyStore,
  createApiKeyStore,
  createOperatorStore,
  type OperatorStore,
} from "./credentials.ts";
import { type CustomerStore, createCustomerStore } from "./customers.ts";
import { createDocumentStore, type DocumentStore } from "./documents/documents.ts";
import { type ConnectionStore, createConnectionStore } from "./ledger/connections.ts";
import { type ConsentStore, createConsentStore } from "./ledger/consents.ts";
import { createLedgerSyncAdminStore, type LedgerSyncAdminStore } from "./ledger/ledger-sync.ts";
import {
  createUnknownDocumentStore,
  type UnknownDocumentStore,
} from "./ledger/unknown-documents.ts";
import { createOrganisationStore, type OrganisationStore } from "./organisations/organisations.ts";
import { createPlatformObjects, type PlatformObjects } from "./platform/platform-objects.ts";
import { creationState, subscriptionState } from "./previewed-state.ts";
import { createSearchStore, type SearchStore } from "./search.ts";
import { type AdminClockStore, createAdminClockStore } from "./test-clock.ts";
import { createTimelineStore, type TimelineStore } from "./timeline/timeline.ts";
import { createUsageStore, type UsageStore } from "./usage/usage.ts";
import { createDeliveryHistory, type DeliveryHistory } from "./webhooks/webhook-deliveries.ts";
import { createEndpointStore, type EndpointStore } from "./webhooks/webhook-endpoints.ts";

/** Reads the states of subscriptions, and of creations for a customer with this code. */
interface PreviewedStates {
  subscription(organisationId: string, id: string, now: Date): Promise<string | null>;
  creation(organisationId: string, customerCode: string, now: Date): Promise<string>;
}

/** Everything that the admin services need from the database. */
export interface AdminStore {
  /** Opens an organisation for changes that are decided under its locks. */
  readonly tenant: OpenAuditedTenant;
  readonly organisations: OrganisationStore;
  readonly connections: ConnectionStore;
  readonly consents: ConsentStore;
  readonly referenceData: ReferenceDataStore;
  readonly ledgerSync: LedgerSyncAdminStore;
  readonly unknownDocuments: UnknownDocumentStore;
  readonly apiKeys: ApiKeyStore;
  readonly meters: MeterStore;
  readonly plans: CatalogueStore<MeteredPlan, AdminPlan>;
  readonly charges: CatalogueStore<Charge, AdminCharge>;
  /** The currencies of an organisation's plans and charges. */
  readonly currencies: (organisationId: string) => Promise<readonly CatalogueCurrency[]>;
  readonly customers: CustomerStore;
  readonly documents: DocumentStore;
  readonly billing: BillingStore;
  readonly breakOffs: BreakOffStore;
  /** The states that previews of subscriptions show. */
  readonly previewedStates: PreviewedStates;
  readonly usage: UsageStore;
  /** What the organisation's platform sees. */
  readonly platform: PlatformObjects;
  readonly timeline: TimelineStore;
  readonly testClock: AdminClockStore;
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryHistory;
  readonly overview: OverviewStore;
  readonly attention: AttentionStore;
  readonly search: SearchStore;
  readonly operators: OperatorStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
}

/**
 * Reads and writes of operators have separate pools. A write waits for locks, so that writes alone
 * could take all connections of one pool, which the requests of callers also use.
 */
interface AdminPools {
  readonly reading: Pool;
  readonly writing: Pool;
}

/** Creates the store over both pools. `encryption` is for the secrets of ledgers and endpoints. */
export function createAdminStore(
  { reading: pool, writing }: AdminPools,
  encryption: Encryption,
): AdminStore {
  const changes = createChanges(writing);
  return {
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
    currencies: (organisationId) => findCatalogueCurrencies(pool, organisationId),
    customers: createCustomerStore(pool, changes),
    documents: createDocumentStore(pool),
    billing: createBillingStore(pool, changes),
    breakOffs: createBreakOffStore(pool),
    previewedStates: {
      subscription: (organisationId, id, now) => subscriptionState(pool, organisationId, id, now),
      creation: (organisationId, code, now) => creationState(pool, organisationId, code, now),
    },
    usage: createUsageStore(pool),
    platform: createPlatformObjects(pool),
    timeline: createTimelineStore(pool),
    testClock: createAdminClockStore(pool, changes),
    endpoints: createEndpointStore(pool, changes, encryption),
    deliveries: createDeliveryHistory(pool, changes),
    overview: createOverviewStore(pool),
    attention: createAttentionStore(pool),
    search: createSearchStore(pool),
    operators: createOperatorStore(pool, changes),
    sessions: createSessionStore(writing, changes),
    audit: createAuditStore(pool),
  };
}
