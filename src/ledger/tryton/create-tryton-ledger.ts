/** Assembles the Tryton adapter: the port's operations over one wire. */
import { beginCall } from "../port/call.ts";
import type { Ledger } from "../port/ledger.ts";
import type { LedgerCredentials, LedgerOptions } from "../port/ledger-kind.ts";
import { createBooks } from "./books.ts";
import { getMany, listChanges } from "./changes.ts";
import { createContacts, findContacts, getContact } from "./contacts.ts";
import { allocateCredit } from "./documents/allocate-credit.ts";
import { amendInvoice } from "./documents/amend-invoice.ts";
import { createDocuments } from "./documents/create-documents.ts";
import { findDocuments, getDocument } from "./documents/find-documents.ts";
import { creditNoteOf, invoiceOf } from "./documents/read-document.ts";
import { removeInvoice } from "./documents/remove-invoice.ts";
import { deleteStrays } from "./documents/strays.ts";
import { describe, listMappingOptions } from "./settings.ts";
import { createTurns } from "./turns.ts";
import { trytonTraits } from "./wire/connection.ts";
import { createTrytonWire } from "./wire/wire.ts";

const invoices = { sign: 1, read: invoiceOf } as const;
const creditNotes = { sign: -1, read: creditNoteOf } as const;

/**
 * Creates a ledger on one company of Tryton. No connection opens before the first call. `close`
 * ends its connections.
 */
export function createTrytonLedger(connection: LedgerCredentials, options: LedgerOptions): Ledger {
  const wire = createTrytonWire(connection, options);
  const books = createBooks(wire);
  const inTurn = createTurns();
  return {
    traits: trytonTraits,
    describe: (call) => describe(wire, books, connection.tenantId, beginCall(call)),
    listMappingOptions: (call, kind) => listMappingOptions(books, beginCall(call), kind),
    listChanges: async (call, query) => {
      const begun = beginCall(call);
      if (query.kind === "invoices" && query.cursor === undefined) await deleteStrays(wire, begun);
      return listChanges(wire, begun, query);
    },
    getMany: (call, query) => getMany(wire, beginCall(call), query),
    getContact: (call, id) => getContact(wire, beginCall(call), id),
    findContacts: (call, { codes }) => findContacts(wire, beginCall(call), codes),
    createContacts: (call, drafts) => createContacts(wire, beginCall(call), drafts),
    createInvoices: (call, drafts) =>
      inTurn(call, (begun) => createDocuments(wire, books, begun, drafts, invoices)),
    getInvoice: (call, id) => getDocument(wire, beginCall(call), id, invoiceOf),
    findInvoices: (call, query) => findDocuments(wire, beginCall(call), query, invoiceOf),
    amendInvoice: (call, amendment) => amendInvoice(wire, books, beginCall(call), amendment),
    createCreditNotes: (call, drafts) =>
      inTurn(call, (begun) => createDocuments(wire, books, begun, drafts, creditNotes)),
    getCreditNote: (call, id) => getDocument(wire, beginCall(call), id, creditNoteOf),
    findCreditNotes: (call, query) => findDocuments(wire, beginCall(call), query, creditNoteOf),
    allocateCredit: (call, application) =>
      inTurn(call, (begun) => allocateCredit(wire, books, begun, application)),
    removeInvoice: (call, id, which) =>
      inTurn(call, (begun) => removeInvoice(wire, begun, id, which)),
    close: () => wire.close(),
  };
}
