/** The organisation's settings that billing rules read. */

/** The status that an organisation's new invoices get in the ledger (DOCUMENT-1). */
export type FirstInvoiceStatus = "draft" | "awaiting_approval" | "approved";

/**
 * An organisation and its settings. `invoiceCreateDays`: how many days ahead renewal invoices are
 * issued. `dueDays`: days from an invoice's issue to its due date. `livemode` is false for a
 * sandbox (DOCUMENT-6, OBJECT-8).
 */
export interface OrganisationSettings {
  readonly id: string;
  readonly name: string;
  readonly timezone: string;
  readonly defaultCurrency: string;
  readonly setupMode: boolean;
  readonly canCreateLedgerContacts: boolean;
  readonly livemode: boolean;
  readonly invoiceCreateDays: number;
  readonly firstInvoiceStatus: FirstInvoiceStatus;
  readonly dueDays: number;
  readonly numberPrefix: string;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}
