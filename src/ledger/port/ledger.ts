/**
 * The port to an accounting ledger: its operations and every answer, as plain types without IO. A
 * ledger never throws for an answer of the other side: each answer is a union value with `kind`
 * (LEDGER-1). Amounts are decimal text, dates `YYYY-MM-DD`, instants ISO 8601 in UTC.
 */

import type {
  LedgerChanged,
  LedgerChangeKind,
  LedgerChangePage,
  LedgerChangeQuery,
  LedgerFound,
} from "./changes.ts";
import type {
  LedgerAmended,
  LedgerCreditApplication,
  LedgerCreditNote,
  LedgerCreditNoteDraft,
  LedgerInvoice,
  LedgerInvoiceAmendment,
  LedgerInvoiceDraft,
  LedgerRemoval,
} from "./documents.ts";

/** How changes that people make in the ledger are reported. */
export type * from "./changes.ts";
/** The documents of the port: invoices, credit notes, their lines and their changes. */
export type * from "./documents.ts";

/**
 * The reason of a refusal, for rules that depend on it. The failure's `messages` have the ledger's
 * words. `not_permitted`: the person who connected the ledger lacks a right. `validation` is the
 * rest.
 */
export type LedgerRefusalReason =
  | "has_payment_or_credit"
  | "wrong_status"
  | "duplicate_number"
  | "duplicate_contact"
  | "contact_name_invalid"
  | "contact_email_invalid"
  | "contact_inactive"
  | "account_invalid"
  | "tax_invalid"
  | "currency_not_enabled"
  | "period_locked"
  | "approval_limit"
  | "not_permitted"
  | "amount_exceeds"
  | "not_found"
  | "stale"
  | "validation";

/**
 * Every way in which a call can fail (LEDGER-2).
 * - `refused`: a final no. Nothing changed. `messages` are the ledger's words, unshortened.
 * - `unauthorised`: nothing happened. The connection's work stops until an operator acts.
 * - `rate_limited`: nothing happened, and no attempt is used up. The whole connection pauses. If
 *   our own budget is spent (`isOurs`), only this work waits; calls with a waiting caller may
 *   continue.
 * - `unavailable`: `not_sent` may be repeated freely. `unknown` may have taken effect: look up the
 *   reserved number first. `cause` is a short text for the log, without secrets. `isRemembered`:
 *   the ledger gives the same bad answer to the same key for a while.
 * - `high_volume`: the ledger has too many records to answer this query. Nothing happened, and the
 *   answer says nothing of the requested objects.
 */
export type LedgerFailure =
  | {
      readonly kind: "refused";
      readonly reason: LedgerRefusalReason;
      readonly messages: readonly string[];
    }
  | {
      readonly kind: "unauthorised";
      readonly why: "expired" | "disconnected" | "insufficient_scope";
      readonly message: string;
    }
  | {
      readonly kind: "rate_limited";
      readonly scope: "minute" | "day" | "concurrent" | "app";
      readonly retryAfterMs: number;
      readonly isOurs?: boolean;
    }
  | {
      readonly kind: "unavailable";
      readonly outcome: "not_sent" | "unknown";
      readonly cause: string;
      readonly isRemembered?: true;
    }
  | { readonly kind: "high_volume"; readonly message: string };

/** A ledger's answer: the value, or the failure. */
export type LedgerAnswer<T> = { readonly kind: "ok"; readonly value: T } | LedgerFailure;

/**
 * The members of every call. `deadlineMs` is the allowed time from now, with tokens and replays.
 * `jobKeys` are the stable ids of the call's jobs, empty for reads. The same jobs and documents
 * give the same idempotency key, so a fast resend is not done twice (XERO-2). Set another `variant`
 * after a bad answer, because the ledger remembers it; never after a lost one.
 */
export interface LedgerCall {
  readonly deadlineMs: number;
  readonly jobKeys: readonly string[];
  readonly variant?: string;
  /**
   * No caller waits for this call. It leaves the budget's reserve to calls with a waiting caller.
   */
  readonly isBackground?: boolean;
  /**
   * Called when a request gets its permit, once a request. Waiting work may then form the next
   * batch.
   */
  readonly onPermit?: () => void;
}

/**
 * The call budget, shared by all processes (POSTING-6). `end` returns a granted permit and reports
 * the limits that the ledger's headers gave.
 */
export interface CallBudget {
  take(isBackground: boolean): Promise<
    | {
        readonly kind: "granted";
        readonly end: (
          left: { readonly minute: number | null; readonly day: number | null } | null,
        ) => Promise<void>;
      }
    | {
        readonly kind: "spent";
        readonly scope: "minute" | "day" | "concurrent";
        readonly waitMs: number;
      }
  >;
}

/**
 * The organisation behind a connection. `timezone` is the ledger's name, not always an IANA name.
 * Documents dated on or before a lock date are refused. A lock date is null if unset (XERO-13).
 */
export interface LedgerOrganisation {
  readonly id: string;
  readonly name: string;
  readonly currency: string;
  readonly timezone: string | null;
  readonly demo: boolean;
  readonly periodLockDate: string | null;
  readonly yearLockDate: string | null;
  readonly capabilities: LedgerCapabilities;
}

/** The features that this ledger supports. Settings that need another one are not shown. */
export interface LedgerCapabilities {
  readonly draft: boolean;
  readonly awaitingApproval: boolean;
  readonly email: boolean;
  readonly allocations: boolean;
  readonly multicurrency: boolean;
  readonly webhooks: boolean;
}

/** The lists from which an operator picks when mapping an organisation to its ledger. */
export type LedgerMappingKind = "accounts" | "tax_rates" | "currencies";

/**
 * One choice of a mapping list. `code` is the value that documents carry. With `usableForRevenue`
 * false the ledger would refuse an invoice.
 */
export interface LedgerMappingOption {
  readonly code: string;
  readonly name: string;
  readonly active: boolean;
  readonly usableForRevenue: boolean;
}

/**
 * A contact in the ledger. `code` is our customer code, null if it has none. `mergedInto` is the
 * contact that replaced it. `archived` and `erased` contacts take no new document. `isCustomer` and
 * `isSupplier` say that it has had an invoice or a bill. Both can be false.
 */
export interface LedgerContact {
  readonly id: string;
  readonly code: string | null;
  readonly name: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
  readonly status: "active" | "archived" | "erased";
  readonly mergedInto: string | null;
  readonly isCustomer: boolean;
  readonly isSupplier: boolean;
  readonly updatedAt: string;
}

/** A contact to create. `code` is the natural key: a lost answer is found again by it. */
export interface LedgerContactDraft {
  readonly code: string;
  readonly name: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
}

/**
 * Which contacts to list: those changed at or after `since` (ISO 8601). Without `since` all are
 * listed. `cursor` is the previous page's.
 */
export interface LedgerContactQuery {
  readonly since?: string;
  readonly cursor?: string;
}

/** A page of contacts. `cursor` null is the end. A contact may come on two pages: merge by id. */
export interface LedgerContactPage {
  readonly contacts: readonly LedgerContact[];
  readonly cursor: string | null;
}

/**
 * A ledger connected to one organisation. Creates take up to 50 drafts with distinct natural keys.
 * They answer each draft, in the order sent, matched by our number or code. A failure of the whole
 * call is the answer. A removal takes one document, so a caller can stop at the first refusal.
 */
export interface Ledger {
  /** Returns the connected organisation and its capabilities. */
  describe(call: LedgerCall): Promise<LedgerAnswer<LedgerOrganisation>>;
  /** Returns all choices of one mapping list, also inactive ones. */
  listMappingOptions(
    call: LedgerCall,
    kind: LedgerMappingKind,
  ): Promise<LedgerAnswer<readonly LedgerMappingOption[]>>;
  /**
   * Returns a page of changed objects, newest change first. It includes archived contacts, removed
   * documents and objects that this service did not create.
   */
  listChanges<Kind extends LedgerChangeKind>(
    call: LedgerCall,
    query: LedgerChangeQuery<Kind>,
  ): Promise<LedgerAnswer<LedgerChangePage<LedgerChanged[Kind]>>>;
  /**
   * Returns the current state of these objects, also removed and archived ones, in as few calls as
   * possible. One call reads up to 40 contacts or invoices, or one credit note. Ids that the ledger
   * does not have are neither found nor unread. Invoices come without their lines.
   */
  getMany<Kind extends LedgerChangeKind>(
    call: LedgerCall,
    query: { readonly kind: Kind; readonly ids: readonly string[] },
  ): Promise<LedgerAnswer<LedgerFound<LedgerChanged[Kind]>>>;
  /** Returns a page of contacts, also archived ones, newest change first. */
  listContacts(
    call: LedgerCall,
    query: LedgerContactQuery,
  ): Promise<LedgerAnswer<LedgerContactPage>>;
  /** Returns one contact, or `refused`, `not_found`. */
  getContact(call: LedgerCall, id: string): Promise<LedgerAnswer<LedgerContact>>;
  /** Returns the contacts with these codes, also archived ones, with one call a code. */
  findContacts(
    call: LedgerCall,
    query: { readonly codes: readonly string[] },
  ): Promise<LedgerAnswer<readonly LedgerContact[]>>;
  /** Creates contacts. A taken name or code is `refused`, `duplicate_contact`. */
  createContacts(
    call: LedgerCall,
    drafts: readonly LedgerContactDraft[],
  ): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerContact>[]>>;
  /** Creates invoices. A taken number is `refused`, `duplicate_number`. */
  createInvoices(
    call: LedgerCall,
    drafts: readonly LedgerInvoiceDraft[],
  ): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerInvoice>[]>>;
  /** Returns one invoice, or `refused`, `not_found`. */
  getInvoice(call: LedgerCall, id: string): Promise<LedgerAnswer<LedgerInvoice>>;
  /**
   * Returns the sales invoices with these numbers, also removed ones. Numbers that differ only by
   * case or outer blanks are the same. `areTaken`: the ledger refused these numbers, so every other
   * lookup is tried too. Invoices found that way may have another number.
   */
  findInvoices(
    call: LedgerCall,
    query: { readonly numbers: readonly string[]; readonly areTaken?: boolean },
  ): Promise<LedgerAnswer<readonly LedgerInvoice[]>>;
  /**
   * Reads an invoice and changes its lines. Refusals in order: `not_found`; `wrong_status` for a
   * status that is not allowed; `has_payment_or_credit`. Repeating is safe: lines that are already
   * right stay, and nothing is sent without a difference.
   */
  amendInvoice(
    call: LedgerCall,
    amendment: LedgerInvoiceAmendment,
  ): Promise<LedgerAnswer<LedgerAmended>>;
  /** Creates credit notes. A taken number is `refused`, `duplicate_number`. */
  createCreditNotes(
    call: LedgerCall,
    drafts: readonly LedgerCreditNoteDraft[],
  ): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerCreditNote>[]>>;
  /** Returns one credit note with its allocations, or `refused`, `not_found`. */
  getCreditNote(call: LedgerCall, id: string): Promise<LedgerAnswer<LedgerCreditNote>>;
  /** Returns the sales credit notes with these numbers, with one call a number. */
  findCreditNotes(
    call: LedgerCall,
    query: { readonly numbers: readonly string[] },
  ): Promise<LedgerAnswer<readonly LedgerCreditNote[]>>;
  /**
   * Applies credit of an approved note to an approved invoice of the same contact, and returns the
   * note as read afterwards. Not safe to repeat: after `unknown` read the note first, also if only
   * that read failed. `refused`, `amount_exceeds` if the note has less left or the invoice less
   * due; `wrong_status` if either takes none.
   */
  allocateCredit(
    call: LedgerCall,
    application: LedgerCreditApplication,
  ): Promise<LedgerAnswer<LedgerCreditNote>>;
  /**
   * Reads an invoice, then deletes (draft, awaiting approval) or voids (approved) it. Repeating is
   * safe. `refused`, `has_payment_or_credit` if money is on it (LEDGER-3). With `onlyUnsent` also
   * `wrong_status` unless `isUnsent`.
   */
  removeInvoice(
    call: LedgerCall,
    id: string,
    which?: { readonly onlyUnsent: boolean },
  ): Promise<LedgerAnswer<LedgerRemoval>>;
  /** Closes idle connections. The ledger takes no call afterwards. */
  close(): Promise<void>;
}
