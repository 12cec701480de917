/** The states of the API in words, with what each asks of a person. */
import type { StateWords, Tone } from "../design/values/state.tsx";
import { CredentialStatus } from "../gen/billing/admin/v1/api_keys_pb.ts";
import { DocumentState } from "../gen/billing/admin/v1/documents_pb.ts";
import { MeterStatus } from "../gen/billing/admin/v1/meters_pb.ts";
import { OperatorRole } from "../gen/billing/admin/v1/operators_pb.ts";
import { UsageState } from "../gen/billing/admin/v1/usage_pb.ts";
import {
  WebhookDeliveryState,
  WebhookEndpointStatus,
} from "../gen/billing/admin/v1/webhooks_pb.ts";
import { PlanType } from "../gen/billing/v1/catalogue_pb.ts";
import { CatalogueStatus, DocumentStatus } from "../gen/billing/v1/common_pb.ts";
import { AllocationStatus } from "../gen/billing/v1/credit_notes_pb.ts";
import { CustomerStatus } from "../gen/billing/v1/customers_pb.ts";
import { InvoiceType } from "../gen/billing/v1/invoices_pb.ts";
import { SubscriptionStatus } from "../gen/billing/v1/subscriptions_pb.ts";

const say = (word: string, tone: Tone): StateWords => ({ word, tone });

/** A state that this page does not know yet. */
const unknown = say("Unknown", "quiet");

/** Returns the words of a value. */
export function wordsOf(table: Readonly<Record<number, StateWords>>, value: number): StateWords {
  return table[value] ?? unknown;
}

/** The state of a subscription. */
export const subscriptionStates: Readonly<Record<number, StateWords>> = {
  [SubscriptionStatus.PENDING]: say("Pending", "info"),
  [SubscriptionStatus.ACTIVE]: say("Active", "ok"),
  [SubscriptionStatus.COMPLETE]: say("Complete", "quiet"),
  [SubscriptionStatus.ENDED]: say("Ended", "quiet"),
};

/** The state of a document in the ledger. */
export const documentStatuses: Readonly<Record<number, StateWords>> = {
  [DocumentStatus.DRAFT]: say("Draft", "info"),
  [DocumentStatus.AWAITING_APPROVAL]: say("Awaiting approval", "info"),
  [DocumentStatus.APPROVED]: say("Approved", "ok"),
  [DocumentStatus.PAID]: say("Paid", "ok"),
  [DocumentStatus.VOIDED]: say("Voided", "quiet"),
  [DocumentStatus.DELETED]: say("Deleted", "quiet"),
  [DocumentStatus.SCHEDULED]: say("Scheduled", "info"),
  [DocumentStatus.NOT_IN_EXTERNAL]: say("Not in the ledger", "warn"),
};

/** Whether a document has reached the ledger. */
export const documentStates: Readonly<Record<number, StateWords>> = {
  [DocumentState.FAILED]: say("Refused by the ledger", "bad"),
  [DocumentState.WAITING]: say("On its way", "info"),
  [DocumentState.SYNCED]: say("In the ledger", "ok"),
  [DocumentState.DRIFT]: say("The ledger differs", "warn"),
};

/** The state of a plan or of a charge. */
export const catalogueStates: Readonly<Record<number, StateWords>> = {
  [CatalogueStatus.DRAFT]: say("Draft", "info"),
  [CatalogueStatus.ACTIVE]: say("Active", "ok"),
  [CatalogueStatus.INACTIVE]: say("Inactive", "quiet"),
  [CatalogueStatus.LEGACY]: say("Legacy", "warn"),
};

/** The state of a customer. */
export const customerStates: Readonly<Record<number, StateWords>> = {
  [CustomerStatus.ACTIVE]: say("Active", "ok"),
  [CustomerStatus.INACTIVE]: say("Inactive", "quiet"),
};

/** The state of a meter. */
export const meterStates: Readonly<Record<number, StateWords>> = {
  [MeterStatus.ACTIVE]: say("Active", "ok"),
  [MeterStatus.INACTIVE]: say("Inactive", "quiet"),
};

/** The state of usage of a period. */
export const usageStates: Readonly<Record<number, StateWords>> = {
  [UsageState.OPEN]: say("Open", "info"),
  [UsageState.WAITING]: say("Waiting to be billed", "info"),
  [UsageState.BILLED]: say("Billed", "ok"),
  [UsageState.NOT_BILLED]: say("Not billed", "quiet"),
};

/** The state of a key or of a token. */
export const credentialStates: Readonly<Record<number, StateWords>> = {
  [CredentialStatus.ACTIVE]: say("Active", "ok"),
  [CredentialStatus.EXPIRED]: say("Expired", "quiet"),
  [CredentialStatus.REVOKED]: say("Revoked", "quiet"),
};

/** The state of an endpoint. */
export const endpointStates: Readonly<Record<number, StateWords>> = {
  [WebhookEndpointStatus.ENABLED]: say("Enabled", "ok"),
  [WebhookEndpointStatus.DISABLED]: say("Disabled", "bad"),
};

/** The state of a delivery. */
export const deliveryStates: Readonly<Record<number, StateWords>> = {
  [WebhookDeliveryState.PENDING]: say("Pending", "info"),
  [WebhookDeliveryState.DELIVERED]: say("Delivered", "ok"),
  [WebhookDeliveryState.EXHAUSTED]: say("Given up", "bad"),
  [WebhookDeliveryState.CANCELLED]: say("Cancelled", "quiet"),
};

/** What became of the credit of a credit note. */
export const allocationStates: Readonly<Record<number, StateWords>> = {
  [AllocationStatus.UNAPPLIED]: say("Unapplied", "info"),
  [AllocationStatus.PARTIALLY_APPLIED]: say("Partly applied", "info"),
  [AllocationStatus.APPLIED]: say("Applied", "ok"),
  [AllocationStatus.NOT_APPLICABLE]: say("Not applicable", "quiet"),
};

/** What a plan charges for. */
export const planTypes: Readonly<Record<number, string>> = {
  [PlanType.FLAT_FEE]: "Flat fee",
  [PlanType.PER_UNIT]: "Per unit",
  [PlanType.TIERED]: "Tiered",
  [PlanType.VOLUME]: "Volume",
  [PlanType.STAIRSTEP]: "Stairstep",
};

/** What an invoice is for. */
export const invoiceTypes: Readonly<Record<number, string>> = {
  [InvoiceType.FIRST]: "First invoice",
  [InvoiceType.RENEWAL]: "Renewal",
  [InvoiceType.CHANGE]: "Change of units",
  [InvoiceType.USAGE]: "Usage",
};

/** What an operator may do. */
export const operatorRoles: Readonly<Record<number, string>> = {
  [OperatorRole.READ_ONLY]: "May read",
  [OperatorRole.ADMIN]: "Admin",
  [OperatorRole.OWNER]: "Owner",
};
