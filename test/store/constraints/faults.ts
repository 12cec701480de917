/** For every rule that the database keeps by itself, statements that break this rule and no other. */
import { randomBytes, randomUUID } from "node:crypto";
import { another, change, type SeededRows } from "./rows.ts";

/** Statements by the name of the constraint, unique index or trigger that has to refuse each of them. */
export type Faults = Readonly<Record<string, readonly string[]>>;

/** The values that a column may not have, as the database sees them. */
export function valueFaults(a: SeededRows): Faults {
  const organisation = (assignments: string) =>
    change("organisations", a.organisation, assignments);
  const keyed = (assignments: string) =>
    change("idempotency_keys", `api_key_id = '${a.key}'`, assignments);
  const counter = (assignments: string) =>
    change("document_counters", `organisation_id = '${a.organisation}'`, assignments);
  const budget = (assignments: string) =>
    change("ledger_budgets", `organisation_id = '${a.organisation}'`, assignments);
  const sweep = (assignments: string) =>
    change("ledger_sync_cursors", `organisation_id = '${a.organisation}'`, assignments);
  const hint = (assignments: string) =>
    change("ledger_notifications", `organisation_id = '${a.organisation}'`, assignments);
  const offer = (assignments: string) =>
    change("ledger_reference_data", `organisation_id = '${a.organisation}'`, assignments);
  const plan = (assignments: string) => change("plans", a.plan, assignments);
  const tier = (assignments: string) =>
    change("plan_tiers", `plan_id = '${a.tieredPlan}'`, assignments);
  const charge = (assignments: string) => change("charges", a.charge, assignments);
  return {
    organisations_clock_is_a_sandboxs: [organisation("test_clock = now()")],
    organisations_first_invoice_status: [organisation("first_invoice_status = 'sent'")],
    organisations_invoice_create_days: [
      organisation("invoice_create_days = -1"),
      organisation("invoice_create_days = 3651"),
    ],
    organisations_due_days: [organisation("due_days = -1"), organisation("due_days = 366")],
    organisations_currency: [
      organisation("default_currency = 'eur'"),
      organisation("default_currency = 'EURO'"),
    ],
    api_keys_hash_is_sha256: [change("api_keys", a.key, "key_hash = '\\x00'")],
    idempotency_keys_state: [keyed("state = 'odd'")],
    idempotency_keys_done_has_response: [keyed("state = 'done'"), keyed("response = '\\x00'")],
    ledger_budgets_limit: [budget("minute_limit = 0")],
    ledger_budgets_others: [budget("others_calls = -1")],
    ledger_budgets_flights: [budget("flights = '{}'"), budget("flights_until = NULL")],
    ledger_sync_cursors_kind: [sweep("sync_kind = 'payments'")],
    ledger_sync_cursors_cursor: [sweep("sync_cursor = 'page 2'")],
    ledger_sync_cursors_counts: [
      sweep("invoices_changed = -1"),
      sweep("failures = -1"),
      sweep("day_most = -1"),
    ],
    ledger_reference_data_kind: [offer("kind = 'payments'")],
    ledger_reference_data_fetched: [offer("data = '{}'"), offer("fetched_at = now()")],
    ledger_notifications_kind: [hint("kind = 'payments'")],
    ledger_notifications_failures: [hint("failures = -1")],
    document_counters_kind: [counter("kind = 'letter'")],
    document_counters_next: [counter("next = 0")],
    customers_status: [change("customers", a.customer, "status = 'gone'")],
    plans_type: [plan("type = 'free'")],
    plans_status: [plan("status = 'gone'")],
    plans_currency: [plan("currency = 'eu'")],
    plans_interval: [
      plan("interval_count = 0"),
      plan("interval_unit = 'week'"),
      plan("interval_count = 1201"),
    ],
    plans_price: [plan("price = -0.0001"), plan("price = 1000000000"), plan("price = 'NaN'")],
    plans_with_tiers_have_no_price: [
      plan("type = 'volume'"),
      change("plans", a.tieredPlan, "allows_price_override = true"),
    ],
    plans_units: [
      plan("free_units = -1"),
      plan("minimum_units = -1"),
      plan("type = 'flat_fee', minimum_units = 1"),
    ],
    plan_tiers_bounds: [tier("up_to = 0"), tier("position = -1")],
    plan_tiers_prices: [
      tier("unit_price = NULL"),
      tier("unit_price = -1"),
      tier("flat_price = -1"),
      tier("unit_price = 'NaN'"),
      tier("flat_price = 1000000000000000"),
    ],
    charges_status: [charge("status = 'gone'")],
    charges_currency: [charge("currency = 'EU1'")],
    charges_price: [
      charge("price = -0.0001"),
      charge("price = 1000000000"),
      charge("price = 'NaN'"),
    ],
  };
}

/** The same of subscriptions and their periods. */
export function subscriptionFaults(a: SeededRows): Faults {
  const subscription = (assignments: string) =>
    change("subscriptions", a.subscription, assignments);
  const period = (index: number, assignments: string) =>
    change("periods", `subscription_id = '${a.subscription}' AND index = ${index}`, assignments);
  const third = { index: 2, previous_index: 1, start_date: "2026-03-15", end_date: "2026-04-15" };
  const next = (columns: object) =>
    another("periods", `subscription_id = '${a.subscription}' AND index = 1`, {
      ...third,
      ...columns,
    });
  return {
    subscriptions_status: [subscription("status = 'odd'")],
    subscriptions_units: [
      subscription("units = -1"),
      subscription("minimum_units = -1"),
      subscription("minimum_units = 3"),
    ],
    subscriptions_discount: [
      subscription("discount_percent = 100.0001"),
      subscription("discount_percent = -1"),
      subscription("discount_percent = 'NaN'"),
    ],
    subscriptions_billing_day: [subscription("billing_day = 0"), subscription("billing_day = 32")],
    subscriptions_cycles: [subscription("end_after_cycles = 0, end_date = '2027-01-15'")],
    subscriptions_dates: [
      subscription("renewal_date = start_date"),
      subscription("current_period = -1"),
    ],
    subscriptions_price_override: [
      subscription("price_override = -1"),
      subscription("price_override = 1000000000"),
      subscription("price_override = 'NaN'"),
    ],
    subscriptions_end_date: [
      subscription("end_date = '2027-01-15'"),
      subscription("cancel_at_period_end = true"),
      subscription("end_after_cycles = 12"),
      subscription("status = 'ended', ended_at = now(), due_at = NULL"),
      subscription("status = 'complete', due_at = NULL"),
    ],
    subscriptions_complete: [subscription("status = 'complete', end_date = '2026-03-14'")],
    subscriptions_ended: [
      subscription(
        "status = 'ended', ended_at = now(), end_date = '2026-03-01', cancel_at_period_end = true",
      ),
    ],
    subscriptions_first_period: [subscription("start_date = '2026-01-14'")],
    periods_first: [period(0, "start_date = '2026-01-16'")],
    periods_days: [period(1, "end_date = start_date"), next({ end_date: "2026-03-15" })],
    periods_previous: [
      period(1, "previous_index = NULL"),
      next({ previous_index: 0, start_date: "2026-02-15" }),
    ],
    periods_billed_units: [period(1, "billed_units = -1")],
    // A gap, an overlap, a period that is left out, and one moved under the next.
    periods_subscription_id_previous_index_start_date_fkey: [
      next({ start_date: "2026-03-16" }),
      next({ start_date: "2026-03-14" }),
      next({ index: 3, previous_index: 2 }),
      period(0, "end_date = '2026-02-14'"),
    ],
  };
}

/** The same of documents, and of the operations that bring them to the ledger. */
export function documentFaults(a: SeededRows): Faults {
  const moved = { id: randomUUID(), type: "change", number: "OTHER", ledger_invoice_id: "other" };
  const invoice = (assignments: string) => change("invoices", a.invoice, assignments);
  const line = (assignments: string) => change("invoice_lines", a.line, assignments);
  const operation = (assignments: string) => change("ledger_jobs", a.invoiceOperation, assignments);
  const contact = (assignments: string) => change("ledger_jobs", a.contactOperation, assignments);
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
    invoices_subtotal: [invoice("subtotal = 25.0001")],
    invoice_lines_subtotal: [
      line("amount = 24.9999"),
      change("invoice_lines", a.line, "amount = 0"),
      `DELETE FROM invoice_lines WHERE id = '${a.line}'`,
      another("invoice_lines", a.line, { position: 1, kind: "usage" }),
      // Taken off, and put on an invoice that has that amount already with it.
      `${another("invoices", a.invoice, moved)}; ${line(`invoice_id = '${moved.id}'`)}`,
    ],
    ledger_jobs_kind: [operation("kind = 'odd'")],
    ledger_jobs_state: [operation("state = 'odd'")],
    ledger_jobs_object: [
      operation("invoice_id = NULL"),
      contact("customer_id = NULL"),
      contact("kind = 'import_contact'"),
      ...["invoice_id", "subscription_id"].map((column) =>
        change("ledger_jobs", a.amendment, `${column} = NULL`),
      ),
      ...["credit_note_id", "subscription_id"].map((column) =>
        change("ledger_jobs", a.creditNoteOperation, `${column} = NULL`),
      ),
      change("ledger_jobs", a.amendment, "kind = 'end_subscription', subscription_id = NULL"),
      ...["credit_note_id", "invoice_id", "subscription_id"].map((column) =>
        change("ledger_jobs", a.allocationOperation, `${column} = NULL`),
      ),
    ],
    ledger_jobs_finished: [operation("finished_at = now()"), operation("state = 'done'")],
    ledger_jobs_sent: [
      operation("state = 'sending'"),
      operation("state = 'uncertain', first_sent_at = now()"),
    ],
    ledger_jobs_refused: [operation("state = 'refused', finished_at = now(), reason = 'no'")],
  };
}

/** The same of credit notes, and of their credit that is applied to invoices. */
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
      `${another("credit_notes", a.creditNote, { ...moved, remaining_credit: 5 })}; ${line(`credit_note_id = '${moved.id}'`)}`,
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
      `${inDollars}${another("invoices", a.invoice, { ...otherInvoice, subscription_id: foreign, currency: "USD" })}; ${allocation(`invoice_id = '${invoice}'`)}`,
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

/** A row that another one has already: codes, numbers, places, ledger ids, and what may be alive only once. */
export function repeatFaults(a: SeededRows): Faults {
  const free = {
    code: "OTHER",
    number: "OTHER",
    ledger_contact_id: "other",
    ledger_invoice_id: "other",
    ledger_credit_note_id: "other",
  };
  // Members that a table does not have are passed over by the database.
  const repeat = (table: string, id: string, columns: object) =>
    another(table, id, { ...free, ...columns });
  const changed = { type: "change" };
  return {
    api_keys_key_hash_key: [another("api_keys", a.key)],
    customers_organisation_id_code_key: [repeat("customers", a.customer, { code: "ACME" })],
    customers_organisation_id_ledger_contact_id_key: [
      repeat("customers", a.customer, { ledger_contact_id: "contact" }),
    ],
    customers_organisation_id_seq_key: [repeat("customers", a.customer, { seq: "same" })],
    plans_organisation_id_code_key: [repeat("plans", a.plan, { code: "team" })],
    plans_organisation_id_seq_key: [repeat("plans", a.plan, { seq: "same" })],
    charges_organisation_id_code_key: [repeat("charges", a.charge, { code: "setup" })],
    charges_organisation_id_seq_key: [repeat("charges", a.charge, { seq: "same" })],
    subscriptions_organisation_id_seq_key: [
      another("subscriptions", a.subscription, { seq: "same" }),
    ],
    invoices_organisation_id_number_key: [
      repeat("invoices", a.invoice, { ...changed, number: "INV-0001" }),
    ],
    invoices_organisation_id_ledger_invoice_id_key: [
      repeat("invoices", a.invoice, { ...changed, ledger_invoice_id: "ledger" }),
    ],
    invoices_organisation_id_seq_key: [repeat("invoices", a.invoice, { ...changed, seq: "same" })],
    invoices_one_for_a_period: [repeat("invoices", a.invoice, {})],
    invoice_lines_invoice_id_position_key: [another("invoice_lines", a.line, { kind: "usage" })],
    invoice_lines_one_plan: [another("invoice_lines", a.line, { position: 1, amount: 0 })],
    credit_notes_organisation_id_number_key: [
      repeat("credit_notes", a.creditNote, { number: "CN-0001" }),
    ],
    credit_notes_organisation_id_ledger_credit_note_id_key: [
      repeat("credit_notes", a.creditNote, { ledger_credit_note_id: "ledger" }),
    ],
    credit_notes_organisation_id_seq_key: [repeat("credit_notes", a.creditNote, { seq: "same" })],
    credit_note_lines_credit_note_id_position_key: [another("credit_note_lines", a.creditNoteLine)],
    ledger_jobs_one_for_an_invoice: [another("ledger_jobs", a.invoiceOperation)],
    ledger_jobs_one_for_a_customer: [another("ledger_jobs", a.contactOperation)],
  };
}

/** A row of organisation A that belongs to nobody, or refers to a row of organisation B. */
export function tenantFaults(a: SeededRows, b: SeededRows): Faults {
  const nobody = { organisation_id: randomUUID() };
  const free = { number: "OTHER", ledger_invoice_id: "other", ledger_credit_note_id: "other" };
  const of = `organisation_id = '${a.organisation}'`;
  const third = { index: 2, previous_index: 1, start_date: "2026-03-15", end_date: "2026-04-15" };
  const noteLine = another("credit_note_lines", a.creditNoteLine, {
    credit_note_id: b.creditNote,
    position: 7,
  });
  return {
    api_keys_organisation_id_fkey: [
      another("api_keys", a.key, { ...nobody, key_hash: `\\x${randomBytes(32).toString("hex")}` }),
    ],
    idempotency_keys_organisation_id_fkey: [
      another("idempotency_keys", of, { ...nobody, key: "other" }),
    ],
    idempotency_keys_api_key_fkey: [
      another("idempotency_keys", of, { api_key_id: b.key, key: "other" }),
    ],
    ledger_connections_organisation_id_fkey: [another("ledger_connections", of, nobody)],
    ledger_budgets_organisation_id_fkey: [another("ledger_budgets", of, nobody)],
    ledger_sync_cursors_organisation_id_fkey: [another("ledger_sync_cursors", of, nobody)],
    ledger_reference_data_organisation_id_fkey: [another("ledger_reference_data", of, nobody)],
    ledger_notifications_organisation_id_fkey: [another("ledger_notifications", of, nobody)],
    document_counters_organisation_id_fkey: [another("document_counters", of, nobody)],
    customers_organisation_id_fkey: [another("customers", a.customer, nobody)],
    plans_organisation_id_fkey: [another("plans", a.plan, nobody)],
    plan_tiers_organisation_id_plan_id_fkey: [another("plan_tiers", of, { plan_id: b.plan })],
    charges_organisation_id_fkey: [another("charges", a.charge, nobody)],
    subscriptions_organisation_id_customer_id_fkey: [
      another("subscriptions", a.subscription, { customer_id: b.customer }),
    ],
    subscriptions_organisation_id_plan_id_fkey: [
      another("subscriptions", a.subscription, { plan_id: b.plan }),
    ],
    periods_organisation_id_subscription_id_fkey: [
      another("periods", `${of} AND index = 1`, { ...third, subscription_id: b.subscription }),
    ],
    // Another organisation's subscription or customer, and another currency than the subscription's.
    invoices_subscription_fkey: [
      another("invoices", a.invoice, { ...free, subscription_id: b.subscription }),
      change("invoices", a.invoice, `customer_id = '${b.customer}'`),
      change("invoices", a.invoice, "currency = 'USD'"),
      change("subscriptions", a.subscription, "currency = 'USD'"),
    ],
    invoices_period_fkey: [
      another("invoices", a.invoice, { ...free, type: "change", period_index: 2 }),
    ],
    invoice_lines_organisation_id_invoice_id_fkey: [
      another("invoice_lines", a.line, { invoice_id: b.invoice, position: 7, kind: "usage" }),
    ],
    invoice_lines_organisation_id_charge_id_fkey: [
      another("invoice_lines", a.line, { kind: "charge", charge_id: b.charge, position: 7 }),
    ],
    credit_notes_subscription_fkey: [
      another("credit_notes", a.creditNote, { ...free, subscription_id: b.subscription }),
      change("credit_notes", a.creditNote, `customer_id = '${b.customer}'`),
      change("credit_notes", a.creditNote, "currency = 'USD'"),
    ],
    credit_note_lines_organisation_id_credit_note_id_fkey: [noteLine],
    allocations_organisation_id_credit_note_id_fkey: [
      another("allocations", a.allocation, { credit_note_id: b.creditNote }),
    ],
    allocations_organisation_id_invoice_id_fkey: [
      another("allocations", a.allocation, { invoice_id: b.invoice }),
    ],
    ledger_jobs_organisation_id_fkey: [
      another("ledger_jobs", a.contactOperation, { ...nobody, customer_id: randomUUID() }),
    ],
    ledger_jobs_subscription_fkey: [
      change("ledger_jobs", a.invoiceOperation, `subscription_id = '${b.subscription}'`),
    ],
    ledger_jobs_organisation_id_invoice_id_fkey: [
      `DELETE FROM ledger_jobs WHERE id = '${b.invoiceOperation}'; ${another("ledger_jobs", a.invoiceOperation, { invoice_id: b.invoice })}`,
    ],
  };
}
