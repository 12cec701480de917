/** Every method of the contract, by its services. */
import type { DescFile, DescMethod } from "@bufbuild/protobuf";
import { file_billing_admin_v1_api_keys } from "../../src/gen/proto/billing/admin/v1/api_keys_pb.ts";
import { file_billing_admin_v1_attention } from "../../src/gen/proto/billing/admin/v1/attention_pb.ts";
import { file_billing_admin_v1_audit } from "../../src/gen/proto/billing/admin/v1/audit_pb.ts";
import { file_billing_admin_v1_billing } from "../../src/gen/proto/billing/admin/v1/billing_pb.ts";
import { file_billing_admin_v1_catalogue } from "../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import { file_billing_admin_v1_credit_notes } from "../../src/gen/proto/billing/admin/v1/credit_notes_pb.ts";
import { file_billing_admin_v1_customers } from "../../src/gen/proto/billing/admin/v1/customers_pb.ts";
import { file_billing_admin_v1_documents } from "../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { file_billing_admin_v1_events } from "../../src/gen/proto/billing/admin/v1/events_pb.ts";
import { file_billing_admin_v1_invoices } from "../../src/gen/proto/billing/admin/v1/invoices_pb.ts";
import { file_billing_admin_v1_ledger_connections } from "../../src/gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { file_billing_admin_v1_ledger_reconciliation } from "../../src/gen/proto/billing/admin/v1/ledger_reconciliation_pb.ts";
import { file_billing_admin_v1_ledger_sync } from "../../src/gen/proto/billing/admin/v1/ledger_sync_pb.ts";
import { file_billing_admin_v1_meters } from "../../src/gen/proto/billing/admin/v1/meters_pb.ts";
import { file_billing_admin_v1_operators } from "../../src/gen/proto/billing/admin/v1/operators_pb.ts";
import { file_billing_admin_v1_organisations } from "../../src/gen/proto/billing/admin/v1/organisations_pb.ts";
import { file_billing_admin_v1_overview } from "../../src/gen/proto/billing/admin/v1/overview_pb.ts";
import { file_billing_admin_v1_saved_views } from "../../src/gen/proto/billing/admin/v1/saved_views_pb.ts";
import { file_billing_admin_v1_search } from "../../src/gen/proto/billing/admin/v1/search_pb.ts";
import { file_billing_admin_v1_sessions } from "../../src/gen/proto/billing/admin/v1/sessions_pb.ts";
import { file_billing_admin_v1_subscriptions } from "../../src/gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { file_billing_admin_v1_test_clock } from "../../src/gen/proto/billing/admin/v1/test_clock_pb.ts";
import { file_billing_admin_v1_usage } from "../../src/gen/proto/billing/admin/v1/usage_pb.ts";
import { file_billing_admin_v1_webhooks } from "../../src/gen/proto/billing/admin/v1/webhooks_pb.ts";
import { file_billing_v1_catalogue } from "../../src/gen/proto/billing/v1/catalogue_pb.ts";
import { file_billing_v1_credit_notes } from "../../src/gen/proto/billing/v1/credit_notes_pb.ts";
import { file_billing_v1_customers } from "../../src/gen/proto/billing/v1/customers_pb.ts";
import { file_billing_v1_events } from "../../src/gen/proto/billing/v1/events_pb.ts";
import { file_billing_v1_invoices } from "../../src/gen/proto/billing/v1/invoices_pb.ts";
import { file_billing_v1_organisation } from "../../src/gen/proto/billing/v1/organisation_pb.ts";
import { file_billing_v1_subscriptions } from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { file_billing_v1_usage } from "../../src/gen/proto/billing/v1/usage_pb.ts";

const files: readonly DescFile[] = [
  file_billing_v1_organisation,
  file_billing_v1_customers,
  file_billing_v1_catalogue,
  file_billing_v1_subscriptions,
  file_billing_v1_invoices,
  file_billing_v1_credit_notes,
  file_billing_v1_usage,
  file_billing_v1_events,
];

/** The methods of the public API. */
export const methods: readonly DescMethod[] = files.flatMap(({ services }) =>
  services.flatMap((service) => service.methods),
);

const adminFiles: readonly DescFile[] = [
  file_billing_admin_v1_organisations,
  file_billing_admin_v1_ledger_connections,
  file_billing_admin_v1_ledger_reconciliation,
  file_billing_admin_v1_ledger_sync,
  file_billing_admin_v1_api_keys,
  file_billing_admin_v1_meters,
  file_billing_admin_v1_catalogue,
  file_billing_admin_v1_customers,
  file_billing_admin_v1_subscriptions,
  file_billing_admin_v1_invoices,
  file_billing_admin_v1_credit_notes,
  file_billing_admin_v1_documents,
  file_billing_admin_v1_billing,
  file_billing_admin_v1_usage,
  file_billing_admin_v1_test_clock,
  file_billing_admin_v1_events,
  file_billing_admin_v1_webhooks,
  file_billing_admin_v1_overview,
  file_billing_admin_v1_attention,
  file_billing_admin_v1_saved_views,
  file_billing_admin_v1_search,
  file_billing_admin_v1_operators,
  file_billing_admin_v1_sessions,
  file_billing_admin_v1_audit,
];

/** The methods of the admin API. */
export const adminMethods: readonly DescMethod[] = adminFiles.flatMap(({ services }) =>
  services.flatMap((service) => service.methods),
);
