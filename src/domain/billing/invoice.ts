/**
 * Invoices: the draft that the domain issues, and the invoice as it is read once it has a number
 * and a ledger state.
 */

export type {
  DocumentStatus,
  Invoice,
  InvoiceDraft,
  InvoiceLedgerState,
  InvoiceLine,
  InvoiceLineDraft,
  InvoicePeriod,
  InvoiceType,
  LineKind,
} from "../model/invoice.ts";
export { isUnsent } from "./issued-invoices.ts";
