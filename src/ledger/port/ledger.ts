/**
 * The port to an accounting ledger: its operations and every answer, as plain types without IO. A
 * ledger never throws for an answer of the other side: each answer is a union value with `kind`
 * (LEDGER-1). Amounts are decimal text, dates `YYYY-MM-DD`, instants ISO 8601 in UTC.
 */

import type { LedgerCall } from "./call.ts";
import type {
  LedgerChanged,
  LedgerChangeKind,
  LedgerChangePage,
  LedgerChangeQuery,
  LedgerFound,
} from "./changes.ts";
import type { LedgerContact, LedgerContactDraft } from "./contacts.ts";
import type {
  LedgerAmended,
  LedgerCreditApplication,
  LedgerCreditNote,
  LedgerCreditNoteDraft,
  LedgerDocumentQuery,
  LedgerInvoice,
  LedgerInvoiceAmendment,
  LedgerInvoiceDraft,
  LedgerRemoval,
} from "./documents.ts";
import type { LedgerAnswer } from "./failures.ts";
import type { LedgerTraits } from "./ledger-kind.ts";

/** The members of a call and the budget of calls. */
export type * from "./call.ts";
/** How changes that people make in the ledger are reported. */
export type * from "./changes.ts";
/** Contacts and their drafts. */
export type * from "./contacts.ts";
/** The documents of the port: invoices, credit notes, their lines and their changes. */
export type * from "./documents.ts";
/** Answers and failures. */
export type * from "./failures.ts";

/**
 * The organisation behind a connection. `timezone` is the ledger's name, not always an IANA name.
 * Documents dated on or before a lock date are refused. A lock date is null if unset (LEDGER-11).
 * `multicurrency`: it accepts documents in other currencies than its own.
 */
export interface LedgerOrganisation {
  readonly id: string;
  readonly name: string;
  readonly currency: string;
  readonly timezone: string | null;
  readonly demo: boolean;
  readonly periodLockDate: string | null;
  readonly yearLockDate: string | null;
  readonly multicurrency: boolean;
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
 * A ledger connected to one organisation. Creates take as many drafts with distinct natural keys as
 * its kind allows. They answer each draft, in the order sent. A failure of the whole call is the
 * answer. A removal takes one document, so a caller can stop at the first refusal.
 */
export interface Ledger {
  /** What callers must know of its kind. */
  readonly traits: LedgerTraits;
  /** Returns the connected organisation. */
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
  /** Returns the sales invoices that the query finds, also removed ones. */
  findInvoices(
    call: LedgerCall,
    query: LedgerDocumentQuery,
  ): Promise<LedgerAnswer<readonly LedgerInvoice[]>>;
  /**
   * Reads an invoice and changes its lines. Refusals in order: `not_found`; `wrong_status` for a
   * status that is not allowed; `has_payment_or_credit`; `drift` if its amounts mean something else
   * or a named line is gone. Repeating is safe: lines that are already right stay, and nothing is
   * sent without a difference.
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
  /** Returns the sales credit notes that the query finds, with one call a note. */
  findCreditNotes(
    call: LedgerCall,
    query: LedgerDocumentQuery,
  ): Promise<LedgerAnswer<readonly LedgerCreditNote[]>>;
  /**
   * Applies credit of an approved note to an approved invoice of the same contact, and returns the
   * note as read afterwards. Not safe to repeat: after `unknown` read the note first, also if only
   * that read failed. `refused`, `amount_exceeds` if the note has less left or the invoice less
   * due; `wrong_status` if either takes none; `drift` if the invoice's amounts mean something else.
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
