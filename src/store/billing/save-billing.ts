/**
 * Issues what subscriptions are charged in the transaction that decides it: invoices, usage that
 * joins a draft, credit notes.
 */

import type { ClosedUsage, DueInvoice } from "../../domain/billing/renewal-usage.ts";
import type { BilledUsage } from "../../domain/model/usage.ts";
import { newId } from "../database/ids.ts";
import type { Transaction } from "../database/pool.ts";
import { issueCreditNotes, issueInvoices } from "../documents/issue-documents.ts";
import { saveSheets } from "../documents/line-facts.ts";
import { saveAmendment } from "../documents/save-amendment.ts";
import { saveUsageBills, type UsageBillToSave } from "./billed-usage.ts";

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
  const issuing = { createdAt: now, awaitedUntil: null };
  const ids = (subscriptionId: string) => ({ id: newId(), jobId: newId(), subscriptionId });
  const invoices = charges.flatMap((charge) =>
    charge.invoices.map((invoice) => ({ ...ids(charge.subscriptionId), ...invoice })),
  );
  const notes = charges.flatMap((charge) =>
    charge.creditNotes.map((note) => ({ ...ids(charge.subscriptionId), ...note })),
  );
  const written = charges.map(({ subscriptionId, joined, ...issued }) => ({
    subscriptionId,
    lines: [
      ...issued.invoices.flatMap(({ draft }) => draft.lines),
      ...issued.creditNotes.flatMap(({ draft }) => draft.lines),
      ...(joined?.amendment.added ?? []),
    ],
  }));
  await saveSheets(client, organisationId, written);
  await issueInvoices(client, organisationId, invoices, issuing);
  // After the invoices: credit is allocated to invoices with later numbers (DOCUMENT-4).
  await issueCreditNotes(client, organisationId, notes, issuing);
  const bills: UsageBillToSave[] = [];
  const note = (
    subscriptionId: string,
    usage: readonly BilledUsage[],
    document: { invoiceId?: string; creditNoteId?: string },
  ) => {
    const on = { subscriptionId, invoiceId: null, creditNoteId: null, ...document };
    bills.push(...usage.map((billed) => ({ ...on, billed })));
  };
  for (const { id, subscriptionId, usage } of invoices)
    note(subscriptionId, usage, { invoiceId: id });
  for (const { id, subscriptionId, usage } of notes)
    note(subscriptionId, usage, { creditNoteId: id });
  for (const { subscriptionId, joined, unbilled } of charges) {
    note(subscriptionId, unbilled, {});
    if (joined === null) continue;
    const { amendment, usage } = joined;
    await saveAmendment(client, organisationId, {
      jobId: newId(),
      subscriptionId,
      amendment,
      before: null,
      now,
      awaitedUntil: null,
    });
    note(subscriptionId, usage, { invoiceId: amendment.invoiceId });
  }
  await saveUsageBills(client, organisationId, bills);
}
