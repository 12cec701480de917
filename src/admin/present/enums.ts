/**
 * One table for each enum of the admin contract, from the words of the domain and the store to the
 * enum's values.
 */
import type {
  MeterStatus as MeterStatusWord,
  MeterType as MeterTypeWord,
} from "../../domain/catalogue/meter.ts";
import type { FirstInvoiceStatus as FirstInvoiceStatusWord } from "../../domain/subscriptions/organisation-settings.ts";
import { CredentialStatus } from "../../gen/proto/billing/admin/v1/api_keys_pb.ts";
import { MeterType } from "../../gen/proto/billing/admin/v1/catalogue_pb.ts";
import { LedgerContactStatus } from "../../gen/proto/billing/admin/v1/customers_pb.ts";
import {
  DocumentKind,
  DocumentOperation,
  DocumentState,
} from "../../gen/proto/billing/admin/v1/documents_pb.ts";
import {
  LedgerAuthorisationStatus,
  LedgerGrant,
  MappingKind,
} from "../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { MeterStatus } from "../../gen/proto/billing/admin/v1/meters_pb.ts";
import { OperatorRole } from "../../gen/proto/billing/admin/v1/operators_pb.ts";
import { FirstInvoiceStatus } from "../../gen/proto/billing/admin/v1/organisations_pb.ts";
import { TestClockState } from "../../gen/proto/billing/admin/v1/test_clock_pb.ts";
import { UsageState } from "../../gen/proto/billing/admin/v1/usage_pb.ts";
import type { LedgerContact, LedgerMappingKind } from "../../ledger/port/ledger.ts";
import type {
  DocumentKind as DocumentKindWord,
  DocumentOperation as DocumentOperationWord,
  DocumentState as DocumentStateWord,
} from "../../store/admin/documents/document-listing.ts";
import type { ConsentView } from "../../store/admin/ledger/consents.ts";
import type { TestClock } from "../../store/admin/test-clock.ts";
import type { UsageState as UsageStateWord } from "../../store/admin/usage/usage.ts";
import type { OperatorRole as OperatorRoleWord } from "../../transport/rpc/caller.ts";

/** The status with which new invoices are created. DOCUMENT-1 */
export const firstInvoiceStatuses = {
  draft: FirstInvoiceStatus.DRAFT,
  awaiting_approval: FirstInvoiceStatus.AWAITING_APPROVAL,
  approved: FirstInvoiceStatus.APPROVED,
} as const satisfies Record<FirstInvoiceStatusWord, FirstInvoiceStatus>;

/** Operators' roles. ADMIN-1 */
export const roles = {
  "read-only": OperatorRole.READ_ONLY,
  admin: OperatorRole.ADMIN,
  owner: OperatorRole.OWNER,
} as const satisfies Record<OperatorRoleWord, OperatorRole>;

/** How a connection is authorised: by the organisation's own app, or by a person's consent. */
export const ledgerGrants: Readonly<Record<string, LedgerGrant>> = {
  custom: LedgerGrant.CUSTOM,
  authorisation: LedgerGrant.AUTHORISATION,
};

/** The progress of an authorisation. */
export const authorisationStatuses = {
  pending: LedgerAuthorisationStatus.PENDING,
  choose: LedgerAuthorisationStatus.CHOOSE,
  connected: LedgerAuthorisationStatus.CONNECTED,
  failed: LedgerAuthorisationStatus.FAILED,
  expired: LedgerAuthorisationStatus.EXPIRED,
} as const satisfies Record<ConsentView["status"], LedgerAuthorisationStatus>;

/** The ledger's lists from which codes are mapped. */
export const mappingKinds = {
  accounts: MappingKind.ACCOUNTS,
  tax_rates: MappingKind.TAX_RATES,
  currencies: MappingKind.CURRENCIES,
} as const satisfies Record<LedgerMappingKind, MappingKind>;

/** The status of a contact in the ledger. */
export const contactStatuses = {
  active: LedgerContactStatus.ACTIVE,
  archived: LedgerContactStatus.ARCHIVED,
  erased: LedgerContactStatus.ERASED,
} as const satisfies Record<LedgerContact["status"], LedgerContactStatus>;

/** Kinds of documents. */
export const documentKinds = {
  invoice: DocumentKind.INVOICE,
  credit_note: DocumentKind.CREDIT_NOTE,
} as const satisfies Record<DocumentKindWord, DocumentKind>;

/** The state of a document's ledger job. */
export const documentStates = {
  failed: DocumentState.FAILED,
  waiting: DocumentState.WAITING,
  synced: DocumentState.SYNCED,
  drift: DocumentState.DRIFT,
} as const satisfies Record<DocumentStateWord, DocumentState>;

/** The ledger job of a document: creation, amendment or allocation. */
export const documentOperations = {
  creation: DocumentOperation.CREATION,
  amendment: DocumentOperation.AMENDMENT,
  allocation: DocumentOperation.ALLOCATION,
} as const satisfies Record<DocumentOperationWord, DocumentOperation>;

/** Whether a meter accepts usage. */
export const meterStatuses = {
  active: MeterStatus.ACTIVE,
  inactive: MeterStatus.INACTIVE,
} as const satisfies Record<MeterStatusWord, MeterStatus>;

/** The pricing models of a plan's meter. CATALOGUE-8 */
export const meterTypes = {
  per_unit: MeterType.PER_UNIT,
  tiered: MeterType.TIERED,
  volume: MeterType.VOLUME,
  stairstep: MeterType.STAIRSTEP,
} as const satisfies Record<MeterTypeWord, MeterType>;

/** The billing state of usage. */
export const usageStates = {
  open: UsageState.OPEN,
  waiting: UsageState.WAITING,
  billed: UsageState.BILLED,
  not_billed: UsageState.NOT_BILLED,
} as const satisfies Record<UsageStateWord, UsageState>;

/** The states of a sandbox's test clock. */
export const testClockStates = {
  real_time: TestClockState.REAL_TIME,
  standing: TestClockState.STANDING,
  advancing: TestClockState.ADVANCING,
} as const satisfies Record<TestClock["state"], TestClockState>;

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
