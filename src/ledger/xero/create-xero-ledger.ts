/** Assembles the Xero adapter: the port's operations over one wire. */
import { beginCall } from "../port/call.ts";
import type { Ledger } from "../port/ledger.ts";
import { getMany, listChanges } from "./changes.ts";
import { createContacts, findContacts, getContact } from "./contacts.ts";
import { amendInvoice } from "./documents/amend-invoice.ts";
import {
  allocateCredit,
  createCreditNotes,
  findCreditNotes,
  getCreditNote,
} from "./documents/credit-notes.ts";
import { createInvoices, findInvoices, getInvoice, removeInvoice } from "./documents/invoices.ts";
import { describe, listMappingOptions } from "./settings.ts";
import { type XeroConnection, type XeroOptions, xeroTraits } from "./wire/connection.ts";
import { createXeroWire } from "./wire/wire.ts";

/**
 * Creates a ledger on one Xero organisation. No connection opens before the first call. `close`
 * ends its connections.
 */
export function createXeroLedger(connection: XeroConnection, options: XeroOptions = {}): Ledger {
  const wire = createXeroWire(connection, options);
  return {
    traits: xeroTraits,
    describe: (call) => describe(wire, beginCall(call)),
    listMappingOptions: (call, kind) => listMappingOptions(wire, beginCall(call), kind),
    listChanges: (call, query) => listChanges(wire, beginCall(call), query),
    getMany: (call, query) => getMany(wire, beginCall(call), query),
    getContact: (call, id) => getContact(wire, beginCall(call), id),
    findContacts: (call, query) => findContacts(wire, beginCall(call), query.codes),
    createContacts: (call, drafts) => createContacts(wire, beginCall(call), drafts),
    createInvoices: (call, drafts) => createInvoices(wire, beginCall(call), drafts),
    getInvoice: (call, id) => getInvoice(wire, beginCall(call), id),
    findInvoices: (call, query) =>
      findInvoices(wire, beginCall(call), query.numbers, query.areTaken),
    amendInvoice: (call, amendment) => amendInvoice(wire, beginCall(call), amendment),
    createCreditNotes: (call, drafts) => createCreditNotes(wire, beginCall(call), drafts),
    getCreditNote: (call, id) => getCreditNote(wire, beginCall(call), id),
    findCreditNotes: (call, query) => findCreditNotes(wire, beginCall(call), query.numbers),
    allocateCredit: (call, application) => allocateCredit(wire, beginCall(call), application),
    removeInvoice: (call, id, which) => removeInvoice(wire, beginCall(call), id, which),
    close: () => wire.close(),
  };
}
