/**
 * The addresses of documents for people: Xero's deep links. The demo ledger shows a document on its
 * own page.
 */
import type { LedgerCredentials, LedgerDocument } from "../port/ledger-kind.ts";
import { xeroAddresses } from "./auth/app.ts";

/** Xero's pages of a document, by its kind. Xero asks the person for the organisation. */
const pages = {
  invoice: "https://go.xero.com/AccountsReceivable/View.aspx?InvoiceID=",
  credit_note: "https://go.xero.com/AccountsReceivable/ViewCreditNote.aspx?creditNoteID=",
} as const;

/** Returns the address of a document's page. Null if the stored address is not readable. */
export function xeroDocumentPage(
  { baseUrl }: Pick<LedgerCredentials, "baseUrl">,
  { kind, ledgerId }: LedgerDocument,
): string | null {
  const id = encodeURIComponent(ledgerId);
  if (baseUrl === xeroAddresses.baseUrl) return `${pages[kind]}${id}`;
  return URL.canParse(baseUrl) ? `${new URL(baseUrl).origin}/#${id}` : null;
}
