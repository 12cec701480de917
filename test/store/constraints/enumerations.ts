/**
 * The enumerations of the database: the name of each CHECK that lists a column's words, with its
 * words in TypeScript. Where the contract has the enum, they are those of its generated values.
 */
import * as admin from "../../../src/admin/present/enums.ts";
import type { MeterStatus } from "../../../src/domain/catalogue/meter.ts";
import type { CatalogueStatus, PlanType } from "../../../src/domain/catalogue/plan.ts";
import { pricingModels } from "../../../src/domain/catalogue/pricing/index.ts";
import type { PricingModel } from "../../../src/domain/catalogue/pricing/models.ts";
import type { Customer } from "../../../src/domain/customers/customer.ts";
import { type ChangeKind, objectKinds } from "../../../src/domain/events/event.ts";
import { referenceDataKinds } from "../../../src/domain/ledger/validation.ts";
import type { Allocation } from "../../../src/domain/model/credit-note.ts";
import type { DocumentStatus, InvoiceType, LineKind } from "../../../src/domain/model/invoice.ts";
import type { FirstInvoiceStatus } from "../../../src/domain/model/organisation-settings.ts";
import type { SubscriptionStatus } from "../../../src/domain/model/subscription.ts";
import type { EndWhen } from "../../../src/domain/subscriptions/end.ts";
import * as contract from "../../../src/present/enums.ts";
import type { Change } from "../../../src/store/admin/changes.ts";
import type { AdminUnknownDocument } from "../../../src/store/admin/ledger/resolve-unknown-document.ts";
import type { TimelineJob } from "../../../src/store/admin/timeline/timeline.ts";
import type { DeliveryView } from "../../../src/store/admin/webhooks/webhook-deliveries.ts";
import type { DocumentKind } from "../../../src/store/documents/document-kinds.ts";
import type { LedgerConnection } from "../../../src/store/ledger-connection/connections.ts";
import type { JobKind } from "../../../src/store/ledger-jobs/jobs.ts";
import type { AttemptOutcome } from "../../../src/store/ledger-jobs/ledger-attempts.ts";
import { syncKinds } from "../../../src/store/ledger-sync/pending-notifications.ts";
import type { Removed } from "../../../src/store/subscriptions/end-lease.ts";
import { type OperatorRole, operatorRoles } from "../../../src/transport/rpc/caller.ts";

/**
 * Returns the words of a table whose keys are exactly those of a type. The compiler names a word
 * that is missing and one that is too many.
 */
function of<Word extends string>() {
  return <Key extends Word>(
    table: Readonly<Record<Key, unknown>> & Readonly<Record<Word, unknown>>,
  ): readonly string[] => Object.keys(table);
}

/** The pricing models with a trait. */
function models(has: (model: PricingModel) => boolean): readonly string[] {
  return Object.entries(pricingModels).flatMap(([name, model]) => (has(model) ? [name] : []));
}

const documentStatus = of<DocumentStatus>()(contract.documentStatuses);
const catalogueStatus = of<CatalogueStatus>()(contract.catalogueStatuses);

/**
 * The words of each CHECK that says which a column may have. A list of text is of words that only
 * statements of the store use.
 */
export const enumerations: Readonly<Record<string, readonly string[]>> = {
  allocations_status: of<Allocation["status"]>()(contract.allocationStates),
  allocations_sync_status: of<Allocation["syncStatus"]>()({ synced: true, failed: true }),
  audit_log_target_kind: of<Change["targetKind"]>()({
    organisation: true,
    ledger_connection: true,
    account_mapping: true,
    api_key: true,
    plan: true,
    charge: true,
    meter: true,
    customer: true,
    subscription: true,
    document: true,
    operator: true,
    operator_token: true,
    console_session: true,
    saved_view: true,
    usage_event: true,
    webhook_endpoint: true,
    webhook_delivery: true,
  }),
  charges_status: catalogueStatus,
  credit_notes_status: documentStatus,
  customers_status: of<Customer["status"]>()(contract.customerStatuses),
  document_counters_kind: of<DocumentKind>()({ invoice: true, credit_note: true }),
  idempotency_keys_state: ["running", "done"],
  invoice_lines_kind: of<LineKind>()(contract.lineKinds),
  ledger_attempts_outcome: of<AttemptOutcome>()(admin.attemptOutcomes),
  invoices_status: documentStatus,
  invoices_type: of<InvoiceType>()(contract.invoiceTypes),
  ledger_connections_grant: of<LedgerConnection["grantKind"]>()({
    custom: true,
    authorisation: true,
  }),
  ledger_jobs_kind: of<JobKind | TimelineJob>()({
    create_invoice: true,
    create_contact: true,
    import_contact: true,
    amend_invoice: true,
    create_credit_note: true,
    allocate_credit: true,
    end_subscription: true,
  }),
  ledger_jobs_state: ["ready", "sending", "uncertain", "done", "refused", "abandoned"],
  ledger_notifications_kind: syncKinds,
  ledger_reference_data_kind: referenceDataKinds,
  ledger_sync_cursors_kind: syncKinds,
  meters_status: of<MeterStatus>()(admin.meterStatuses),
  operators_role: [...of<OperatorRole>()(admin.roles), ...operatorRoles],
  organisations_first_invoice_status: of<FirstInvoiceStatus>()(admin.firstInvoiceStatuses),
  outbox_change: of<ChangeKind>()({
    created: true,
    updated: true,
    ended: true,
    paid: true,
    voided: true,
    deleted: true,
  }),
  outbox_kind: objectKinds,
  plan_meters_type: models(({ hasUnits }) => hasUnits),
  plans_status: catalogueStatus,
  plans_type: of<PlanType>()(contract.planTypes),
  published_snapshots_kind: objectKinds,
  removals_outcome: of<Removed["outcome"] | "never_sent">()({
    deleted: true,
    voided: true,
    already_removed: true,
    not_found: true,
    never_sent: true,
  }),
  removals_state: ["waiting", "removed", "refused", "left"],
  subscriptions_status: of<SubscriptionStatus>()(contract.subscriptionStatuses),
  terminations_when: of<EndWhen>()(contract.endWhens),
  unknown_documents_kind: of<DocumentKind>()({ invoice: true, credit_note: true }),
  unknown_documents_state: of<AdminUnknownDocument["state"]>()(admin.unknownDocumentStates),
  webhook_deliveries_state: of<DeliveryView["state"]>()(admin.deliveryStates),
  webhook_endpoints_status: Object.keys(admin.endpointStatuses),
};

/** The pricing models that other CHECKs name, because of a trait. */
export const namedModels: Readonly<Record<string, readonly string[]>> = {
  plans_units: models(({ hasUnits }) => !hasUnits),
  plans_with_tiers_have_no_price: models(({ tierPrices }) => tierPrices === "none"),
};
