/** The domain's and the store's words and the enum values of the admin contract, in one table each. */
import type { MeterStatus as MeterStatusWord, MeterType as MeterTypeWord } from "../../domain/catalogue/meter.ts";
import type { FirstInvoiceStatus as FirstInvoiceStatusWord } from "../../domain/subscriptions/organisation-settings.ts";
import { CredentialStatus } from "../../gen/proto/billing/admin/v1/api_keys_pb.ts";
import { MeterType } from "../../gen/proto/billing/admin/v1/catalogue_pb.ts";
import { LedgerContactStatus } from "../../gen/proto/billing/admin/v1/customers_pb.ts";
import { DocumentKind, DocumentOperation, DocumentState } from "../../gen/proto/billing/admin/v1/documents_pb.ts";
import {
  LedgerAuthorisationStatus,
  LedgerGrant,
  LedgerKind,
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

/** The status that new invoices get. */
export const firstInvoiceStatuses = {
  draft: FirstInvoiceStatus.DRAFT,
  awaiting_approval: FirstInvoiceStatus.AWAITING_APPROVAL,
  approved: FirstInvoiceStatus.APPROVED,
} as const satisfies Record<FirstInvoiceStatusWord, FirstInvoiceStatus>;

/** Operators' roles. */
export const roles = {
  "read-only": OperatorRole.READ_ONLY,
  admin: OperatorRole.ADMIN,
  owner: OperatorRole.OWNER,
} as const satisfies Record<OperatorRoleWord, OperatorRole>;

/** Kinds of ledgers. */
export const ledgerKinds: Readonly<Record<string, LedgerKind>> = { xero: LedgerKind.XERO };

/** How connections came to be allowed in. */
export const ledgerGrants: Readonly<Record<string, LedgerGrant>> = {
  custom: LedgerGrant.CUSTOM,
  authorisation: LedgerGrant.AUTHORISATION,
};

/** How far an authorisation is. */
export const authorisationStatuses = {
  pending: LedgerAuthorisationStatus.PENDING,
  choose: LedgerAuthorisationStatus.CHOOSE,
  connected: LedgerAuthorisationStatus.CONNECTED,
  failed: LedgerAuthorisationStatus.FAILED,
  expired: LedgerAuthorisationStatus.EXPIRED,
} as const satisfies Record<ConsentView["status"], LedgerAuthorisationStatus>;

/** The lists to map onto. */
export const mappingKinds = {
  accounts: MappingKind.ACCOUNTS,
  tax_rates: MappingKind.TAX_RATES,
  currencies: MappingKind.CURRENCIES,
} as const satisfies Record<LedgerMappingKind, MappingKind>;

/** How the ledger has a contact. */
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

/** Where a document stands with the ledger. */
export const documentStates = {
  failed: DocumentState.FAILED,
  waiting: DocumentState.WAITING,
  synced: DocumentState.SYNCED,
  drift: DocumentState.DRIFT,
} as const satisfies Record<DocumentStateWord, DocumentState>;

/** What the ledger is asked for a document. */
export const documentOperations = {
  creation: DocumentOperation.CREATION,
  amendment: DocumentOperation.AMENDMENT,
  allocation: DocumentOperation.ALLOCATION,
} as const satisfies Record<DocumentOperationWord, DocumentOperation>;

/** Whether a meter takes usage. */
export const meterStatuses = {
  active: MeterStatus.ACTIVE,
  inactive: MeterStatus.INACTIVE,
} as const satisfies Record<MeterStatusWord, MeterStatus>;

/** How a plan prices a meter. */
export const meterTypes = {
  per_unit: MeterType.PER_UNIT,
  tiered: MeterType.TIERED,
  volume: MeterType.VOLUME,
  stairstep: MeterType.STAIRSTEP,
} as const satisfies Record<MeterTypeWord, MeterType>;

/** Where usage stands with billing. */
export const usageStates = {
  open: UsageState.OPEN,
  waiting: UsageState.WAITING,
  billed: UsageState.BILLED,
  not_billed: UsageState.NOT_BILLED,
} as const satisfies Record<UsageStateWord, UsageState>;

/** How a sandbox's clock goes. */
export const testClockStates = {
  real_time: TestClockState.REAL_TIME,
  standing: TestClockState.STANDING,
  advancing: TestClockState.ADVANCING,
} as const satisfies Record<TestClock["state"], TestClockState>;

/** Whether a key or token is let in now. */
export function credentialStatus(
  { expiresAt, revokedAt }: { readonly expiresAt: Date | null; readonly revokedAt: Date | null },
  now: Date,
): CredentialStatus {
  if (revokedAt !== null) return CredentialStatus.REVOKED;
  return expiresAt !== null && expiresAt <= now ? CredentialStatus.EXPIRED : CredentialStatus.ACTIVE;
}
