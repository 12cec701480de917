/**
 * The rows of billing for the tests of constraints: catalogue, subscription, documents, ledger jobs
 * and usage.
 */
import { createHash } from "node:crypto";
import type { SeededRows } from "./rows.ts";

/** A row by its table and columns. `seed` adds the organisation. */
export type Row = readonly [table: string, columns: Readonly<Record<string, unknown>>];

/** The instant of all rows. */
export const now = new Date();

/** The content of a column whose bytes do not matter. */
export const bytes = Buffer.alloc(1);

/** A hash that differs for each organisation. */
export function hashOf(rows: SeededRows): Buffer {
  return createHash("sha256").update(rows.key).digest();
}

/** Returns the rows in the order in which they refer to each other. */
export function billingRows(rows: SeededRows): readonly Row[] {
  return [
    ...catalogueRows(rows),
    ...subscriptionRows(rows),
    ...documentRows(rows),
    ...jobRows(rows),
    ...usageRows(rows),
  ];
}

function catalogueRows(rows: SeededRows): readonly Row[] {
  return [
    [
      "customers",
      {
        id: rows.customer,
        code: "ACME",
        name: "Acme",
        email: "a@acme.example",
        status: "active",
        ledger_contact_id: "contact",
      },
    ],
    [
      "plans",
      {
        id: rows.plan,
        code: "team",
        name: "Team",
        type: "per_unit",
        currency: "EUR",
        price: 12.5,
        status: "active",
      },
    ],
    [
      "plans",
      {
        id: rows.tieredPlan,
        code: "growth",
        name: "Growth",
        type: "tiered",
        currency: "EUR",
        price: 0,
        status: "active",
      },
    ],
    ["plan_tiers", { plan_id: rows.tieredPlan, position: 0, up_to: 5, unit_price: 7 }],
    [
      "charges",
      {
        id: rows.charge,
        code: "setup",
        name: "Setup",
        currency: "EUR",
        price: 250,
        status: "active",
      },
    ],
    [
      "meters",
      {
        id: rows.meter,
        code: "api-calls",
        name: "API calls",
        unit_label: "call",
        status: "active",
      },
    ],
    [
      "plan_meters",
      { plan_id: rows.plan, position: 0, meter_id: rows.meter, type: "per_unit", price: 0.5 },
    ],
    [
      "plan_meters",
      { plan_id: rows.tieredPlan, position: 0, meter_id: rows.meter, type: "tiered", price: 0 },
    ],
    [
      "plan_meter_tiers",
      { plan_id: rows.tieredPlan, meter_id: rows.meter, position: 0, unit_price: 0.5 },
    ],
  ];
}

function subscriptionRows(rows: SeededRows): readonly Row[] {
  return [
    [
      "subscriptions",
      {
        id: rows.subscription,
        customer_id: rows.customer,
        plan_id: rows.plan,
        status: "active",
        currency: "EUR",
        interval_unit: "month",
        interval_count: 1,
        timezone: "UTC",
        start_date: "2026-01-15",
        billing_day: 15,
        current_period: 1,
        renewal_date: "2026-03-15",
        units: 2,
        minimum_units: 0,
        discount_percent: 0,
        due_at: "2026-03-15",
        request_hash: bytes,
        usage_bill: 1,
        usage_billed: 1,
      },
    ],
    [
      "periods",
      {
        subscription_id: rows.subscription,
        index: 0,
        previous_index: null,
        start_date: "2026-01-15",
        end_date: "2026-02-15",
        billed_units: 2,
      },
    ],
    [
      "periods",
      {
        subscription_id: rows.subscription,
        index: 1,
        previous_index: 0,
        start_date: "2026-02-15",
        end_date: "2026-03-15",
        billed_units: 2,
      },
    ],
  ];
}

function documentRows(rows: SeededRows): readonly Row[] {
  return [
    [
      "invoices",
      {
        id: rows.invoice,
        customer_id: rows.customer,
        subscription_id: rows.subscription,
        number: "INV-0001",
        type: "first",
        status: "draft",
        currency: "EUR",
        subtotal: 25,
        total: 25,
        amount_due: 25,
        issue_date: "2026-01-15",
        period_index: 0,
        period_start: "2026-01-15",
        period_end: "2026-02-15",
        ledger_invoice_id: "ledger",
      },
    ],
    [
      "invoice_lines",
      {
        id: rows.line,
        invoice_id: rows.invoice,
        position: 0,
        kind: "plan",
        name: "Team",
        description: "2 × 12.5000",
        units: 2,
        unit_price: 12.5,
        amount: 25,
        period_start: "2026-01-15",
        period_end: "2026-02-15",
      },
    ],
    [
      "credit_notes",
      {
        id: rows.creditNote,
        customer_id: rows.customer,
        subscription_id: rows.subscription,
        number: "CN-0001",
        status: "approved",
        currency: "EUR",
        credit_note_date: now,
        subtotal: 5,
        total: 5,
        remaining_credit: 4,
        ledger_credit_note_id: "ledger",
      },
    ],
    [
      "credit_note_lines",
      {
        id: rows.creditNoteLine,
        credit_note_id: rows.creditNote,
        position: 0,
        name: "Team",
        description: "2 to 1 seats",
        amount: 5,
        effective_date: now,
      },
    ],
    [
      "allocations",
      {
        id: rows.allocation,
        credit_note_id: rows.creditNote,
        invoice_id: rows.invoice,
        amount: 1,
        date: now,
        status: "active",
        sync_status: "synced",
      },
    ],
  ];
}

function jobRows(rows: SeededRows): readonly Row[] {
  return [
    [
      "ledger_jobs",
      {
        id: rows.invoiceJob,
        kind: "create_invoice",
        state: "ready",
        subscription_id: rows.subscription,
        invoice_id: rows.invoice,
      },
    ],
    [
      "ledger_jobs",
      {
        id: rows.contactJob,
        kind: "create_contact",
        state: "ready",
        customer_id: rows.customer,
      },
    ],
    [
      "ledger_jobs",
      {
        id: rows.amendment,
        kind: "amend_invoice",
        state: "ready",
        subscription_id: rows.subscription,
        invoice_id: rows.invoice,
        credit_note_id: null,
        amount: null,
      },
    ],
    [
      "ledger_jobs",
      {
        id: rows.creditNoteJob,
        kind: "create_credit_note",
        state: "ready",
        subscription_id: rows.subscription,
        invoice_id: null,
        credit_note_id: rows.creditNote,
        amount: null,
      },
    ],
    [
      "ledger_jobs",
      {
        id: rows.allocationJob,
        kind: "allocate_credit",
        state: "ready",
        subscription_id: rows.subscription,
        invoice_id: rows.invoice,
        credit_note_id: rows.creditNote,
        amount: 4,
      },
    ],
    [
      "deferred_lines",
      {
        id: rows.deferredLine,
        subscription_id: rows.subscription,
        period_index: 1,
        name: "Team",
        description: "2 to 3 seats",
        amount: 6.25,
        period_start: "2026-03-01",
        period_end: "2026-03-15",
        from_units: 2,
        to_units: 3,
        days_remaining: 14,
        days_in_period: 28,
      },
    ],
    [
      "unit_changes",
      {
        id: rows.unitChange,
        subscription_id: rows.subscription,
        from_units: 2,
        to_units: 3,
        invoice_id: rows.invoice,
        credit_note_id: rows.creditNote,
        deferred: false,
        job_ids: [rows.amendment],
        request_hash: hashOf(rows),
      },
    ],
    [
      "terminations",
      {
        id: rows.termination,
        subscription_id: rows.subscription,
        end_when: "now",
        request_hash: hashOf(rows),
      },
    ],
    [
      "removals",
      { termination_id: rows.termination, step: 0, invoice_id: rows.invoice, state: "waiting" },
    ],
    [
      "restorations",
      {
        id: rows.restoration,
        subscription_id: rows.subscription,
        job_ids: [],
        request_hash: hashOf(rows),
      },
    ],
  ];
}

function usageRows(rows: SeededRows): readonly Row[] {
  return [
    [
      "usage_events",
      {
        event_id: "evt-1",
        subscription_id: rows.subscription,
        meter_id: rows.meter,
        period_index: 0,
        bill: 0,
        quantity: 10,
        occurred_at: "2026-02-01",
      },
    ],
    [
      "usage_events",
      {
        event_id: "evt-2",
        subscription_id: rows.subscription,
        meter_id: rows.meter,
        period_index: 1,
        bill: 1,
        quantity: 3,
        occurred_at: "2026-03-01",
      },
    ],
    [
      "usage_bills",
      {
        subscription_id: rows.subscription,
        bill: 0,
        period_index: 0,
        meter_id: rows.meter,
        events: 1,
        quantity: 10,
        priced: 10,
        amount: 5,
        invoice_id: rows.invoice,
      },
    ],
    ["clock_advances", { started_from: "2026-03-01", target: "2026-04-01" }],
  ];
}
