/** InvoiceService and CreditNoteService. Both only read. */

import type { DocumentObject } from "../domain/explanation/named-facts.ts";
import type { CreditNoteService } from "../gen/proto/billing/v1/credit_notes_pb.ts";
import type { InvoiceService } from "../gen/proto/billing/v1/invoices_pb.ts";
import { documentStatuses, wordOf } from "../present/enums.ts";
import { explained } from "../present/explanations.ts";
import { presentCreditNote, presentInvoice } from "../present/objects.ts";
import type { DocumentFilters } from "../store/documents/invoices.ts";
import { hashName } from "../store/documents/line-facts.ts";
import type { Call } from "../transport/rpc/caller.ts";
import type { Implementation } from "../transport/rpc/implementation.ts";
import type { Deps } from "./deps.ts";
import { getObject, listMethod, type PagedRequest } from "./reading.ts";

/** Returns the implementation of InvoiceService. Refuses `invoice_not_found`. */
export function invoiceService(deps: Deps): Implementation<typeof InvoiceService> {
  const get = getObject(deps, ({ invoices }) => invoices, "invoice_not_found");
  return {
    listInvoices: listMethod(deps, ({ invoices }) => invoices, filtersOf, presentInvoice),
    getInvoice: async ({ id }, call) => ({ invoice: presentInvoice(await get(id, call)) }),
    getInvoiceExplanation: explanationMethod(deps, "invoice"),
  };
}

/** Returns the implementation of CreditNoteService. Refuses `credit_note_not_found`. */
export function creditNoteService(deps: Deps): Implementation<typeof CreditNoteService> {
  const get = getObject(deps, ({ creditNotes }) => creditNotes, "credit_note_not_found");
  return {
    listCreditNotes: listMethod(
      deps,
      ({ creditNotes }) => creditNotes,
      filtersOf,
      presentCreditNote,
    ),
    getCreditNote: async ({ id }, call) => ({ creditNote: presentCreditNote(await get(id, call)) }),
    getCreditNoteExplanation: explanationMethod(deps, "credit_note"),
  };
}

/** Returns the method that explains documents of a kind. Refuses `{kind}_not_found`. */
function explanationMethod(deps: Deps, kind: DocumentObject) {
  const get = getObject(
    deps,
    ({ explanations }) => ({ get: (id) => explanations.load(kind, id) }),
    `${kind}_not_found`,
  );
  return async ({ id }: { readonly id: string }, call: Call) => ({
    explanation: explained(
      call.caller.organisationId,
      await get(id, call),
      hashName,
      deps.onContradiction,
    ),
  });
}

interface DocumentRequest extends PagedRequest {
  readonly subscription?: string | undefined;
  readonly customer?: string | undefined;
  readonly status: readonly number[];
}

function filtersOf(request: DocumentRequest): DocumentFilters {
  return {
    subscription: request.subscription ?? null,
    customer: request.customer ?? null,
    statuses: request.status
      .map((value) => wordOf(documentStatuses, value))
      .filter((word) => word !== null),
  };
}
