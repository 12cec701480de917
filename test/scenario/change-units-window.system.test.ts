/**
 * Change units inside the invoice window and while pending: the renewal or first invoice amended,
 * or left and billed separately.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { sharedSystem } from "../support/reused-system.ts";
import type { TestSystem } from "../support/system.ts";
import { checkedAsk } from "./checked-ask.ts";
import { type Json, type UnitsBuilder, unitsBuilder } from "./units-builder.ts";

let system: TestSystem;
let builder: UnitsBuilder;
/** 16 April; what renews on 1 May has its renewal invoice, a draft. */
let drafts: CreatedOrganisation;
/** The same with all invoices approved. */
let approved: CreatedOrganisation;
/** The same with all invoices awaiting approval. */
let submitted: CreatedOrganisation;

beforeAll(async () => {
  system = await sharedSystem();
  builder = unitsBuilder(system, checkedAsk(system));
  drafts = await builder.sandbox({ invoice_create_days: 20 });
  approved = await builder.sandbox({ invoice_create_days: 20, first_invoice_status: "approved" });
  submitted = await builder.sandbox({
    invoice_create_days: 20,
    first_invoice_status: "awaiting_approval",
  });
  for (const own of [drafts, approved, submitted]) await builder.setClock(own, "2026-04-16");
});

const april = { start_date: "2026-04-01" };
const half = { prorate: true, effective_date: "2026-04-16" };
const may = { start: "2026-05-01", end: "2026-06-01" };
const nothing = {
  invoice: null,
  renewal_invoice: null,
  deferred_to_renewal: false,
  credit_note: null,
};

/** A subscription with its first and its renewal invoice, as they are before any change. */
async function inWindow(own: CreatedOrganisation, body: object = {}): Promise<Json> {
  const { id } = await builder.subscribe(own, { ...april, ...body });
  const [renewal, first] = await builder.invoices(own, id);
  expect(renewal).toMatchObject({
    type: "renewal",
    period: may,
    ledger: { sync_status: "synced" },
  });
  return { id, renewal, first };
}

describe.each([
  ["a draft", "draft", () => drafts],
  ["approved", "approved", () => approved],
  ["awaiting approval", "awaiting_approval", () => submitted],
])("amend of a renewal invoice that is %s", (_, status, organisation) => {
  test("re-prices its plan line and adds the current charge, also in the ledger", async () => {
    const own = organisation();
    const { id, renewal, first } = await inWindow(own);
    const { change, ...after } = await builder.changed(own, id, {
      units: 13,
      ...half,
      document: "amend",
    });
    expect(after).toMatchObject({
      units: 13,
      renewal_value: "130.0000",
      renewal_date: "2026-05-01",
    });
    const [plan] = renewal.lines;
    expect(change).toEqual({
      ...nothing,
      units: 13,
      renewal_invoice: {
        ...renewal,
        status,
        subtotal: "145.0000",
        total: "174.0000",
        amount_due: "174.0000",
        lines: [
          { ...plan, description: "13 × 10.0000", units: 13, amount: "130.0000" },
          {
            ...plan,
            id: expect.any(String),
            kind: "proration",
            description: "10 to 13 seats, 15 of 30 days: (130 − 100) × 15 ÷ 30",
            units: null,
            unit_price: null,
            amount: "15.0000",
            period: { start: "2026-04-16", end: "2026-05-01" },
            proration: { from_units: 10, to_units: 13, days_remaining: 15, days_in_period: 30 },
          },
        ],
      },
    });
    expect(await builder.invoices(own, id)).toEqual([change.renewal_invoice, first]);
    await builder.expectEqualDocuments(own);
  });
});

describe("separate", () => {
  test("bills current charge and next difference, and keeps the renewal invoice", async () => {
    const { id, renewal, first } = await inWindow(drafts);
    const { change, ...after } = await builder.changed(drafts, id, {
      units: 13,
      ...half,
      document: "separate",
    });
    expect(after).toMatchObject({ units: 13, renewal_value: "130.0000" });
    expect(change).toMatchObject({
      ...nothing,
      units: 13,
      invoice: {
        type: "change",
        status: "draft",
        subtotal: "45.0000",
        total: "54.0000",
        period: { start: "2026-04-01", end: "2026-05-01" },
        lines: [
          {
            amount: "15.0000",
            proration: { from_units: 10, to_units: 13, days_remaining: 15, days_in_period: 30 },
            period: { start: "2026-04-16", end: "2026-05-01" },
          },
          {
            amount: "30.0000",
            description: "10 to 13 seats, 31 of 31 days: (130 − 100) × 31 ÷ 31",
            proration: { from_units: 10, to_units: 13, days_remaining: 31, days_in_period: 31 },
            period: may,
          },
        ],
      },
    });
    expect(await builder.invoices(drafts, id)).toEqual([change.invoice, renewal, first]);
    await builder.expectEqualDocuments(drafts);
  });
});

describe("a change while the subscription is pending", () => {
  test("re-prices its first invoice, up and down, with its charges", async () => {
    const own = approved;
    const charges = [{ charge_code: "onboarding" }];
    const { id, invoice: first } = await builder.subscribe(own, {
      start_date: "2026-05-10",
      charges,
    });
    expect(first.subtotal).toBe("350.0000");
    const up = await builder.changed(own, id, { units: 12 });
    expect(up).toMatchObject({ status: "pending", units: 12, renewal_value: "120.0000" });
    const [plan, charge] = first.lines;
    expect(up.change).toEqual({
      ...nothing,
      units: 12,
      invoice: {
        ...first,
        subtotal: "370.0000",
        total: "444.0000",
        amount_due: "444.0000",
        lines: [{ ...plan, description: "12 × 10.0000", units: 12, amount: "120.0000" }, charge],
      },
    });
    const down = await builder.changed(own, id, { units: 3, prorate: false });
    expect(down.change.invoice).toMatchObject({ subtotal: "280.0000", total: "336.0000" });
    expect(await builder.invoices(own, id)).toEqual([down.change.invoice]);
    await builder.expectEqualDocuments(own);
  });
});
