/** Statements of which each breaks one constraint, unique index or trigger and no other. */
import { randomBytes, randomUUID } from "node:crypto";
import { another, change, type SeededRows } from "./rows.ts";

/** Statements by the name of the constraint, unique index or trigger that refuses them. */
export type Faults = Readonly<Record<string, readonly string[]>>;

/** Refused values of the catalogue, of customers and of settings. */
export function valueFaults(a: SeededRows): Faults {
  const organisation = (assignments: string) =>
    change("organisations", a.organisation, assignments);
  const keyed = (assignments: string) =>
    change("idempotency_keys", `api_key_id = '${a.key}'`, assignments);
  const counter = (assignments: string) =>
    change("document_counters", `organisation_id = '${a.organisation}'`, assignments);
  const budget = (assignments: string) =>
    change("ledger_budgets", `organisation_id = '${a.organisation}'`, assignments);
  const cursor = (assignments: string) =>
    change("ledger_sync_cursors", `organisation_id = '${a.organisation}'`, assignments);
  const notification = (assignments: string) =>
    change("ledger_notifications", `organisation_id = '${a.organisation}'`, assignments);
  const data = (assignments: string) =>
    change("ledger_reference_data", `organisation_id = '${a.organisation}'`, assignments);
  const unknown = (assignments: string) =>
    change("unknown_documents", `organisation_id = '${a.organisation}'`, assignments);
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
    ledger_sync_cursors_kind: [cursor("sync_kind = 'payments'")],
    ledger_sync_cursors_cursor: [cursor("sync_cursor = 'page 2'")],
    ledger_sync_cursors_counts: [
      cursor("invoices_changed = -1"),
      cursor("failures = -1"),
      cursor("day_most = -1"),
    ],
    ledger_reference_data_kind: [data("kind = 'payments'")],
    ledger_reference_data_fetched: [data("data = '{}'"), data("fetched_at = now()")],
    ledger_notifications_kind: [notification("kind = 'payments'")],
    ledger_notifications_failures: [notification("failures = -1")],
    ledger_attempts_outcome: [
      change("ledger_attempts", `organisation_id = '${a.organisation}'`, "outcome = 'lost'"),
    ],
    overviews_reckoned: [
      change("overviews", `organisation_id = '${a.organisation}'`, "figures = '{}'"),
    ],
    unknown_documents_kind: [unknown("kind = 'letter'")],
    unknown_documents_state: [unknown("state = 'odd', document_id = NULL")],
    unknown_documents_adopted: [unknown("state = 'open'"), unknown("document_id = NULL")],
    unknown_documents_organisation_id_fkey: [unknown(`organisation_id = '${randomUUID()}'`)],
    unknown_documents_taken: [
      another("unknown_documents", `organisation_id = '${a.organisation}'`, { ledger_id: "two" }),
    ],
    document_counters_kind: [counter("kind = 'letter'")],
    document_counters_next: [counter("next = 0")],
    price_sheets_name: [
      change("price_sheets", `organisation_id = '${a.organisation}'`, "content = '[]'"),
    ],
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

/** Refused values of subscriptions and their periods. */
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
    // A gap, an overlap, a missing period, and one that changes under the next.
    periods_subscription_id_previous_index_start_date_fkey: [
      next({ start_date: "2026-03-16" }),
      next({ start_date: "2026-03-14" }),
      next({ index: 3, previous_index: 2 }),
      period(0, "end_date = '2026-02-14'"),
    ],
  };
}

/** Repeated rows: codes, numbers, positions, ledger ids, and jobs that exist once. */
export function repeatFaults(a: SeededRows): Faults {
  const free = {
    code: "OTHER",
    number: "OTHER",
    ledger_contact_id: "other",
    ledger_invoice_id: "other",
    ledger_credit_note_id: "other",
  };
  // The database ignores members that a table does not have.
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
    ledger_jobs_one_for_an_invoice: [another("ledger_jobs", a.invoiceJob)],
    ledger_jobs_one_for_a_customer: [another("ledger_jobs", a.contactJob)],
  };
}

/** Rows of organisation A without an organisation, or that refer to a row of organisation B. */
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
    ledger_attempts_organisation_id_fkey: [another("ledger_attempts", of, nobody)],
    overviews_organisation_id_fkey: [another("overviews", of, nobody)],
    usage_hours_organisation_id_fkey: [another("usage_hours", of, nobody)],
    price_sheets_organisation_id_fkey: [another("price_sheets", of, nobody)],
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
    // Another organisation's subscription or customer, and another currency.
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
      another("ledger_jobs", a.contactJob, { ...nobody, customer_id: randomUUID() }),
    ],
    ledger_jobs_subscription_fkey: [
      change("ledger_jobs", a.invoiceJob, `subscription_id = '${b.subscription}'`),
    ],
    ledger_jobs_organisation_id_invoice_id_fkey: [
      `DELETE FROM ledger_jobs WHERE id = '${b.invoiceJob}';
        ${another("ledger_jobs", a.invoiceJob, { invoice_id: b.invoice })}`,
    ],
  };
}
