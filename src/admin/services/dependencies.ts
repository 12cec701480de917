/** What the admin services are built over, and what all their methods begin with. The composition root fills it in. */
import type { DescService } from "@bufbuild/protobuf";
import { Refusal, type RefusalCode } from "../../domain/refusal.ts";
import type { Ledger } from "../../ledger/port/ledger.ts";
import type { AdminStore } from "../../store/admin/admin-store.ts";
import type { Actor } from "../../store/admin/changes.ts";
import type { AdminOrganisation } from "../../store/admin/organisations.ts";
import { type DerivedKind, derivedId, newId } from "../../store/database/ids.ts";
import type { PageRequest } from "../../store/database/page.ts";
import type { EndpointKey } from "../../store/events/due-endpoints.ts";
import type { LedgerConnection } from "../../store/ledger-connection/connections.ts";
import type { StaleJobs } from "../../store/ledger-jobs/stale-jobs.ts";
import type { Call, OperatorCaller } from "../../transport/rpc/caller.ts";
import type { Implementation } from "../../transport/rpc/implementation.ts";
import type { AddressMode } from "../../webhooks/address.ts";
import type { LedgerApp } from "../oauth/consent.ts";

/** Starts the workflow of such a piece of work; false where Temporal could not be reached. */
type Start<Kind extends StaleJobs["kind"]> = (
  input: Omit<Extract<StaleJobs, { readonly kind: Kind }>, "kind">,
) => Promise<boolean>;

/** The store, the ledgers, and the way to have documents settled and what is due performed. */
export interface AdminParts {
  readonly store: AdminStore;
  /** The adapter of an organisation's connection, kept from call to call. */
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** An adapter to try credentials with; the caller closes it. */
  readonly connect: (connection: LedgerConnection) => Ledger;
  /** Our app at the ledger, for connections by consent; null where its credentials are not set. */
  readonly ledgerApp: LedgerApp | null;
  /** How many decimal places a kind of ledger keeps of an amount. */
  readonly amountPlaces: (ledgerKind: string) => number;
  /** How long one call to a ledger may take. */
  readonly callDeadlineMs: number;
  /** Wakes the organisation's ledger workflow; false where Temporal could not be reached. */
  readonly wake: (organisationId: string) => Promise<boolean>;
  /** Starts the organisation's billing workflow; false where Temporal could not be reached. */
  readonly startBilling: (organisationId: string) => Promise<boolean>;
  /** Starts the workflow of the organisation's test clock; false where Temporal could not be reached, and the dispatcher will. */
  readonly startClock: (organisationId: string) => Promise<boolean>;
  /** Has the organisation's ledger looked at; false where Temporal could not be reached. */
  readonly startLedgerSync: (organisationId: string) => Promise<boolean>;
  /** Starts the workflow of an invoice's amendment. */
  readonly startAmendment: Start<"amendment">;
  /** Starts the workflow that puts a subscription's credit on its invoices. */
  readonly startAllocation: Start<"allocation">;
  /**
   * Has what is due to a webhook endpoint delivered now; false where Temporal could not be reached,
   * and the next scan of changes will.
   */
  readonly startDeliveries: (endpoint: EndpointKey) => Promise<boolean>;
  /** Which addresses ledgers may have. */
  readonly ledgerAddresses: AddressMode;
  /** Which addresses webhook endpoints may have. */
  readonly webhookAddresses: AddressMode;
}

/** What a method knows of its call. */
export type AdminCall = Call<OperatorCaller>;

/** The functions of an admin service. */
export type AdminImplementation<S extends DescService> = Implementation<S, OperatorCaller>;

/** Who does it, for the audit log. */
export function actorOf({ caller, operation, requestId }: AdminCall): Actor {
  const { operatorId, name, tokenId } = caller;
  return { operatorId, operatorName: name, tokenId, operation, requestId };
}

/**
 * The id of what a call creates: derived from its Idempotency-Key, so that a repeat after a crash finds what the first
 * made.
 */
export function identityOf(call: AdminCall, kind: DerivedKind): string {
  return call.idempotencyKey === null ? newId() : derivedId(kind, call.caller.tokenId, call.idempotencyKey);
}

/** Refuses `idempotency_conflict` where the key of a call made something else before, its 24 hours being over. */
export function requireSame(isSame: boolean): void {
  if (isSame) return;
  const message = "This Idempotency-Key created something else by another request.";
  throw new Refusal("idempotency_conflict", message, "Idempotency-Key");
}

/** The organisation that a call names. Refuses `organisation_not_found`. */
export async function requireOrganisation({ store }: AdminParts, id: string): Promise<AdminOrganisation> {
  return required(await store.organisations.get(id), "organisation_not_found");
}

/** What time it is for an organisation: what is made of its own data now was created then. decisions §4 "Sandbox". */
export function nowOf({ testClock }: AdminOrganisation): Date {
  return testClock ?? new Date();
}

/** What was found. Refuses with `code` where that is nothing. */
export function required<T>(found: T | null, code: RefusalCode & `${string}_not_found`): T {
  if (found !== null) return found;
  const kind = code.slice(0, -"_not_found".length).replaceAll("_", " ");
  throw new Refusal(code, `There is no ${kind} with this id.`);
}

/** How many objects a page has when the request does not say. Spec: Lists and pagination. */
const defaultLimit = 25;

/** The page that a request asks for. */
export function pageOf(request: {
  readonly limit?: number | undefined;
  readonly startingAfter?: string | undefined;
}): PageRequest {
  return { limit: request.limit ?? defaultLimit, startingAfter: request.startingAfter ?? null };
}
