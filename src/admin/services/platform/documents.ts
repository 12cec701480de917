/**
 * InvoiceService and CreditNoteService of the admin API: the documents of an organisation, each
 * with the address of its page in the ledger. ADMIN-11
 */
import type { CreditNoteService } from "../../../gen/proto/billing/admin/v1/credit_notes_pb.ts";
import type { InvoiceService } from "../../../gen/proto/billing/admin/v1/invoices_pb.ts";
import type { DocumentStatus } from "../../../gen/proto/billing/v1/common_pb.ts";
import { documentStatuses, wordOf } from "../../../present/enums.ts";
import { presentCreditNote, presentInvoice } from "../../../present/objects.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  pageOf,
  required,
  requireOrganisation,
} from "../dependencies.ts";
import { openLedgerPages } from "./ledger-pages.ts";

/** The dependencies of both services. */
type Dependencies = Pick<AdminDependencies, "store" | "kinds">;

/** Implements InvoiceService. Refuses `organisation_not_found`, `invoice_not_found`. */
export function invoiceService(deps: Dependencies): AdminImplementation<typeof InvoiceService> {
  const { invoices } = deps.store.platform;
  return {
    listInvoices: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const search = { ...request, statuses: statusesOf(request.status) };
      const { data, hasMore } = await invoices.list(id, search, pageOf(request));
      return { data: data.map(presentInvoice), hasMore };
    },
    getInvoice: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const invoice = required(await invoices.get(owner.id, id), "invoice_not_found");
      const pageIn = await openLedgerPages(deps, owner.id);
      return {
        invoice: presentInvoice(invoice),
        ledgerUrl: pageIn("invoice", invoice.ledger.invoiceId) ?? undefined,
        ledgerNumber: invoice.ledgerNumber ?? undefined,
      };
    },
  };
}

/** Implements CreditNoteService. Refuses `organisation_not_found`, `credit_note_not_found`. */
export function creditNoteService(
  deps: Dependencies,
): AdminImplementation<typeof CreditNoteService> {
  const { creditNotes } = deps.store.platform;
  return {
    listCreditNotes: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const search = { ...request, statuses: statusesOf(request.status) };
      const { data, hasMore } = await creditNotes.list(id, search, pageOf(request));
      return { data: data.map(presentCreditNote), hasMore };
    },
    getCreditNote: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const note = required(await creditNotes.get(owner.id, id), "credit_note_not_found");
      const pageIn = await openLedgerPages(deps, owner.id);
      return {
        creditNote: presentCreditNote(note),
        ledgerUrl: pageIn("credit_note", note.ledger.invoiceId) ?? undefined,
        ledgerNumber: note.ledgerNumber ?? undefined,
      };
    },
  };
}

function statusesOf(values: readonly DocumentStatus[]) {
  return values.map((value) => wordOf(documentStatuses, value)).filter((word) => word !== null);
}
