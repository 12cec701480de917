/**
 * Maps the domain's words to the contract's enum values, in one table each. A word without a value
 * does not compile.
 */
import type { AllocationStatus as AllocationStatusWord } from "../domain/billing/allocation-status.ts";
import type {
  CatalogueStatus as CatalogueStatusWord,
  PlanType as PlanTypeWord,
} from "../domain/catalogue/plan.ts";
import type { Customer } from "../domain/customers/customer.ts";
import type {
  DocumentStatus as DocumentStatusWord,
  InvoiceType as InvoiceTypeWord,
  LineKind,
} from "../domain/model/invoice.ts";
import type { SubscriptionStatus as SubscriptionStatusWord } from "../domain/model/subscription.ts";
import type {
  ChangeDocument as ChangeDocumentWord,
  ProrationBehaviour as ProrationBehaviourWord,
} from "../domain/subscriptions/change-units.ts";
import type { EndWhen as EndWhenWord } from "../domain/subscriptions/end.ts";
import { PlanType } from "../gen/proto/billing/v1/catalogue_pb.ts";
import {
  CatalogueStatus,
  DocumentStatus,
  LedgerSyncStatus,
} from "../gen/proto/billing/v1/common_pb.ts";
import { AllocationState, AllocationStatus } from "../gen/proto/billing/v1/credit_notes_pb.ts";
import { CustomerStatus } from "../gen/proto/billing/v1/customers_pb.ts";
import { InvoiceLineKind, InvoiceType } from "../gen/proto/billing/v1/invoices_pb.ts";
import {
  ChangeDocument,
  EndWhen,
  ProrationBehaviour,
  SubscriptionStatus,
} from "../gen/proto/billing/v1/subscriptions_pb.ts";

/** Maps customer statuses to enum values. */
export const customerStatuses = {
  active: CustomerStatus.ACTIVE,
  inactive: CustomerStatus.INACTIVE,
} as const satisfies Record<Customer["status"], CustomerStatus>;

/** Maps statuses of plans and charges to enum values. */
export const catalogueStatuses = {
  draft: CatalogueStatus.DRAFT,
  active: CatalogueStatus.ACTIVE,
  inactive: CatalogueStatus.INACTIVE,
  legacy: CatalogueStatus.LEGACY,
} as const satisfies Record<CatalogueStatusWord, CatalogueStatus>;

/** Maps plan types to enum values. */
export const planTypes = {
  flat_fee: PlanType.FLAT_FEE,
  per_unit: PlanType.PER_UNIT,
  tiered: PlanType.TIERED,
  volume: PlanType.VOLUME,
  stairstep: PlanType.STAIRSTEP,
} as const satisfies Record<PlanTypeWord, PlanType>;

/** Maps subscription statuses to enum values. */
export const subscriptionStatuses = {
  pending: SubscriptionStatus.PENDING,
  active: SubscriptionStatus.ACTIVE,
  complete: SubscriptionStatus.COMPLETE,
  ended: SubscriptionStatus.ENDED,
} as const satisfies Record<SubscriptionStatusWord, SubscriptionStatus>;

/** Maps statuses of invoices and credit notes to enum values. */
export const documentStatuses = {
  draft: DocumentStatus.DRAFT,
  awaiting_approval: DocumentStatus.AWAITING_APPROVAL,
  approved: DocumentStatus.APPROVED,
  paid: DocumentStatus.PAID,
  voided: DocumentStatus.VOIDED,
  deleted: DocumentStatus.DELETED,
  scheduled: DocumentStatus.SCHEDULED,
  not_in_external: DocumentStatus.NOT_IN_EXTERNAL,
} as const satisfies Record<DocumentStatusWord, DocumentStatus>;

/** Maps invoice types to enum values. */
export const invoiceTypes = {
  first: InvoiceType.FIRST,
  renewal: InvoiceType.RENEWAL,
  change: InvoiceType.CHANGE,
  usage: InvoiceType.USAGE,
} as const satisfies Record<InvoiceTypeWord, InvoiceType>;

/** Maps kinds of invoice lines to enum values. */
export const lineKinds = {
  plan: InvoiceLineKind.PLAN,
  proration: InvoiceLineKind.PRORATION,
  charge: InvoiceLineKind.CHARGE,
  usage: InvoiceLineKind.USAGE,
} as const satisfies Record<LineKind, InvoiceLineKind>;

/** Maps sync statuses to enum values: whether the ledger has a document (OBJECT-13). */
export const syncStatuses = {
  synced: LedgerSyncStatus.SYNCED,
  failed: LedgerSyncStatus.FAILED,
} as const;

/**
 * Maps allocation statuses to enum values: how much of a credit note has been applied (OBJECT-11).
 */
export const allocationStatuses = {
  unapplied: AllocationStatus.UNAPPLIED,
  partially_applied: AllocationStatus.PARTIALLY_APPLIED,
  applied: AllocationStatus.APPLIED,
  not_applicable: AllocationStatus.NOT_APPLICABLE,
} as const satisfies Record<AllocationStatusWord, AllocationStatus>;

/** Maps the states of an allocation to enum values: `active` or `removed` (OBJECT-11). */
export const allocationStates = {
  active: AllocationState.ACTIVE,
  removed: AllocationState.REMOVED,
} as const;

/** Maps proration behaviours to enum values: when a prorated charge is billed. */
export const prorationBehaviours = {
  charge_immediately: ProrationBehaviour.CHARGE_IMMEDIATELY,
  charge_on_renewal: ProrationBehaviour.CHARGE_ON_RENEWAL,
} as const satisfies Record<ProrationBehaviourWord, ProrationBehaviour>;

/** Maps the `document` option to enum values: how a change inside the invoice window is billed. */
export const changeDocuments = {
  amend: ChangeDocument.AMEND,
  separate: ChangeDocument.SEPARATE,
} as const satisfies Record<ChangeDocumentWord, ChangeDocument>;

/** Maps the `when` option to enum values: when a subscription ends (END-1). */
export const endWhens = {
  period_end: EndWhen.PERIOD_END,
  now: EndWhen.NOW,
} as const satisfies Record<EndWhenWord, EndWhen>;

/**
 * Returns the word of an enum value in a request, or null if the request has none. The value was
 * validated before.
 */
export function wordOf<Word extends string>(
  table: Readonly<Record<Word, number>>,
  value: number | undefined,
): Word | null {
  if (value === undefined) return null;
  for (const word in table) if (table[word] === value) return word;
  return null;
}
