/** Statements that break the constraints of documents, their jobs and their credit. */
import { randomUUID } from "node:crypto";
import type { Faults } from "./faults.ts";
import { another, change, type SeededRows } from "./rows.ts";

/** Refused values of documents and of the jobs that post them. */
export function documentFaults(a: SeededRows): Faults {
  const moved = { id: randomUUID(), type: "change", number: "OTHER", ledger_invoice_id: "other" };
  const invoice = (assignments: string) => change("invoices", a.invoice, assignments);
  const line = (assignments: string) => change("invoice_lines", a.line, assignments);
  const job = (assignments: string) => change("ledger_jobs", a.invoiceJob, assignments);
  const contact = (assignments: string) => change("ledger_jobs", a.contactJob, assignments);
  return {
    invoices_type: [invoice("type = 'odd'")],
    invoices_status: [invoice("status = 'odd'")],
    invoices_amounts: ["total", "amount_due", "subtotal"].flatMap((column) =>
      ["-1", "'NaN'", "2000000000000000"].map((amount) => invoice(`${column} = ${amount}`)),
    ),
    invoices_period: [
      invoice("period_end = NULL"),
      invoice("period_end = period_start"),
      invoice("type = 'change', period_index = -1"),
    ],
    invoices_first_period: [
      invoice("period_index = 1"),
      invoice("type = 'renewal'"),
      invoice("period_start = NULL, period_end = NULL"),
    ],
    invoices_synced: [invoice("ledger_invoice_id = NULL")],
    invoices_sync_error: [
      invoice("status = 'not_in_external'"),
      invoice("status = 'scheduled', sync_error = 'no'"),
    ],
    invoice_lines_kind: [line("kind = 'odd'")],
    invoice_lines_amount: [
      ...["amount", "unit_price", "quantity"].flatMap((column) =>
        ["-1", "'NaN'"].map((amount) => line(`${column} = ${amount}`)),
      ),
      line("amount = 1000000000000000"),
      line("unit_price = 1000000000000000"),
    ],
    invoice_lines_period: [line("period_start = NULL"), line("period_end = period_start")],
    invoice_lines_proration: [
      line("from_units = 1"),
      line("kind = 'proration', from_units = 1, to_units = 2"),
    ],
    invoice_lines_charge: [line("kind = 'charge'"), line(`charge_id = '${a.charge}'`)],
    invoices_subtotal: [
      invoice("subtotal = 25.0001"),
      // New, without lines.
      another("invoices", a.invoice, moved),
    ],
    invoice_lines_subtotal: [
      line("amount = 24.9999"),
      change("invoice_lines", a.line, "amount = 0"),
      `DELETE FROM invoice_lines WHERE id = '${a.line}'`,
      another("invoice_lines", a.line, { position: 1, kind: "usage" }),
      // Moved to an invoice that already has the amount.
      `${another("invoices", a.invoice, moved)}; ${line(`invoice_id = '${moved.id}'`)}`,
    ],
    ledger_jobs_kind: [job("kind = 'odd'")],
    ledger_jobs_state: [job("state = 'odd'")],
    ledger_jobs_object: [
      job("invoice_id = NULL"),
      contact("customer_id = NULL"),
      contact("kind = 'import_contact'"),
      ...["invoice_id", "subscription_id"].map((column) =>
        change("ledger_jobs", a.amendment, `${column} = NULL`),
      ),
      ...["credit_note_id", "subscription_id"].map((column) =>
        change("ledger_jobs", a.creditNoteJob, `${column} = NULL`),
      ),
      change("ledger_jobs", a.amendment, "kind = 'end_subscription', subscription_id = NULL"),
      ...["credit_note_id", "invoice_id", "subscription_id"].map((column) =>
        change("ledger_jobs", a.allocationJob, `${column} = NULL`),
      ),
    ],
    ledger_jobs_finished: [job("finished_at = now()"), job("state = 'done'")],
    ledger_jobs_sent: [job("state = 'sending'"), job("state = 'uncertain', first_sent_at = now()")],
    ledger_jobs_refused: [job("state = 'refused', finished_at = now(), reason = 'no'")],
  };
}

/** Refused values of credit notes and allocations. */
export function creditFaults(a: SeededRows): Faults {
  const note = (assignments: string) => change("credit_notes", a.creditNote, assignments);
  const line = (assignments: string) => change("credit_note_lines", a.creditNoteLine, assignments);
  const allocation = (assignments: string) => change("allocations", a.allocation, assignments);
  const moved = { id: randomUUID(), number: "OTHER", ledger_credit_note_id: "other" };
  const [foreign, invoice] = [randomUUID(), randomUUID()];
  const dollars = `subscription_id = '${foreign}', currency = 'USD'`;
  const inDollars = [
    another("subscriptions", a.subscription, { id: foreign, currency: "USD" }),
    another("periods", `subscription_id = '${a.subscription}' AND index = 0`, {
      subscription_id: foreign,
    }),
    "",
  ].join("; ");
  const otherInvoice = { id: invoice, number: "OTHER", ledger_invoice_id: "other", subtotal: 0 };
  return {
    credit_notes_status: [note("status = 'odd'")],
    credit_notes_amounts: [
      note("remaining_credit = 5.0001"),
      ...["subtotal", "total"].flatMap((column) =>
        ["0", "'NaN'", "2000000000000000"].map((amount) => note(`${column} = ${amount}`)),
      ),
      ...["-1", "'NaN'"].map((amount) => note(`remaining_credit = ${amount}`)),
    ],
    credit_notes_synced: [note("ledger_credit_note_id = NULL")],
    credit_notes_sync_error: [note("sync_error = 'no'"), note("status = 'not_in_external'")],
    credit_notes_subtotal: [note("subtotal = 5.0001")],
    credit_note_lines_subtotal: [
      line("amount = 4.9999"),
      `DELETE FROM credit_note_lines WHERE id = '${a.creditNoteLine}'`,
      another("credit_note_lines", a.creditNoteLine, { position: 1 }),
      [
        another("credit_notes", a.creditNote, { ...moved, remaining_credit: 5 }),
        line(`credit_note_id = '${moved.id}'`),
      ].join("; "),
    ],
    credit_note_lines_amount: ["-1", "'NaN'", "1000000000000000"].map((amount) =>
      line(`amount = ${amount}`),
    ),
    credit_notes_applied_elsewhere: ["-1", "5.0001", "'NaN'"].map((amount) =>
      note(`applied_elsewhere = ${amount}`),
    ),
    credit_notes_credit: [
      note("remaining_credit = 3"),
      note("total = 6"),
      note("applied_elsewhere = 1"),
    ],
    allocations_credit: [
      allocation("amount = 2"),
      allocation("status = 'removed'"),
      `DELETE FROM allocations WHERE id = '${a.allocation}'`,
      another("allocations", a.allocation),
    ],
    invoices_credit: [change("invoices", a.invoice, "total = 0.9999")],
    allocations_within_invoice: [`${note("total = 30")}; ${allocation("amount = 26")}`],
    allocations_party: [
      inDollars +
        another("invoices", a.invoice, {
          ...otherInvoice,
          subscription_id: foreign,
          currency: "USD",
        }) +
        `; ${allocation(`invoice_id = '${invoice}'`)}`,
    ],
    invoices_party: [`${inDollars}${change("invoices", a.invoice, dollars)}`],
    credit_notes_party: [`${inDollars}${note(dollars)}`],
    allocations_amount: ["0", "'NaN'", "2000000000000000"].map((amount) =>
      allocation(`amount = ${amount}`),
    ),
    allocations_status: [allocation("status = 'odd'")],
    allocations_sync_status: [allocation("sync_status = 'odd'")],
  };
}
