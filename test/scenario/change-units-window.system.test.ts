/**
 * Change units inside the invoice window and while pending: the renewal or first invoice amended,
 * or left and billed separately.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { sharedSystem } from "../support/reused-system.ts";
import type { TestSystem } from "../support/system.ts";
import { checkedAsk, refusalOf, refused } from "./checked-ask.ts";
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

const amounts = ({ lines }: Json) =>
  lines.map(({ kind, units, amount }: Json) => [kind, units, amount]);

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

  test("goes up and down any number of times and never charges twice", async () => {
    const own = organisation();
    const { id } = await inWindow(own);
    const amend = async (body: object): Promise<Json> =>
      (await builder.changed(own, id, { ...body, document: "amend" })).change.renewal_invoice;
    expect(amounts(await amend({ units: 4 }))).toEqual([["plan", 4, "40.0000"]]);
    // Back within the units that the current period was billed for.
    expect(amounts(await amend({ units: 10, ...half }))).toEqual([["plan", 10, "100.0000"]]);
    expect(amounts(await amend({ units: 12, ...half }))).toEqual([
      ["plan", 12, "120.0000"],
      ["proration", null, "10.0000"],
    ]);
    expect(amounts(await amend({ units: 9 }))).toEqual([
      ["plan", 9, "90.0000"],
      ["proration", null, "10.0000"],
    ]);
    expect(amounts(await amend({ units: 12, ...half }))).toEqual([
      ["plan", 12, "120.0000"],
      ["proration", null, "10.0000"],
    ]);
    expect(await builder.invoices(own, id)).toHaveLength(2);
    await builder.expectEqualDocuments(own);
  });

  test("without prorate re-prices the renewal alone and closes proration", async () => {
    const own = organisation();
    const { id } = await inWindow(own);
    const { change } = await builder.changed(own, id, { units: 13, document: "amend" });
    expect(amounts(change.renewal_invoice)).toEqual([["plan", 13, "130.0000"]]);
    for (const document of ["amend", "separate"]) {
      const answer = await builder.change(own, id, { units: 14, ...half, document });
      expect(refusalOf(answer)).toEqual(refused(422, "proration_unavailable", "prorate"));
    }
  });
});

test("has the renewal invoice issued by the request that finds the window open", async () => {
  const own = await builder.sandbox({ invoice_create_days: 5 });
  const { id } = await builder.subscribe(own, april);
  await builder.setClock(own, "2026-04-26");
  const { change } = await builder.changed(own, id, { units: 12, document: "amend" });
  expect(change.renewal_invoice).toMatchObject({
    type: "renewal",
    subtotal: "120.0000",
    total: "144.0000",
  });
  await builder.expectEqualDocuments(own);
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

  test("without prorate bills the next difference alone and closes amending", async () => {
    const { id } = await inWindow(drafts);
    const { change } = await builder.changed(drafts, id, { units: 13, document: "separate" });
    expect(change.invoice.lines.map(({ amount }: Json) => amount)).toEqual(["30.0000"]);
    for (const units of [9, 14]) {
      const answer = await builder.change(drafts, id, { units, document: "amend" });
      expect(refusalOf(answer)).toEqual(refused(422, "renewal_invoice_not_amendable", "document"));
      expect(answer.json.error.message).toContain("an earlier change was billed separately");
    }
  });

  test("of a decrease issues nothing, and keeps the renewal invoice amendable", async () => {
    const { id, renewal, first } = await inWindow(approved);
    const { change } = await builder.changed(approved, id, { units: 4, document: "separate" });
    expect(change).toEqual({ ...nothing, units: 4 });
    expect(await builder.invoices(approved, id)).toEqual([renewal, first]);
    // What is billed already for both periods is billed no second time.
    expect(
      (await builder.changed(approved, id, { units: 10, ...half, document: "separate" })).change,
    ).toEqual({
      ...nothing,
      units: 10,
    });
    await builder.changed(approved, id, { units: 8, document: "amend" });
    await builder.expectEqualDocuments(approved);
  });

  test("after an amendment is measured from what the renewal invoice bills then", async () => {
    const { id } = await inWindow(approved);
    await builder.changed(approved, id, { units: 12, ...half, document: "amend" });
    const { change } = await builder.changed(approved, id, {
      units: 15,
      ...half,
      document: "separate",
    });
    expect(
      change.invoice.lines.map(({ amount, proration }: Json) => [amount, proration.from_units]),
    ).toEqual([
      ["15.0000", 12],
      ["30.0000", 12],
    ]);
    await builder.changed(approved, id, { units: 7, document: "separate" });
    const again = await builder.changed(approved, id, { units: 16, ...half, document: "separate" });
    expect(again.change.invoice.lines.map(({ amount }: Json) => amount)).toEqual([
      "5.0000",
      "10.0000",
    ]);
  });
});

test("changes inside the window, billed either way, are billed once over a renewal", async () => {
  const own = await builder.sandbox({ invoice_create_days: 20, first_invoice_status: "approved" });
  await builder.setClock(own, "2026-04-05");
  const { id } = await builder.subscribe(own, april);
  // Before the window: deferred to the renewal invoice that comes with it.
  const later = {
    units: 11,
    prorate: true,
    effective_date: "2026-04-16",
    proration_behaviour: "charge_on_renewal",
  };
  expect((await builder.changed(own, id, later)).change.deferred_to_renewal).toBe(true);
  await builder.setClock(own, "2026-04-11");
  await builder.change(own, id, { units: 11 });
  await builder.posted(own);
  await builder.changed(own, id, { units: 12, ...half, document: "amend" });
  await builder.changed(own, id, { units: 14, ...half, document: "separate" });
  await builder.setClock(own, "2026-05-11");
  // The window of June is not open yet, and all of May is billed at 14.
  expect((await builder.changed(own, id, { units: 13 })).change).toEqual({ ...nothing, units: 13 });
  const all = { units: 14, prorate: true, effective_date: "2026-05-01" };
  expect((await builder.changed(own, id, all)).change).toEqual({ ...nothing, units: 14 });
  await builder.setClock(own, "2026-05-12");
  expect(refusalOf(await builder.change(own, id, { units: 13 }))).toEqual(
    refused(422, "document_required", "document"),
  );
  await builder.expectEqualDocuments(own);
  const shown = await builder.invoices(own, id);
  expect(shown.map(({ type, period, subtotal }) => [type, period.start, subtotal])).toEqual([
    ["renewal", "2026-06-01", "140.0000"],
    // 2 × 10 × 15 ÷ 30 and 2 × 10.
    ["change", "2026-04-01", "30.0000"],
    // 12 × 10, the deferred 5.00 and 5.00.
    ["renewal", "2026-05-01", "130.0000"],
    ["first", "2026-04-01", "100.0000"],
  ]);
  expect(amounts(shown[2])).toEqual([
    ["plan", 12, "120.0000"],
    ["proration", null, "5.0000"],
    ["proration", null, "5.0000"],
  ]);
});

test("a change after a gap of years comes after every period, each billed once", async () => {
  // Approved, because the charge would join a draft if the billing run came before the request.
  const own = await builder.sandbox({ first_invoice_status: "approved" });
  const { id } = await builder.subscribe(own, april);
  await builder.setClock(own, "2029-04-16");
  const { change, ...after } = await builder.changed(own, id, {
    units: 13,
    prorate: true,
    effective_date: "2029-04-16",
  });
  expect(after.renewal_date).toBe("2029-05-01");
  expect(change.invoice).toMatchObject({ type: "change", subtotal: "15.0000" });
  await builder.expectEqualDocuments(own);
  const shown = (await builder.invoices(own, id)).filter(({ type }) => type !== "change");
  const months = Array.from(
    { length: 37 },
    (_, k) =>
      `${2026 + Math.floor((3 + k) / 12)}-${String(((3 + k) % 12) + 1).padStart(2, "0")}-01`,
  );
  expect(shown.map(({ period }) => period.start)).toEqual(months.reverse());
});

test("a change after a person removed the renewal invoice is billed for both periods", async () => {
  const own = await builder.sandbox({ invoice_create_days: 20, first_invoice_status: "approved" });
  await builder.setClock(own, "2026-04-16");
  const { id } = await inWindow(own);
  await system.pool.query(
    `UPDATE invoices SET status = 'voided', amount_due = 0 WHERE subscription_id = $1
      AND type = 'renewal'`,
    [id],
  );
  for (const [differs, code, param] of [
    [{ document: "amend" }, "renewal_invoice_not_amendable", "document"],
    [half, "document_required", "document"],
    [
      { ...half, document: "separate", proration_behaviour: "charge_on_renewal" },
      "proration_behaviour_not_allowed",
      "proration_behaviour",
    ],
  ] as const) {
    const answer = await builder.change(own, id, { units: 12, ...differs });
    expect(refusalOf(answer)).toEqual(refused(422, code, param));
  }
  const separate = { units: 12, ...half, document: "separate" };
  const { change, renewal_value } = await builder.changed(own, id, separate);
  // Half of April, and May: two seats that the removed invoice did not have.
  expect(change.invoice.lines.map(({ amount }: Json) => amount)).toEqual(["10.0000", "20.0000"]);
  expect(renewal_value).toBe("120.0000");
  const path = `/v1/subscriptions/${id}/upcoming_invoice`;
  const { json: upcoming } = await checkedAsk(system)("GET", path, { key: own.apiKey });
  expect(upcoming).toMatchObject({ lines: [], subtotal: "0.0000" });
});

describe("a change while the subscription is pending", () => {
  test.each([
    ["a draft", () => drafts],
    ["approved", () => approved],
  ])("re-prices its first invoice, %s, up and down, with its charges", async (_, organisation) => {
    const own = organisation();
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

  test("counts for the first period once that has begun", async () => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    const { id } = await builder.subscribe(own, { start_date: "2026-04-10" });
    await builder.changed(own, id, { units: 12 });
    await builder.setClock(own, "2026-04-10");
    const from = { prorate: true, effective_date: "2026-04-10" };
    expect((await builder.changed(own, id, { units: 11 })).status).toBe("active");
    expect((await builder.changed(own, id, { units: 12, ...from })).change.invoice).toBeNull();
    expect((await builder.changed(own, id, { units: 13, ...from })).change.invoice.subtotal).toBe(
      "10.0000",
    );
  });
});
