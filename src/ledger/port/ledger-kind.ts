/**
 * The registry entry of a kind of ledger: everything that differs from one kind to another
 * (LEDGER-7). The service reads the entry of a stored connection's kind and names no kind itself.
 */
import type { buildConnector } from "undici";
import type { DocumentRules } from "../../domain/billing/document-rules.ts";
import type { CallBudget, LedgerCallLimits } from "./call.ts";
import type { LedgerWebhook, LedgerWebhookDelivery } from "./changes.ts";
import type { ConnectionForm } from "./connection-form.ts";
import type { Ledger } from "./ledger.ts";
import type { LedgerAppKind, LedgerAppSettings, TokenStore } from "./oauth-app.ts";

/** The kinds of ledger of a process, by the name that is stored with a connection. */
export type LedgerKinds = Readonly<Record<string, LedgerKind>>;

/** A kind of ledger. */
export interface LedgerKind {
  /** Its name in messages to people. */
  readonly name: string;
  /** The fields of a connection with own credentials. */
  readonly form: ConnectionForm;
  /** Our OAuth app there. Null if organisations connect with their own credentials only. */
  readonly app: LedgerAppKind | null;
  /** How its webhooks are read. Null if it sends none: then the incremental sync finds changes. */
  readonly webhooks: LedgerWebhooks | null;
  readonly traits: LedgerTraits;
  /**
   * Returns the address at which a person sees a document in the ledger, or null. Absent if the
   * ledger shows no page for a document.
   */
  readonly documentPage?: (
    connection: Pick<LedgerCredentials, "tenantId" | "baseUrl">,
    document: LedgerDocument,
  ) => string | null;
  /** Creates the adapter of one connection. No connection opens before its first call. */
  connect(credentials: LedgerCredentials, options: LedgerOptions): Ledger;
}

/** What callers of an adapter must know of its kind. */
export interface LedgerTraits {
  readonly calls: LedgerCallLimits;
  readonly documents: DocumentRules;
  /**
   * Whose numbers documents have. `theirs`: the ledger numbers a document when it is approved, and
   * keeps ours as its reference. Documents are read with both (LEDGER-24).
   */
  readonly numbers: "ours" | "theirs";
  /**
   * How a repeated creation is known. `keys`: the ledger remembers the key of a call for a while.
   * `drafts`: the adapter creates a draft, looks for others, and approves one.
   */
  readonly idempotency: "keys" | "drafts";
  /** `webhooks`: the ledger reports changes. `none`: only the incremental sync finds them. */
  readonly notifications: "webhooks" | "none";
  /**
   * `remembers`: a removed document stays there as removed. `forgets_drafts`: a deleted draft is
   * gone, and nothing reports it, so that the sync looks drafts up (LEDGER-25).
   */
  readonly removal: "remembers" | "forgets_drafts";
  /** The most characters of a contact's code. A longer customer code is shortened. */
  readonly maxContactCodeLength: number;
}

/** The kinds of documents that a ledger has. */
export type LedgerDocumentKind = "invoice" | "credit_note";

/** A document by its id in the ledger. */
export interface LedgerDocument {
  readonly kind: LedgerDocumentKind;
  readonly ledgerId: string;
}

/** The stored connection, as an adapter needs it. */
export interface LedgerCredentials {
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly baseUrl: string;
  readonly identityUrl: string;
}

/**
 * What the service gives an adapter.
 * - `connect`: opens every connection. It enforces which addresses ledgers may have.
 * - `observeAnswer`: called for bad answers and answers with warnings.
 * - `budget`: permits every call. Without it every call is permitted.
 * - `authorisation`: a person consented to our app. The connection then has no secret.
 */
export interface LedgerOptions {
  readonly connect?: buildConnector.connector;
  readonly observeAnswer?: (answer: ReportedAnswer) => void;
  readonly budget?: CallBudget;
  readonly authorisation?: SharedAuthorisation;
}

/**
 * A connection by consent: the app (null if its credentials are not configured), and the token
 * store.
 */
export interface SharedAuthorisation {
  readonly app: Pick<LedgerAppSettings, "clientId" | "clientSecret" | "identityUrl"> | null;
  readonly tokens: TokenStore;
}

/**
 * The log entry of an answer: the id by which the ledger's support finds the call, and the ledger's
 * warnings. `path` names only the resource. No member holds a secret or personal data.
 */
export interface ReportedAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly correlationId: string | null;
  readonly warnings: readonly string[];
}

/**
 * The header with a webhook's signature in lower case, the form of a signature (without it no body
 * is read), and the parser, which takes the signing key.
 */
interface LedgerWebhooks {
  readonly signatureHeader: string;
  readonly signatureForm: RegExp;
  readonly read: (delivery: LedgerWebhookDelivery, key: string) => LedgerWebhook;
}

/** Returns the entry of a kind, or null if there is none. */
export function findLedgerKind(kinds: LedgerKinds, kind: string): LedgerKind | null {
  return Object.hasOwn(kinds, kind) ? (kinds[kind] ?? null) : null;
}

/** Returns the entry of a stored connection's kind. Throws if this process does not have it. */
export function ledgerKindOf(kinds: LedgerKinds, kind: string): LedgerKind {
  const found = findLedgerKind(kinds, kind);
  if (found === null) throw new Error(`there is no ledger of kind ${kind}`);
  return found;
}
