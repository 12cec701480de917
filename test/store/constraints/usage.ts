/** Statements that break the constraints of meters, their prices, usage events and bills. */
import type { Faults } from "./faults.ts";
import { another, change, type SeededRows } from "./rows.ts";

const nobody = "00000000-0000-0000-0000-000000000000";

/** Refused values, and changes of immutable columns. */
export function usageFaults(a: SeededRows): Faults {
  const priced = (assignments: string) =>
    change("plan_meters", `plan_id = '${a.plan}'`, assignments);
  const tier = (assignments: string) =>
    change("plan_meter_tiers", `plan_id = '${a.tieredPlan}'`, assignments);
  const subscription = (assignments: string) =>
    change("subscriptions", a.subscription, assignments);
  return {
    usage_hours_events: [
      change("usage_hours", `organisation_id = '${a.organisation}'`, "events = 0"),
    ],
    usage_hours_counted_one: ["INSERT INTO usage_hours_counted (id, until) VALUES (2, now())"],
    meters_status: [change("meters", a.meter, "status = 'gone'")],
    meters_organisation_id_code_key: [another("meters", a.meter)],
    meters_organisation_id_seq_key: [another("meters", a.meter, { code: "other", seq: "same" })],
    plan_meters_type: [priced("type = 'flat_fee'")],
    plan_meters_price: [
      priced("price = -0.0001"),
      priced("price = 1000000000"),
      priced("price = 'NaN'"),
    ],
    plan_meters_position: [priced("position = -1"), priced("position = 20")],
    plan_meter_tiers_position: [tier("position = -1")],
    plan_meter_tiers_up_to: [tier("up_to = 0")],
    plan_meter_tiers_prices: [
      tier("unit_price = NULL"),
      ...["unit_price", "flat_price"].flatMap((price) => [
        tier(`${price} = -0.0001`),
        tier(`${price} = 1000000000`),
        tier(`${price} = 'NaN'`),
      ]),
    ],
    subscriptions_ended_at: [
      subscription("ended_at = now()"),
      subscription("status = 'ended', end_date = '2026-03-01', due_at = NULL"),
    ],
    subscriptions_usage: [
      subscription("usage_billed = -1"),
      subscription("usage_billed = usage_bill + 1"),
    ],
    invoice_lines_meter: [change("invoice_lines", a.line, `meter_id = '${a.meter}'`)],
    ...eventFaults(a),
    ...sumFaults(a),
    ...billFaults(a),
  };
}

const eventOf = (a: SeededRows) => `organisation_id = '${a.organisation}' AND event_id = 'evt-2'`;

/** An event like the second one. */
const report = (a: SeededRows, columns: object) =>
  another("usage_events", eventOf(a), { event_id: "evt-3", ...columns });

function eventFaults(a: SeededRows): Faults {
  const event = (assignments: string) => change("usage_events", eventOf(a), assignments);
  const voided = "voided_at = now(), void_reason = 'Twice'";
  return {
    usage_events_id_length: [report(a, { event_id: "" }), report(a, { event_id: "x".repeat(256) })],
    usage_events_quantity: [0, -1, "NaN"].map((quantity) => report(a, { quantity })),
    usage_events_bill: [report(a, { period_index: -1 }), report(a, { bill: -1 })],
    usage_events_voided: [event("voided_at = now()"), event("void_reason = 'Twice'")],
    usage_events_stay: [
      event("event_id = 'evt-4'"),
      event("quantity = 4"),
      event(`meter_id = '${nobody}'`),
      event("bill = 2"),
      event("period_index = 0"),
      event("occurred_at = now()"),
      event("created_at = '2026-01-01'"),
      event(`${voided}, quantity = 4`),
      `${event(voided)}; ${event("voided_at = NULL, void_reason = NULL")}`,
      `${event(voided)}; ${event("void_reason = 'Another'")}`,
      `DELETE FROM usage_events WHERE ${eventOf(a)}`,
    ],
  };
}

function sumFaults(a: SeededRows): Faults {
  const sum = (assignments: string) =>
    change("usage_sums", `subscription_id = '${a.subscription}'`, assignments);
  const wrong = ["events = -1", "quantity = -1", "events = 0", "quantity = 0"];
  const dropped = ["dropped_events = -1", "dropped_events = events + 1"];
  const quantities = ["dropped_quantity = -1", "dropped_quantity = quantity + 1"];
  return {
    usage_sums_counts: wrong.map(sum),
    usage_sums_dropped: [...dropped, ...quantities].map(sum),
    usage_event_ids_first: [
      `INSERT INTO usage_event_ids VALUES ('${a.organisation}', 'evt-2', '{evt-1}')`,
    ],
    usage_events_not_dropped: [
      `WITH kept AS (INSERT INTO usage_event_ids VALUES ('${a.organisation}', 'evt-3', '{evt-3}'))
        ${report(a, {})}`,
    ],
  };
}

function billFaults(a: SeededRows): Faults {
  const bill = (assignments: string) =>
    change("usage_bills", `subscription_id = '${a.subscription}'`, assignments);
  const credit = `credit_note_id = '${a.creditNote}'`;
  return {
    usage_bills_numbers: [bill("bill = -1"), bill("period_index = -1"), bill("events = 0")],
    usage_bills_quantities: [
      bill("quantity = 0"),
      bill("quantity = 'NaN'"),
      bill("priced = -0.0001"),
      bill("priced = 'NaN'"),
    ],
    usage_bills_document: [
      bill("invoice_id = NULL"),
      bill(credit),
      bill("amount = -1"),
      bill(`amount = -1, ${credit}`),
      bill("amount = -1, invoice_id = NULL"),
      bill(`amount = 0, ${credit}`),
    ],
  };
}

/** Rows of organisation A that refer to rows of organisation B, or to no row. */
export function usageTenantFaults(a: SeededRows, b: SeededRows): Faults {
  const price = (columns: object) =>
    another("plan_meters", `plan_id = '${a.plan}'`, { position: 1, ...columns });
  const bill = (columns: object) =>
    another("usage_bills", `subscription_id = '${a.subscription}'`, { bill: 1, ...columns });
  const sum = (columns: object) =>
    another("usage_sums", `subscription_id = '${a.subscription}'`, { bill: 7, ...columns });
  const line = change("invoice_lines", a.line, `kind = 'usage', meter_id = '${b.meter}'`);
  return {
    meters_organisation_id_fkey: [another("meters", a.meter, { organisation_id: nobody })],
    plan_meters_organisation_id_plan_id_fkey: [price({ plan_id: b.plan })],
    plan_meters_organisation_id_meter_id_fkey: [price({ meter_id: b.meter })],
    plan_meter_tiers_organisation_id_plan_id_meter_id_fkey: [
      another("plan_meter_tiers", `plan_id = '${a.tieredPlan}'`, { meter_id: b.meter }),
      another("plan_meter_tiers", `plan_id = '${a.tieredPlan}'`, {
        plan_id: b.tieredPlan,
        position: 1,
      }),
    ],
    usage_events_of_plan: [
      report(a, { subscription_id: b.subscription }),
      report(a, { subscription_id: nobody }),
      report(a, { meter_id: b.meter }),
      // A meter of the organisation that the plan does not have.
      `DELETE FROM plan_meters WHERE plan_id = '${a.plan}'; ${report(a, {})}`,
    ],
    usage_sums_organisation_id_subscription_id_fkey: [sum({ subscription_id: b.subscription })],
    usage_sums_organisation_id_meter_id_fkey: [sum({ meter_id: b.meter })],
    usage_event_ids_organisation_id_fkey: [
      `INSERT INTO usage_event_ids VALUES ('${nobody}', 'evt-1', '{evt-1}')`,
    ],
    unsummed_usage_organisation_id_subscription_id_fkey: [
      `INSERT INTO unsummed_usage (organisation_id, subscription_id)
        VALUES ('${a.organisation}', '${b.subscription}')`,
    ],
    usage_bills_organisation_id_subscription_id_fkey: [bill({ subscription_id: b.subscription })],
    usage_bills_organisation_id_meter_id_fkey: [bill({ meter_id: b.meter })],
    usage_bills_organisation_id_invoice_id_fkey: [bill({ invoice_id: b.invoice })],
    usage_bills_organisation_id_credit_note_id_fkey: [
      bill({ amount: -1, invoice_id: null, credit_note_id: b.creditNote }),
    ],
    invoice_lines_organisation_id_meter_id_fkey: [line],
    credit_note_lines_organisation_id_meter_id_fkey: [
      change("credit_note_lines", a.creditNoteLine, `meter_id = '${b.meter}'`),
    ],
    credit_note_lines_organisation_id_reversed_invoice_id_fkey: [
      change("credit_note_lines", a.creditNoteLine, `reversed_invoice_id = '${b.invoice}'`),
    ],
  };
}
