/**
 * Create subscription over HTTP and on real parts: every member, every plan type, exact amounts,
 * and the ledger's answer.
 */
import { expect } from "vitest";
import { creationTest as test } from "./creation-fixture.ts";

test("a created subscription shows every member of the request, with exact amounts", async ({
  ask,
  shared,
  created,
}) => {
  const { invoice, ...subscription } = await created({
    customer_code: "GLOBEX",
    plan_code: "team",
    units: 7,
    discount_percent: "12.5",
    invoice_reference: "PO-1881",
    start_date: "2026-02-28",
    timezone: "America/Los_Angeles",
    billing_day: 31,
    price: "11.0001",
    minimum_units: 5,
    end_after_cycles: 12,
    label: "Head office ☂",
    charges: [
      { charge_code: "onboarding", quantity: 3, price: "66.6667" },
      { charge_code: "hardware-key", quantity: 2 },
      { charge_code: "hardware-key" },
    ],
  });
  const plans = await ask("GET", "/v1/plans?code=team", { key: shared.apiKey });
  const customers = await ask("GET", "/v1/customers?code=GLOBEX", { key: shared.apiKey });
  const [plan, customer] = [plans.json.data[0].id, customers.json.data[0].id];
  expect(subscription).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    object: "subscription",
    customer,
    customer_code: "GLOBEX",
    plan,
    status: "pending",
    currency: "NZD",
    interval: { unit: "month", count: 1 },
    timezone: "America/Los_Angeles",
    start_date: "2026-02-28",
    renewal_date: "2026-03-31",
    end_date: "2027-02-28",
    units: 7,
    minimum_units: 5,
    discount_percent: "12.5000",
    cancel_at_period_end: false,
    end_after_cycles: 12,
    label: "Head office ☂",
    invoice_reference: "PO-1881",
    // 7 × 11.0001 = 77.0007, less 12.5 % = 67.3756125.
    renewal_value: "67.3800",
    created: "2026-01-31T03:00:00.000Z",
  });
  const line = { id: expect.any(String), quantity: null, proration: null };
  const charge = { ...line, kind: "charge", period: null };
  expect(invoice).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    object: "invoice",
    number: expect.stringMatching(/^INV-\d{4}$/),
    reference: "PO-1881",
    type: "first",
    customer,
    subscription: subscription.id,
    status: "draft",
    currency: "NZD",
    // 67.38 + 200.00 + 79.80 + 39.90, and 20 % tax on each line: 13.48 + 40.00 + 15.96 + 7.98.
    subtotal: "387.0800",
    total: "464.5000",
    amount_due: "464.5000",
    issue_date: "2026-02-28",
    due_date: "2026-03-14",
    period: { start: "2026-02-28", end: "2026-03-31" },
    sent: false,
    lines: [
      {
        ...line,
        kind: "plan",
        name: "Team",
        description: "7 × 11.0001, less 12.5 %",
        units: 7,
        unit_price: "11.0001",
        amount: "67.3800",
        period: { start: "2026-02-28", end: "2026-03-31" },
      },
      // 3 × 66.6667 = 200.0001; a discount does not touch charges.
      {
        ...charge,
        name: "Onboarding",
        description: "Two hours with our team",
        units: 3,
        unit_price: "66.6667",
        amount: "200.0000",
      },
      {
        ...charge,
        name: "Hardware key",
        description: "",
        units: 2,
        unit_price: "39.9000",
        amount: "79.8000",
      },
      {
        ...charge,
        name: "Hardware key",
        description: "",
        units: 1,
        unit_price: "39.9000",
        amount: "39.9000",
      },
    ],
    ledger: { sync_status: "synced", invoice_id: expect.any(String), sync_error: null },
    created: "2026-01-31T03:00:00.000Z",
  });
  const read = await ask("GET", `/v1/invoices/${invoice.id}`, { key: shared.apiKey });
  expect(read.json).toEqual(invoice);
});

test("a creation defaults to today in the organisation's zone and minimum units", async ({
  created,
}) => {
  expect(await created({ plan_code: "team", units: 1 })).toMatchObject({
    status: "active",
    timezone: "Pacific/Auckland",
    start_date: "2026-01-31",
    renewal_date: "2026-02-28",
    end_date: null,
    minimum_units: 1,
    discount_percent: "0.0000",
    end_after_cycles: null,
    label: "",
    invoice_reference: "",
    invoice: { reference: null, issue_date: "2026-01-31", due_date: "2026-02-14" },
  });
  expect(await created({ plan_code: "site", timezone: "America/Los_Angeles" })).toMatchObject({
    start_date: "2026-01-30",
    renewal_date: "2026-02-28",
  });
});

test("a subscription that starts later is pending, and its invoice is issued now", async ({
  created,
}) => {
  expect(await created({ plan_code: "site", start_date: "2031-01-31" })).toMatchObject({
    status: "pending",
    renewal_date: "2031-02-28",
    invoice: {
      issue_date: "2031-01-31",
      due_date: "2031-02-14",
      period: { start: "2031-01-31", end: "2031-02-28" },
      ledger: { sync_status: "synced" },
    },
  });
});
