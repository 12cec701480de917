/** The columns of invoices and of credit notes, wherever they are listed. */
import type { Column } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Day } from "../../design/values/instant.tsx";
import { Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import { LedgerSyncStatus } from "../../gen/billing/v1/common_pb.ts";
import type { CreditNote } from "../../gen/billing/v1/credit_notes_pb.ts";
import type { Invoice } from "../../gen/billing/v1/invoices_pb.ts";
import { allocationStates, documentStatuses, invoiceTypes, wordsOf } from "../../words/states.ts";
import { CustomerName } from "../customers/customer-name.tsx";

/** The state of a document: what the ledger refused comes before its status. */
export function DocumentMark({ of }: { readonly of: Pick<Invoice, "status"> & DocumentLedger }) {
  return of.ledger?.syncStatus === LedgerSyncStatus.FAILED ? (
    <State word="Refused by the ledger" tone="bad" />
  ) : (
    <State {...wordsOf(documentStatuses, of.status)} />
  );
}

interface DocumentLedger {
  readonly ledger?: { readonly syncStatus: LedgerSyncStatus };
}

/** The columns of invoices. */
export const invoiceColumns: readonly Column<Invoice>[] = [
  {
    title: "Number",
    cell: ({ number, type }) => <Named name={number} sub={invoiceTypes[type]} />,
  },
  { title: "Customer", cell: ({ customer }) => <CustomerName id={customer} />, from: "under" },
  { title: "State", cell: (invoice) => <DocumentMark of={invoice} /> },
  { title: "Issued", cell: ({ issueDate }) => <Day date={issueDate} />, from: "desktop" },
  {
    title: "Due",
    cell: ({ dueDate }) => (dueDate === undefined ? "–" : <Day date={dueDate} />),
    from: "desktop",
  },
  {
    title: "Still to pay",
    cell: ({ amountDue, currency }) =>
      Number(amountDue) === 0 ? "–" : <Money amount={amountDue} currency={currency} />,
    isNumber: true,
    from: "desktop",
  },
  {
    title: "Total",
    cell: ({ total, currency }) => <Money amount={total} currency={currency} />,
    isNumber: true,
  },
];

/** The columns of credit notes. */
export const creditNoteColumns: readonly Column<CreditNote>[] = [
  { title: "Number", cell: ({ number }) => number },
  { title: "Customer", cell: ({ customer }) => <CustomerName id={customer} />, from: "under" },
  { title: "State", cell: (note) => <DocumentMark of={note} /> },
  {
    title: "Credit",
    cell: ({ allocationStatus }) => <State {...wordsOf(allocationStates, allocationStatus)} />,
    from: "desktop",
  },
  { title: "Date", cell: ({ creditNoteDate }) => <Day date={creditNoteDate} />, from: "desktop" },
  {
    title: "Total",
    cell: ({ total, currency }) => <Money amount={total} currency={currency} />,
    isNumber: true,
  },
];
