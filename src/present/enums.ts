/**
 * Maps words of the domain to enum values of the contract. The words are derived from the generated
 * enums: `PLAN_TYPE_FLAT_FEE` is `flat_fee`. A presenter does not compile for a word without a
 * value. A reader of requests does not compile for a value without a word of the domain.
 */
import { PlanType } from "../gen/proto/billing/v1/catalogue_pb.ts";
import {
  CatalogueStatus,
  DocumentStatus,
  LedgerSyncStatus,
} from "../gen/proto/billing/v1/common_pb.ts";
import { AllocationState, AllocationStatus } from "../gen/proto/billing/v1/credit_notes_pb.ts";
import { CustomerStatus } from "../gen/proto/billing/v1/customers_pb.ts";
import { InvoiceLineKind, InvoiceType } from "../gen/proto/billing/v1/invoices_pb.ts";
import { PreviewAssumption } from "../gen/proto/billing/v1/previews_pb.ts";
import {
  ChangeDocument,
  EndWhen,
  ProrationBehaviour,
  SubscriptionStatus,
} from "../gen/proto/billing/v1/subscriptions_pb.ts";

/**
 * The values whose word is not their name in lower case. An operator's role is also a scope of the
 * contract, and scopes have a hyphen.
 */
const exceptions = { READ_ONLY: "read-only" } as const;

type Exceptions = typeof exceptions;

type EnumWord<Name extends string> = Name extends keyof Exceptions
  ? Exceptions[Name]
  : Lowercase<Name>;

/** The values of an enum by their words. The zero value means unset and has no word. */
export type EnumByWord<Values> = {
  readonly [Name in Exclude<keyof Values & string, "UNSPECIFIED"> as EnumWord<Name>]: Values[Name];
};

/** Returns the values of a generated enum by their words. */
export function byWord<Values extends Readonly<Record<string, number>>>(
  values: Values,
): EnumByWord<Values> {
  const words: Readonly<Record<string, string>> = exceptions;
  const entries = Object.entries(values)
    .filter(([, value]) => value !== 0)
    .map(([name, value]) => [words[name] ?? name.toLowerCase(), value]);
  return Object.fromEntries(entries);
}

/** Enum values of customers and of the catalogue. */
export const customerStatuses = byWord(CustomerStatus);
export const catalogueStatuses = byWord(CatalogueStatus);
export const planTypes = byWord(PlanType);

/** Enum values of subscriptions, and of the options of a change of units and of an end. */
export const subscriptionStatuses = byWord(SubscriptionStatus);
export const prorationBehaviours = byWord(ProrationBehaviour);
export const changeDocuments = byWord(ChangeDocument);
export const endWhens = byWord(EndWhen);
export const previewAssumptions = byWord(PreviewAssumption);

/** Enum values of invoices and credit notes. OBJECT-11, OBJECT-13 */
export const documentStatuses = byWord(DocumentStatus);
export const invoiceTypes = byWord(InvoiceType);
export const lineKinds = byWord(InvoiceLineKind);
export const syncStatuses = byWord(LedgerSyncStatus);
export const allocationStatuses = byWord(AllocationStatus);
export const allocationStates = byWord(AllocationState);

/**
 * Returns the word of an enum value in a request, or null if the request has none. The value was
 * validated before: a number that the contract does not have is refused there.
 */
export function wordOf<Word extends string>(
  table: Readonly<Record<Word, number>>,
  value: number | undefined,
): Word | null {
  if (value === undefined) return null;
  for (const word in table) if (table[word] === value) return word;
  return null;
}
