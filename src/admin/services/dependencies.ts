/**
 * The dependencies of the admin services and the helpers that all their methods share. The
 * composition root fills them in.
 */
import type { DescService } from "@bufbuild/protobuf";
import { Refusal, type RefusalCode } from "../../domain/refusal.ts";
import type { Ledger } from "../../ledger/port/ledger.ts";
import {
  findLedgerKind,
  type LedgerKind,
  type LedgerKinds,
} from "../../ledger/port/ledger-kind.ts";
import type { Contradiction } from "../../present/explanations.ts";
import type { subscriptionService } from "../../services/subscriptions/index.ts";
import type { Acting } from "../../store/admin/acting-tenant.ts";
import type { AdminStore } from "../../store/admin/admin-store.ts";
import { type Actor, otherRequest } from "../../store/admin/changes.ts";
import type { AdminOrganisation } from "../../store/admin/organisations/organisations.ts";
import { type DerivedKind, derivedId, newId } from "../../store/database/ids.ts";
import type { PageRequest } from "../../store/database/page.ts";
import type { EndpointKey } from "../../store/events/due-endpoints.ts";
import type { LedgerConnection } from "../../store/ledger-connection/connections.ts";
import type { StaleJobs } from "../../store/ledger-jobs/stale-jobs.ts";
import type { Call, OperatorCaller } from "../../transport/rpc/caller.ts";
import type { Implementation } from "../../transport/rpc/implementation.ts";
import type { AddressMode } from "../../webhooks/address.ts";
import type { LedgerApp } from "../oauth/consent.ts";
import type { WorkflowPages } from "./platform/workflow-pages.ts";

/** Starts the workflow of such a job. Returns false if Temporal could not be reached. */
type Start<Kind extends StaleJobs["kind"]> = (
  input: Omit<Extract<StaleJobs, { readonly kind: Kind }>, "kind">,
) => Promise<boolean>;

/** The store, the ledgers, and the functions that start workflows. */
export interface AdminDependencies {
  readonly store: AdminStore;
  /** The cached adapter of an organisation's connection. */
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** A new adapter to try credentials with. The caller closes it. */
  readonly connect: (connection: LedgerConnection) => Ledger;
  /** The kinds of ledger that an organisation can be connected to. */
  readonly kinds: LedgerKinds;
  /** Our apps by kind, for connections by consent. Only those whose credentials are configured. */
  readonly ledgerApps: ReadonlyMap<string, LedgerApp>;
  /** The deadline of one call to a ledger, in milliseconds. */
  readonly callDeadlineMs: number;
  /** The platform's own methods, for an operator that acts on behalf of a platform. */
  readonly platform: (acting: Acting) => ReturnType<typeof subscriptionService>;
  /** Wakes the organisation's posting workflow. Returns false if Temporal could not be reached. */
  readonly wake: (organisationId: string) => Promise<boolean>;
  /** Starts the organisation's billing workflow. Returns false if Temporal could not be reached. */
  readonly startBilling: (organisationId: string) => Promise<boolean>;
  /**
   * Starts the workflow of the organisation's test clock. Returns false if Temporal could not be
   * reached; the dispatcher then starts it.
   */
  readonly startClock: (organisationId: string) => Promise<boolean>;
  /** Starts a ledger sync of the organisation. Returns false if Temporal could not be reached. */
  readonly startLedgerSync: (organisationId: string) => Promise<boolean>;
  /** Starts the workflow of an invoice's amendment. */
  readonly startAmendment: Start<"amendment">;
  /** Starts the workflow that allocates a subscription's credit to its invoices. */
  readonly startAllocation: Start<"allocation">;
  /**
   * Starts the deliveries that are due to a webhook endpoint. Returns false if Temporal could not
   * be reached; the next run of the relay then starts them.
   */
  readonly startDeliveries: (endpoint: EndpointKey) => Promise<boolean>;
  /** Reports a document whose amounts do not follow from their facts. */
  readonly onContradiction: (contradiction: Contradiction) => void;
  /** The addresses of workflows in the Temporal UI. Null if the UI's address is not configured. */
  readonly workflowPages: WorkflowPages | null;
  /** Where documents in the ledger link to: PUBLIC_URL, or null if it is not set. */
  readonly publicUrl: string | null;
  /** Which addresses ledgers may have. */
  readonly ledgerAddresses: AddressMode;
  /** Which addresses webhook endpoints may have. WEBHOOK-3 */
  readonly webhookAddresses: AddressMode;
}

/** The context of a call: its operator, operation, request id and Idempotency-Key. */
export type AdminCall = Call<OperatorCaller>;

/** The functions of an admin service. */
export type AdminImplementation<S extends DescService> = Implementation<S, OperatorCaller>;

/** The actor of a call, for the audit log. ADMIN-2 */
export function actorOf({ caller, operation, requestId }: AdminCall): Actor {
  const { operatorId, name, tokenId } = caller;
  return { operatorId, operatorName: name, tokenId, operation, requestId };
}

/**
 * The id of the object that a call creates. It is derived from the Idempotency-Key, so that a
 * repeat after a crash finds the object of the first try.
 */
export function identityOf(call: AdminCall, kind: DerivedKind): string {
  return call.idempotencyKey === null
    ? newId()
    : derivedId(kind, call.caller.tokenId, call.idempotencyKey);
}

/**
 * Refuses `idempotency_conflict` if the key created something else before. That can happen once its
 * 24 hours are over.
 */
export function requireSame(isSame: boolean): void {
  if (!isSame) throw otherRequest();
}

/** The organisation of a call's request. Refuses `organisation_not_found`. */
export async function requireOrganisation(
  { store }: Pick<AdminDependencies, "store">,
  id: string,
): Promise<AdminOrganisation> {
  return required(await store.organisations.get(id), "organisation_not_found");
}

/** The kind of ledger with this name. Refuses `invalid_parameter` for one that is not known. */
export function requireKind({ kinds }: Pick<AdminDependencies, "kinds">, kind: string): LedgerKind {
  const found = findLedgerKind(kinds, kind);
  if (found !== null) return found;
  const message = `kind must be one of ${Object.keys(kinds).join(", ")}`;
  throw new Refusal("invalid_parameter", message, "kind");
}

/**
 * The organisation's current instant. Objects of the organisation get it as their creation time.
 * CLOCK-1
 */
export function nowOf({ testClock }: AdminOrganisation): Date {
  return testClock ?? new Date();
}

/** The value that was found. Refuses with `code` if it is null. */
export function required<T>(found: T | null, code: RefusalCode & `${string}_not_found`): T {
  if (found !== null) return found;
  const kind = code.slice(0, -"_not_found".length).replaceAll("_", " ");
  throw new Refusal(code, `There is no ${kind} with this id.`);
}

/** The page size if the request has no `limit`. OBJECT-3 */
const defaultLimit = 25;

/** The page of a list request. */
export function pageOf(request: {
  readonly limit?: number | undefined;
  readonly startingAfter?: string | undefined;
}): PageRequest {
  return { limit: request.limit ?? defaultLimit, startingAfter: request.startingAfter ?? null };
}
