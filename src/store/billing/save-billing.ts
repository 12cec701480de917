/**
 * Issues what subscriptions are charged in the transaction that decides it: invoices, usage that
 * joins a draft, credit notes. Stores which usage each of them bills (INVARIANT-4). SQL, because
 * one statement writes the usage of a chunk.
 */
import type { ClosedUsage, DueInvoice } from "../../domain/billing/renewal-usage.ts";
import type { BilledUsage } from "../../domain/model/usage.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { columnSet } from "../database/column-set.ts";
import { newId } from "../database/ids.ts";
import type { Transaction } from "../database/pool.ts";
import { omit } from "../database/sql/columns.ts";
import { columnsOf, namesOf, sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { withIds } from "../documents/document-writes.ts";
import { issueDocuments } from "../documents/issue-documents.ts";
import { saveAmendment } from "../documents/save-amendment.ts";

/** The charges of one subscription. */
interface DueCharges extends ClosedUsage {
  readonly subscriptionId: string;
  readonly invoices: readonly DueInvoice[];
}

/** Whether new documents must be posted. An amendment has its own workflow. */
export function leavesDocuments({
  invoices,
  creditNotes,
}: Pick<DueCharges, "invoices" | "creditNotes">): boolean {
  return invoices.length > 0 || creditNotes.length > 0;
}

/**
 * Issues the charges and records which document bills which usage. `now` is the organisation's. No
 * caller waits for the ledger.
 */
export async function saveCharges(
  client: Transaction,
  organisationId: string,
  charges: readonly DueCharges[],
  now: Date,
): Promise<void> {
  const invoices = charges.flatMap((charge) => withIds(charge.subscriptionId, charge.invoices));
  const creditNotes = charges.flatMap((charge) =>
    withIds(charge.subscriptionId, charge.creditNotes),
  );
  const others = charges.map(({ subscriptionId, joined }) => ({
    subscriptionId,
    lines: joined?.amendment.added ?? [],
  }));
  const issuing = { createdAt: now, awaitedUntil: null };
  await issueDocuments(client, organisationId, { invoices, creditNotes, others }, issuing);
  for (const { subscriptionId, joined } of charges) {
    if (joined === null) continue;
    const { amendment } = joined;
    const jobId = newId();
    const written = { jobId, subscriptionId, amendment, before: null, now, awaitedUntil: null };
    await saveAmendment(client, organisationId, written);
  }
  const bills = [
    ...invoices.flatMap(({ id, usage, ...of }) => billRecords(usage, { ...of, invoiceId: id })),
    ...creditNotes.flatMap(({ id, usage, ...of }) =>
      billRecords(usage, { ...of, creditNoteId: id }),
    ),
    ...charges.flatMap(({ subscriptionId, unbilled, joined }) => [
      ...billRecords(unbilled, { subscriptionId }),
      ...billRecords(joined?.usage ?? [], {
        subscriptionId,
        invoiceId: joined?.amendment.invoiceId,
      }),
    ]),
  ];
  if (bills.length > 0) await insertBills(client, organisationId, ...billSet.arrays(bills));
}

const billColumns = omit(columns.usageBill, "organisationId", "createdAt");
const billSet = columnSet(billColumns, 2);

// The primary key refuses a second row for the same usage, so nothing is billed twice.
const insertBills = command({
  name: "save_usage_bills",
  text: sql`
    INSERT INTO usage_bills (organisation_id, ${namesOf(billColumns)})
    SELECT $1, ${columnsOf(sql`r`, billColumns)}
    FROM ${billSet.source(sql`r`)}
  `,
});

/** Usage of a subscription on a document. It has neither id if nothing is to be billed. */
interface UsageDocument {
  readonly subscriptionId: string;
  readonly invoiceId?: string | undefined;
  readonly creditNoteId?: string;
}

function billRecords(
  billed: readonly BilledUsage[],
  { subscriptionId, invoiceId, creditNoteId }: UsageDocument,
) {
  return billed.map(({ usage, amount, priced }) => ({
    subscriptionId,
    bill: usage.bill,
    periodIndex: usage.period.index,
    meterId: usage.meter.id,
    events: String(usage.events),
    quantity: formatDecimal(usage.quantity),
    priced: formatDecimal(priced),
    amount: formatDecimal(amount),
    invoiceId,
    creditNoteId,
  }));
}
