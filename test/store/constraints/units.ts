/**
 * What the database refuses of changes of units, of what they defer, and of amendments and allocations: each rule,
 * broken.
 */
import { randomUUID } from "node:crypto";
import type { Faults } from "./faults.ts";
import { another, change, type SeededRows } from "./rows.ts";

/** Values, and rows that may be there once only. */
export function unitsFaults(a: SeededRows): Faults {
  const allocate = (assignments: string) =>
    change("ledger_jobs", a.allocationOperation, assignments);
  const amend = (assignments: string) => change("ledger_jobs", a.amendment, assignments);
  const line = (assignments: string) => change("deferred_lines", a.deferredLine, assignments);
  const units = (assignments: string) => change("unit_changes", a.unitChange, assignments);
  const { invoice, note, sql } = otherDocuments(a, a.subscription);
  const named = change("allocations", a.allocation, "ledger_allocation_id = 'same'");
  const twice = { credit_note_id: note, invoice_id: invoice };
  return {
    invoices_amending_from: ["[]", "2", '{"units": 2}'].map((json) =>
      change("invoices", a.invoice, `amending_from = '${json}'`),
    ),
    ledger_jobs_joins: [
      allocate("joins = true"),
      change("ledger_jobs", a.invoiceOperation, "joins = true"),
    ],
    ledger_jobs_amount: [
      ...["NULL", "0", "-1", "'NaN'", "2000000000000000"].map((amount) =>
        allocate(`amount = ${amount}`),
      ),
      amend("amount = 1"),
      change("ledger_jobs", a.creditNoteOperation, "amount = 1"),
    ],
    ledger_jobs_one_for_a_subscription: [
      `${sql}; ${another("ledger_jobs", a.amendment, { invoice_id: invoice })}`,
      another("ledger_jobs", a.amendment, { kind: "end_subscription", invoice_id: null }),
    ],
    ledger_jobs_one_allocation: [`${sql}; ${another("ledger_jobs", a.allocationOperation, twice)}`],
    ledger_jobs_one_for_a_credit_note: [another("ledger_jobs", a.creditNoteOperation)],
    allocations_organisation_id_ledger_allocation_id_key: [
      `${named}; ${another("allocations", a.allocation)}`,
    ],
    deferred_lines_amount: ["0", "-1", "'NaN'", "1000000000000000"].map((amount) =>
      line(`amount = ${amount}`),
    ),
    deferred_lines_days: [
      line("period_start = period_end, days_remaining = 0"),
      line("period_start = '2026-03-02'"),
      line("days_remaining = 13"),
      line("days_in_period = 13"),
    ],
    deferred_lines_units: [line("from_units = -1"), line("to_units = 2")],
    unit_changes_units: [units("from_units = -1"), units("to_units = -1"), units("to_units = 2")],
    unit_changes_hash_is_sha256: [units("request_hash = '\\x00'")],
    unit_changes_deferred: [
      units("deferred = true, invoice_id = NULL"),
      units("deferred = true, credit_note_id = NULL"),
      units(
        "deferred = true, invoice_id = NULL, credit_note_id = NULL, renewal_invoice_id = invoice_id",
      ),
    ],
    unit_changes_invoices: [units("renewal_invoice_id = invoice_id")],
    unit_changes_jobs: [units("job_ids = NULL"), units("job_ids = ARRAY[NULL]::uuid[]")],
  };
}

/** Rows of organisation A that refer to rows of organisation B, or to what is not there. */
export function unitsTenantFaults(a: SeededRows, b: SeededRows): Faults {
  const units = (assignments: string) => change("unit_changes", a.unitChange, assignments);
  const line = (assignments: string) => change("deferred_lines", a.deferredLine, assignments);
  const of = { credit_note_id: b.creditNote };
  const gone = `DELETE FROM ledger_jobs WHERE id = '${b.creditNoteOperation}'`;
  return {
    ledger_jobs_organisation_id_credit_note_id_fkey: [
      `${gone}; ${another("ledger_jobs", a.creditNoteOperation, of)}`,
    ],
    deferred_lines_organisation_id_subscription_id_fkey: [
      line(`subscription_id = '${b.subscription}'`),
    ],
    // A period that is not there, and one that ends on another day.
    deferred_lines_period_fkey: [
      line("period_index = 2"),
      line("period_end = '2026-03-14', days_remaining = 13"),
      change(
        "periods",
        `subscription_id = '${a.subscription}' AND index = 1`,
        "end_date = '2026-03-16'",
      ),
    ],
    deferred_lines_organisation_id_invoice_id_fkey: [line(`invoice_id = '${b.invoice}'`)],
    unit_changes_organisation_id_subscription_id_fkey: [
      units(`subscription_id = '${b.subscription}'`),
    ],
    unit_changes_organisation_id_invoice_id_fkey: [units(`invoice_id = '${b.invoice}'`)],
    unit_changes_organisation_id_renewal_invoice_id_fkey: [
      units(`renewal_invoice_id = '${b.invoice}'`),
    ],
    unit_changes_organisation_id_credit_note_id_fkey: [units(`credit_note_id = '${b.creditNote}'`)],
  };
}

/** What is told of one subscription and is about documents of another one of the same customer. */
export function foreignDocumentFaults(a: SeededRows): Faults {
  const subscription = randomUUID();
  const { invoice, note, sql } = otherDocuments(a, subscription);
  const foreign = [
    another("subscriptions", a.subscription, { id: subscription }),
    another("periods", `subscription_id = '${a.subscription}' AND index = 0`, {
      subscription_id: subscription,
    }),
    sql,
    "",
  ].join("; ");
  const after = (sql: string) => `${foreign}${sql}`;
  const operation = (id: string, assignments: string) =>
    after(change("ledger_jobs", id, assignments));
  const units = (assignments: string) => after(change("unit_changes", a.unitChange, assignments));
  const move = `subscription_id = '${subscription}'`;
  const free = (table: string) =>
    `DELETE FROM ${table} WHERE organisation_id = '${a.organisation}'`;
  const moveInvoice = `SET CONSTRAINTS ALL IMMEDIATE; ${change("invoices", a.invoice, move)}`;
  const moveNote = change("credit_notes", a.creditNote, move);
  const ended = { state: "refused", finished_at: "2026-03-01", reason: "no", message: "No" };
  // Of what is told of the document one thing is left, so that this one has to hold it; what was right up to there is
  // judged there.
  const renewed = change(
    "unit_changes",
    a.unitChange,
    "renewal_invoice_id = invoice_id, invoice_id = NULL",
  );
  const billed = change("deferred_lines", a.deferredLine, `invoice_id = '${a.invoice}'`);
  return {
    ledger_jobs_documents: [
      operation(a.amendment, `invoice_id = '${invoice}'`),
      operation(a.amendment, move),
      operation(a.creditNoteOperation, `credit_note_id = '${note}'`),
      operation(a.allocationOperation, `invoice_id = '${invoice}'`),
      operation(a.allocationOperation, `credit_note_id = '${note}'`),
      after(
        another("ledger_jobs", a.allocationOperation, { subscription_id: subscription, ...ended }),
      ),
    ],
    deferred_lines_billed: [
      after(change("deferred_lines", a.deferredLine, `invoice_id = '${invoice}'`)),
      after(another("deferred_lines", a.deferredLine, { invoice_id: invoice })),
    ],
    unit_changes_documents: [
      units(`invoice_id = '${invoice}'`),
      units(`renewal_invoice_id = '${invoice}'`),
      units(`credit_note_id = '${note}'`),
      units(move),
    ],
    invoices_subscription: [
      after(`${free("unit_changes")}; ${moveInvoice}`),
      after(`${free("unit_changes")}; ${free("ledger_jobs")}; ${billed}; ${moveInvoice}`),
      after(`${free("ledger_jobs")}; ${moveInvoice}`),
      after(`${free("ledger_jobs")}; ${renewed}; ${moveInvoice}`),
    ],
    credit_notes_subscription: [
      after(`${free("unit_changes")}; ${moveNote}`),
      after(`${free("ledger_jobs")}; ${moveNote}`),
    ],
  };
}

/**
 * Another invoice and another credit note of a subscription, over nothing that is applied; and the SQL that makes them.
 */
function otherDocuments(
  a: SeededRows,
  subscription: string,
): { readonly invoice: string; readonly note: string; readonly sql: string } {
  const [invoice, note] = [randomUUID(), randomUUID()];
  const of = { subscription_id: subscription, number: "OTHER" };
  const sql = [
    another("invoices", a.invoice, {
      ...of,
      id: invoice,
      type: "change",
      ledger_invoice_id: "other",
      subtotal: 0,
    }),
    another("credit_notes", a.creditNote, {
      ...of,
      id: note,
      ledger_credit_note_id: "other",
      remaining_credit: 5,
    }),
    another("credit_note_lines", a.creditNoteLine, { credit_note_id: note }),
  ].join("; ");
  return { invoice, note, sql };
}
