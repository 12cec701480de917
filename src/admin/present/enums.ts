/**
 * Enum values of the admin contract by the words of the domain and the store. The words are derived
 * from the generated enums, as those of the public contract are.
 */
import { CredentialStatus } from "../../gen/proto/billing/admin/v1/api_keys_pb.ts";
import { AttentionKind } from "../../gen/proto/billing/admin/v1/attention_pb.ts";
import { LeftoverKind } from "../../gen/proto/billing/admin/v1/billing_pb.ts";
import { LedgerContactStatus } from "../../gen/proto/billing/admin/v1/customers_pb.ts";
import {
  AttemptOutcome,
  DocumentJob,
  DocumentKind,
  DocumentState,
} from "../../gen/proto/billing/admin/v1/documents_pb.ts";
import {
  LedgerAuthorisationStatus,
  LedgerGrant,
  MappingKind,
} from "../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { UnknownDocumentState } from "../../gen/proto/billing/admin/v1/ledger_reconciliation_pb.ts";
import { MeterStatus } from "../../gen/proto/billing/admin/v1/meters_pb.ts";
import { OperatorRole } from "../../gen/proto/billing/admin/v1/operators_pb.ts";
import { FirstInvoiceStatus } from "../../gen/proto/billing/admin/v1/organisations_pb.ts";
import { SearchedBy } from "../../gen/proto/billing/admin/v1/search_pb.ts";
import {
  RequesterKind,
  TimelineGroup,
  TimelineKind,
} from "../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { TestClockState } from "../../gen/proto/billing/admin/v1/test_clock_pb.ts";
import { UsageState } from "../../gen/proto/billing/admin/v1/usage_pb.ts";
import {
  WebhookDeliveryState,
  WebhookEndpointStatus,
} from "../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import { byWord } from "../../present/enums.ts";

/** Enum values of organisations, their test clocks and operators. DOCUMENT-1, CLOCK-1, ADMIN-1 */
export const firstInvoiceStatuses = byWord(FirstInvoiceStatus);
export const testClockStates = byWord(TestClockState);
export const roles = byWord(OperatorRole);

/** Enum values of the grants by which a ledger is connected. */
export const ledgerGrants: Readonly<Record<string, LedgerGrant>> = byWord(LedgerGrant);

/** Enum values of the authorisations of a ledger connection. */
export const authorisationStatuses = byWord(LedgerAuthorisationStatus);

/** Enum values of the mappings to accounts and tax types. */
export const mappingKinds = byWord(MappingKind);

/** Enum values of contacts in the ledger. */
export const contactStatuses = byWord(LedgerContactStatus);

/** Enum values of documents and their ledger jobs. */
export const documentKinds = byWord(DocumentKind);
export const documentStates = byWord(DocumentState);
export const documentJobs = byWord(DocumentJob);
export const attemptOutcomes = byWord(AttemptOutcome);

/** Enum values of what faults of earlier versions left. */
export const leftoverKinds = byWord(LeftoverKind);

/** Enum values of a timeline's entries, their groups, and who requested them. */
export const timelineKinds = byWord(TimelineKind);
export const timelineGroups = byWord(TimelineGroup);
export const requesterKinds = byWord(RequesterKind);

/** Enum values of documents that a restored database does not know. */
export const unknownDocumentStates = byWord(UnknownDocumentState);

/** Enum values of what waits for a person, and of what a search finds objects by. */
export const attentionKinds = byWord(AttentionKind);
export const searchedBys = byWord(SearchedBy);

/** Enum values of meters and of their usage. */
export const meterStatuses = byWord(MeterStatus);
export const usageStates = byWord(UsageState);

/** Enum values of the deliveries of a webhook endpoint. */
export const deliveryStates = byWord(WebhookDeliveryState);

/** Enum values of webhook endpoints. A stored status may be newer than this code. */
export const endpointStatuses: Readonly<Record<string, WebhookEndpointStatus>> =
  byWord(WebhookEndpointStatus);

/** Whether a key or token is active, expired or revoked at `now`. */
export function credentialStatus(
  { expiresAt, revokedAt }: { readonly expiresAt: Date | null; readonly revokedAt: Date | null },
  now: Date,
): CredentialStatus {
  if (revokedAt !== null) return CredentialStatus.REVOKED;
  return expiresAt !== null && expiresAt <= now
    ? CredentialStatus.EXPIRED
    : CredentialStatus.ACTIVE;
}
