/** Binds every service of the admin API to its implementation. */
import { ApiKeyService } from "../../gen/proto/billing/admin/v1/api_keys_pb.ts";
import { AttentionService } from "../../gen/proto/billing/admin/v1/attention_pb.ts";
import { AuditService } from "../../gen/proto/billing/admin/v1/audit_pb.ts";
import { BillingService } from "../../gen/proto/billing/admin/v1/billing_pb.ts";
import { ChargeService, PlanService } from "../../gen/proto/billing/admin/v1/catalogue_pb.ts";
import { CreditNoteService } from "../../gen/proto/billing/admin/v1/credit_notes_pb.ts";
import { CustomerService } from "../../gen/proto/billing/admin/v1/customers_pb.ts";
import { DocumentService } from "../../gen/proto/billing/admin/v1/documents_pb.ts";
import { EventService } from "../../gen/proto/billing/admin/v1/events_pb.ts";
import { InvoiceService } from "../../gen/proto/billing/admin/v1/invoices_pb.ts";
import {
  AccountMappingService,
  LedgerConnectionService,
} from "../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { LedgerReconciliationService } from "../../gen/proto/billing/admin/v1/ledger_reconciliation_pb.ts";
import { LedgerSyncService } from "../../gen/proto/billing/admin/v1/ledger_sync_pb.ts";
import { MeterService } from "../../gen/proto/billing/admin/v1/meters_pb.ts";
import { OperatorService } from "../../gen/proto/billing/admin/v1/operators_pb.ts";
import { OrganisationService } from "../../gen/proto/billing/admin/v1/organisations_pb.ts";
import { OverviewService } from "../../gen/proto/billing/admin/v1/overview_pb.ts";
import { SavedViewService } from "../../gen/proto/billing/admin/v1/saved_views_pb.ts";
import { SearchService } from "../../gen/proto/billing/admin/v1/search_pb.ts";
import { SessionService } from "../../gen/proto/billing/admin/v1/sessions_pb.ts";
import { SubscriptionService } from "../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { TestClockService } from "../../gen/proto/billing/admin/v1/test_clock_pb.ts";
import { UsageService } from "../../gen/proto/billing/admin/v1/usage_pb.ts";
import { WebhookService } from "../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import type { OperatorCaller } from "../../transport/rpc/caller.ts";
import { bind, type ServiceBinding } from "../../transport/rpc/implementation.ts";
import { apiKeyService } from "./api-keys.ts";
import { attentionService } from "./attention/attention.ts";
import { auditService } from "./audit.ts";
import { billingService } from "./billing.ts";
import { chargeService } from "./catalogue/charges.ts";
import { meterService } from "./catalogue/meters.ts";
import { planService } from "./catalogue/plans.ts";
import { customerService } from "./customers/customers.ts";
import type { AdminDependencies } from "./dependencies.ts";
import { documentService } from "./documents.ts";
import { accountMappingService } from "./ledger/account-mapping.ts";
import { ledgerConnectionService } from "./ledger/ledger-connections.ts";
import { ledgerSyncService } from "./ledger/ledger-sync.ts";
import { ledgerReconciliationService } from "./ledger/reconciliation.ts";
import { operatorService } from "./operators.ts";
import { organisationService } from "./organisations.ts";
import { overviewService } from "./overview.ts";
import { creditNoteService, invoiceService } from "./platform/documents.ts";
import { eventService } from "./platform/events.ts";
import { subscriptionService } from "./platform/subscriptions.ts";
import { savedViewService } from "./saved-views.ts";
import { searchService } from "./search.ts";
import { sessionService } from "./sessions.ts";
import { testClockService } from "./test-clock.ts";
import { usageService } from "./usage.ts";
import { webhookService } from "./webhooks/webhooks.ts";

/**
 * The bindings, in the order in which an organisation is set up. A new service needs a file here
 * and one line.
 */
export function adminServices(deps: AdminDependencies): readonly ServiceBinding<OperatorCaller>[] {
  return [
    bind(OrganisationService, organisationService(deps)),
    bind(LedgerConnectionService, ledgerConnectionService(deps)),
    bind(LedgerSyncService, ledgerSyncService(deps)),
    bind(LedgerReconciliationService, ledgerReconciliationService(deps)),
    bind(AccountMappingService, accountMappingService(deps)),
    bind(ApiKeyService, apiKeyService(deps)),
    bind(MeterService, meterService(deps)),
    bind(PlanService, planService(deps)),
    bind(ChargeService, chargeService(deps)),
    bind(CustomerService, customerService(deps)),
    bind(SubscriptionService, subscriptionService(deps)),
    bind(InvoiceService, invoiceService(deps)),
    bind(CreditNoteService, creditNoteService(deps)),
    bind(DocumentService, documentService(deps)),
    bind(BillingService, billingService(deps)),
    bind(UsageService, usageService(deps)),
    bind(TestClockService, testClockService(deps)),
    bind(EventService, eventService(deps)),
    bind(WebhookService, webhookService(deps)),
    bind(OverviewService, overviewService(deps)),
    bind(AttentionService, attentionService(deps)),
    bind(SearchService, searchService(deps)),
    bind(OperatorService, operatorService(deps)),
    bind(SessionService, sessionService(deps)),
    bind(SavedViewService, savedViewService(deps)),
    bind(AuditService, auditService(deps)),
  ];
}

/**
 * The reads that the console repeats by itself. They are no use of a session, which ends although a
 * page that nobody looks at stays open (ADMIN-17).
 */
export const unattended: ReadonlySet<string> = new Set(
  [
    SessionService.method.getSession,
    AttentionService.method.countAttention,
    OverviewService.method.getOverview,
  ].map(({ parent, name }) => `${parent.typeName}/${name}`),
);
