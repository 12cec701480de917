/**
 * What billing asks of an accounting ledger, and every answer that it can give, as plain types without IO.
 * A ledger never throws for what the other side says: each answer is a union value with `kind`.
 * Amounts are decimal text, dates `YYYY-MM-DD`, instants ISO 8601 in UTC. Facts: facts-ledger section 5.
 */

import type { LedgerChanged, LedgerChangeKind, LedgerChangePage, LedgerChangeQuery, LedgerFound } from "./changes.ts";
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

/** How changes that people make in the ledger are told. */
export type * from "./changes.ts";
/** The documents of the port: invoices, credit notes, their lines and what is asked of them. */
export type * from "./documents.ts";

/**
 * Why a ledger said no, for rules that depend on it; the ledger's own words are beside it.
 * `not_permitted`: the person who connected the ledger lacks a right there. `validation` is the rest. Facts:
 * facts-ledger section 5.2.
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
 * Every way in which a call can fail. Facts: facts-ledger section 5.2.
 * - `refused`: the ledger decided no, nothing changed; never repeated by itself. `messages` are the ledger's own words,
 *   whole.
 * - `unauthorised`: nothing happened; all work of this connection stops until an operator has acted.
 * - `rate_limited`: nothing happened, and no attempt is used up. The whole connection pauses, unless it was our own
 *   budget that allowed no call (`isOurs`): then this work alone waits, and what somebody waits for may go on.
 * - `unavailable`: `not_sent` may be repeated freely; `unknown` may have taken effect, so look up by the reserved
 *   number first. `cause` is a short text for the log, without secrets. `isRemembered`: the ledger answered badly, and
 *   gives the same answer again to the same key for a while.
 * - `high_volume`: the ledger has too many records to answer this query at all. Nothing happened, and it says nothing of
 *   the things that were asked for.
 */
export type LedgerFailure =
  | { readonly kind: "refused"; readonly reason: LedgerRefusalReason; readonly messages: readonly string[] }
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

/** A ledger's answer: what was asked for, or why not. */
export type LedgerAnswer<T> = { readonly kind: "ok"; readonly value: T } | LedgerFailure;

/**
 * What every call carries. `deadlineMs` is how long it may take from now, tokens and replays included. `jobKeys`
 * are the stable ids of the operation rows that it settles (empty for reads): the same rows and the same documents give
 * the same idempotency header, so a fast resend is not done twice by the ledger. A caller gives another `variant` after
 * a bad answer, which the ledger would remember and give again; never after a lost one.
 */
export interface LedgerCall {
  readonly deadlineMs: number;
  readonly jobKeys: readonly string[];
  readonly variant?: string;
  /** Nobody waits for what the call is about: of the budget of calls it leaves some to those for whom somebody does. */
  readonly isBackground?: boolean;
  /** Called when it has its turn among the calls of the budget, each request anew: what waits may gather for the next one. */
  readonly onPermit?: () => void;
}

/**
 * The calls that may be made, shared by all processes. A granted one is given back by `end`, with what the ledger's
 * headers said of its limits. Facts: facts-ledger section 1.7.
 */
export interface CallBudget {
  take(isBackground: boolean): Promise<
    | {
        readonly kind: "granted";
        readonly end: (left: { readonly minute: number | null; readonly day: number | null } | null) => Promise<void>;
      }
    | { readonly kind: "spent"; readonly scope: "minute" | "day" | "concurrent"; readonly waitMs: number }
  >;
}

/**
 * The organisation behind a connection. `timezone` is the ledger's own name of it, which need not be an IANA name.
 * Lock dates: documents dated on or before them are refused; null where none is set.
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

/** What this ledger can do at all, so that settings which it cannot keep are never offered. */
export interface LedgerCapabilities {
  readonly draft: boolean;
  readonly awaitingApproval: boolean;
  readonly email: boolean;
  readonly allocations: boolean;
  readonly multicurrency: boolean;
  readonly webhooks: boolean;
}

/** The lists from which an operator picks when mapping an organisation onto its ledger. */
export type LedgerMappingKind = "accounts" | "tax_rates" | "currencies";

/**
 * One choice of a mapping list. `code` is what documents carry; `usableForRevenue` is false where an invoice would be
 * refused.
 */
export interface LedgerMappingOption {
  readonly code: string;
  readonly name: string;
  readonly active: boolean;
  readonly usableForRevenue: boolean;
}

/**
 * A contact in the ledger. `code` is our customer code, null where the contact has none. `mergedInto` is the contact
 * that replaced it. `archived` and `erased` ones can carry no new document. `isCustomer`, `isSupplier`: it has had an invoice, a bill;
 * one that has had neither is neither. Facts: facts-ledger section 1.2.
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

/** A contact to make. `code` is its natural key: a lost answer is found again by it. */
export interface LedgerContactDraft {
  readonly code: string;
  readonly name: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
}

/**
 * Which contacts to list: those changed at or after `since` (ISO 8601; all without it), from `cursor` of the answer
 * before.
 */
export interface LedgerContactQuery {
  readonly since?: string;
  readonly cursor?: string;
}

/** A page of contacts. `cursor` null is the end. One contact may come on two pages, so take them in by id. */
export interface LedgerContactPage {
  readonly contacts: readonly LedgerContact[];
  readonly cursor: string | null;
}

/**
 * A ledger, connected to one organisation. Facts: facts-ledger section 5.1.
 * Creates take up to 50 drafts with distinct natural keys and answer each, in the order sent, matched by our own number
 * or code. A failure of the whole call is the answer itself. Removals go one document a call, so that the caller can
 * stop at the first refusal.
 */
export interface Ledger {
  /** Who is connected, and what it can do. */
  describe(call: LedgerCall): Promise<LedgerAnswer<LedgerOrganisation>>;
  /** All choices of one mapping list, inactive ones too. */
  listMappingOptions(call: LedgerCall, kind: LedgerMappingKind): Promise<LedgerAnswer<readonly LedgerMappingOption[]>>;
  /** A page of what was changed, newest change first; archived contacts, removed documents and others' too. */
  listChanges<Kind extends LedgerChangeKind>(
    call: LedgerCall,
    query: LedgerChangeQuery<Kind>,
  ): Promise<LedgerAnswer<LedgerChangePage<LedgerChanged[Kind]>>>;
  /**
   * These contacts, credit notes or invoices as they are now, removed and archived ones too, in as few calls as it takes
   * (one for up to 40 contacts or invoices, one for each credit note); those that the ledger does not have are neither
   * found nor unread. Invoices come without their lines.
   */
  getMany<Kind extends LedgerChangeKind>(
    call: LedgerCall,
    query: { readonly kind: Kind; readonly ids: readonly string[] },
  ): Promise<LedgerAnswer<LedgerFound<LedgerChanged[Kind]>>>;
  /** A page of contacts, archived ones too, newest change first. */
  listContacts(call: LedgerCall, query: LedgerContactQuery): Promise<LedgerAnswer<LedgerContactPage>>;
  /** One contact; `refused`, `not_found` where the ledger has none. */
  getContact(call: LedgerCall, id: string): Promise<LedgerAnswer<LedgerContact>>;
  /** The contacts that carry these codes, archived ones too, each a call of its own; codes without one are left out. */
  findContacts(
    call: LedgerCall,
    query: { readonly codes: readonly string[] },
  ): Promise<LedgerAnswer<readonly LedgerContact[]>>;
  /** Makes contacts; a name or code that is taken is `refused`, `duplicate_contact`. */
  createContacts(
    call: LedgerCall,
    drafts: readonly LedgerContactDraft[],
  ): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerContact>[]>>;
  /** Makes invoices; a number that is taken is `refused`, `duplicate_number`. */
  createInvoices(
    call: LedgerCall,
    drafts: readonly LedgerInvoiceDraft[],
  ): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerInvoice>[]>>;
  /** One invoice; `refused`, `not_found` where the ledger has none. */
  getInvoice(call: LedgerCall, id: string): Promise<LedgerAnswer<LedgerInvoice>>;
  /**
   * The sales invoices that carry these numbers, removed ones too; numbers without one are left out. Numbers that differ
   * only by case or by blanks at the ends are the same. `areTaken`: the ledger refused these numbers, so each is also
   * looked for in any other way that there is, and what comes of it may have another number.
   */
  findInvoices(
    call: LedgerCall,
    query: { readonly numbers: readonly string[]; readonly areTaken?: boolean },
  ): Promise<LedgerAnswer<readonly LedgerInvoice[]>>;
  /**
   * Reads an invoice and changes its lines, in this order of refusals: `not_found`; `wrong_status` where its status is
   * none of those allowed; `has_payment_or_credit` where money is on it. Repeating is safe: what stands already is left
   * as it is, and where nothing differs nothing is sent.
   */
  amendInvoice(call: LedgerCall, amendment: LedgerInvoiceAmendment): Promise<LedgerAnswer<LedgerAmended>>;
  /** Makes credit notes; a number that is taken is `refused`, `duplicate_number`. */
  createCreditNotes(
    call: LedgerCall,
    drafts: readonly LedgerCreditNoteDraft[],
  ): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerCreditNote>[]>>;
  /** One credit note with its allocations; `refused`, `not_found` where the ledger has none. */
  getCreditNote(call: LedgerCall, id: string): Promise<LedgerAnswer<LedgerCreditNote>>;
  /** The same of sales credit notes, each a call of its own. */
  findCreditNotes(
    call: LedgerCall,
    query: { readonly numbers: readonly string[] },
  ): Promise<LedgerAnswer<readonly LedgerCreditNote[]>>;
  /**
   * Puts credit of an approved note on an approved invoice of the same contact, and reads the note again: the value is
   * the note as it is then. Not safe to repeat: after `unknown` (also where the credit was taken and the note could not
   * be read) the note is read first. `refused`, `amount_exceeds` where the note has less left or the invoice less due,
   * `wrong_status` where either takes none.
   */
  allocateCredit(call: LedgerCall, application: LedgerCreditApplication): Promise<LedgerAnswer<LedgerCreditNote>>;
  /**
   * Takes an invoice out of the books: reads it, then deletes (draft, awaiting approval) or voids (approved) it.
   * Repeating is safe. `refused`, `has_payment_or_credit` where money was put on it; with `onlyUnsent` also `wrong_status` where it is
   * not `isUnsent`.
   */
  removeInvoice(
    call: LedgerCall,
    id: string,
    which?: { readonly onlyUnsent: boolean },
  ): Promise<LedgerAnswer<LedgerRemoval>>;
  /** Closes idle connections. The ledger takes no call afterwards. */
  close(): Promise<void>;
}
