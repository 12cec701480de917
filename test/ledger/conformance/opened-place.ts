/** A place of the conformance suite with a contact in it, and the creation of its documents. */

import {
  aCall,
  contactDraft,
  type DemoLedgerFixture,
  invoiceDraft,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type {
  LedgerContact,
  LedgerCreditNote,
  LedgerCreditNoteDraft,
  LedgerFirstStatus,
  LedgerInvoice,
  LedgerInvoiceDraft,
} from "../../../src/ledger/port/ledger.ts";
import { creditNoteDraft } from "./credit-drafts.ts";
import type { ConformancePlace, NamedPlace } from "./places.ts";

/** The place of a suite. Drafts are of its contact and in its currency. */
export interface OpenedPlace extends Omit<ConformancePlace, "xero"> {
  readonly place: ConformancePlace;
  readonly contact: LedgerContact;
  /** The statuses in which its kind creates invoices, and the first of them. */
  readonly statuses: readonly LedgerFirstStatus[];
  readonly firstStatus: LedgerFirstStatus;
  draftInvoice(changes?: Partial<LedgerInvoiceDraft>): LedgerInvoiceDraft;
  draftNote(changes?: Partial<LedgerCreditNoteDraft>): LedgerCreditNoteDraft;
  createInvoice(changes?: Partial<LedgerInvoiceDraft>): Promise<LedgerInvoice>;
  createNote(changes?: Partial<LedgerCreditNoteDraft>): Promise<LedgerCreditNote>;
}

/** Opens a place and creates a contact in it. */
export async function openForSuite(
  open: NamedPlace["open"],
  fixture: DemoLedgerFixture,
): Promise<OpenedPlace> {
  const place = await open(fixture);
  const { ledger, currency } = place;
  const contact = okOf(okOf(await ledger.createContacts(aCall("c1"), [contactDraft()]))[0]);
  const { hasDrafts } = ledger.traits.documents;
  const firstStatus = hasDrafts ? "draft" : "approved";
  const draftInvoice: OpenedPlace["draftInvoice"] = (changes = {}) =>
    invoiceDraft(contact.id, { currency, status: firstStatus, ...changes });
  const draftNote: OpenedPlace["draftNote"] = (changes = {}) =>
    creditNoteDraft(contact.id, { currency, ...changes });
  return {
    ...place,
    place,
    contact,
    statuses: hasDrafts ? ["draft", "awaiting_approval", "approved"] : ["approved"],
    firstStatus,
    draftInvoice,
    draftNote,
    createInvoice: async (changes) =>
      okOf(okOf(await ledger.createInvoices(aCall(), [draftInvoice(changes)]))[0]),
    createNote: async (changes) =>
      okOf(okOf(await ledger.createCreditNotes(aCall(), [draftNote(changes)]))[0]),
  };
}
