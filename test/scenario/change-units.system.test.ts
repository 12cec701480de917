/**
 * Change units over HTTP outside the invoice window: the specification's table of increases, rules
 * 1 to 4 and 6, and pending.
 */
import { describe, expect } from "vitest";
import { refusalOf, refused } from "./checked-ask.ts";
import type { Json } from "./units-builder.ts";
import { april, half, halfLine, nothing, unitsTest as test } from "./units-fixture.ts";

const amounts = ({ lines }: Json) => lines.map(({ kind, amount }: Json) => [kind, amount]);

describe("an increase with prorate and charge_immediately", () => {
  test("joins the subscription's draft: lines and totals, here and in the ledger", async ({
    system,
    builder,
    drafts,
  }) => {
    const { invoice: first, ...before } = await builder.subscribe(drafts, april);
    const { change, ...after } = await builder.changed(drafts, before.id, { units: 13, ...half });
    expect(after).toEqual({ ...before, units: 13, renewal_value: "130.0000" });
    const invoice = {
      ...first,
      subtotal: "115.0000",
      total: "138.0000",
      amount_due: "138.0000",
      lines: [...first.lines, halfLine(10, 13, "15.0000", "130 − 100")],
    };
    expect(change).toEqual({ ...nothing, units: 13, invoice });
    expect(await builder.invoices(drafts, before.id)).toEqual([invoice]);
    expect(await builder.subscription(drafts, before.id)).toEqual(after);
    const booked = (await builder.inLedger(drafts)).find(({ number }) => number === first.number);
    expect(booked).toEqual({
      number: first.number,
      status: "DRAFT",
      subtotal: "115.00",
      total: "138.00",
      lines: [
        ["Team: 10 × 10.0000", "100.00"],
        ["Team: 10 to 13 seats, 15 of 30 days: (130 − 100) × 15 ÷ 30", "15.00"],
      ],
    });
    const shown = await (await fetch(`${system.demoUrl}/demo/documents`)).json();
    expect((shown as Json).invoices).toContainEqual(
      expect.objectContaining({ number: first.number, currency: "EUR", total: "138.00" }),
    );
    await builder.expectEqualDocuments(drafts);
  });

  test("joins it repeatedly: each charge is a line, from the last billed units", async ({
    builder,
    drafts,
  }) => {
    const { id } = await builder.subscribe(drafts, april);
    await builder.changed(drafts, id, { units: 11, ...half });
    await builder.changed(drafts, id, { units: 12, ...half });
    const { change } = await builder.changed(drafts, id, {
      units: 15,
      prorate: true,
      effective_date: "2026-04-30",
    });
    expect(amounts(change.invoice)).toEqual([
      ["plan", "100.0000"],
      ["proration", "5.0000"],
      ["proration", "5.0000"],
      ["proration", "1.0000"],
    ]);
    expect(change.invoice).toMatchObject({ subtotal: "111.0000", total: "133.2000" });
    await builder.expectEqualDocuments(drafts);
  });

  test("issues a separate invoice if the newest one is no draft", async ({ builder, approved }) => {
    const {
      invoice: first,
      id,
      customer,
    } = await builder.subscribe(approved, {
      ...april,
      invoice_reference: "PO-7",
    });
    const { change } = await builder.changed(approved, id, { units: 13, ...half });
    expect(change).toEqual({
      ...nothing,
      units: 13,
      invoice: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        object: "invoice",
        number: expect.stringMatching(/^INV-\d{4}$/),
        reference: "PO-7",
        type: "change",
        customer,
        subscription: id,
        status: "approved",
        currency: "NZD",
        subtotal: "15.0000",
        total: "18.0000",
        amount_due: "18.0000",
        issue_date: "2026-04-16",
        due_date: "2026-04-30",
        period: { start: "2026-04-01", end: "2026-05-01" },
        sent: false,
        lines: [halfLine(10, 13, "15.0000", "130 − 100")],
        ledger: { sync_status: "synced", invoice_id: expect.any(String), sync_error: null },
        created: "2026-04-16T12:00:00.000Z",
      },
    });
    expect(change.invoice.number > first.number).toBe(true);
    expect(await builder.invoices(approved, id)).toEqual([change.invoice, first]);
    await builder.expectEqualDocuments(approved);
  });

  test.for([
    // 12.50 × 20 ÷ 30 = 8.333…; 12.50 × 10 ÷ 30 = 4.1666…; 0.02 × 15 ÷ 30 = 0.01; 2.01 × 15 ÷ 30 =
    // 1.005, away from zero.
    [{ price: "12.5" }, "2026-04-11", "8.3300"],
    [{ price: "12.5" }, "2026-04-21", "4.1700"],
    [{ price: "0.02" }, "2026-04-16", "0.0100"],
    [{ price: "2.01" }, "2026-04-16", "1.0100"],
    [{ price: "10", discount_percent: "12.5" }, "2026-04-16", "4.3800"],
    [{ price: "10" }, "2026-04-01", "10.0000"],
    [{ price: "10" }, "2026-04-30", "0.3300"],
  ] as const)("is prorated by days and rounded once: %o from %s on is %s", async ([
    body,
    day,
    amount,
  ], { builder, approved }) => {
    const { id } = await builder.subscribe(approved, { ...april, ...body });
    const { change } = await builder.changed(approved, id, {
      units: 11,
      prorate: true,
      effective_date: day,
    });
    expect(change.invoice.subtotal).toBe(amount);
  });

  test("issues no document and keeps the billed units if its amount is 0.00", async ({
    builder,
    approved,
  }) => {
    const { id } = await builder.subscribe(approved, { ...april, price: "0.01" });
    const last = { prorate: true, effective_date: "2026-04-30" };
    expect((await builder.changed(approved, id, { units: 11, ...last })).change).toEqual({
      ...nothing,
      units: 11,
    });
    const { change } = await builder.changed(approved, id, { units: 30, ...half });
    // From the 10 that were billed: 20 × 0.01 × 15 ÷ 30.
    expect(change.invoice.lines[0]).toMatchObject({
      amount: "0.1000",
      proration: { from_units: 10, to_units: 30 },
    });
  });

  test("is billed in whole yen, over the periods of the billing day", async ({ builder }) => {
    const yen = await builder.sandbox({ first_invoice_status: "approved" }, "JPY");
    await builder.setClock(yen, "2026-03-10");
    const { id } = await builder.subscribe(yen, {
      start_date: "2026-02-28",
      billing_day: 31,
      price: "25",
    });
    const { change } = await builder.changed(yen, id, {
      units: 11,
      prorate: true,
      effective_date: "2026-03-15",
    });
    // 28 February to 31 March: 31 days, 16 of them left. 25 × 16 ÷ 31 = 12.9.
    expect(change.invoice.lines[0]).toMatchObject({
      amount: "13.0000",
      proration: { days_remaining: 16, days_in_period: 31 },
    });
  });

  test.for([
    // growth: 5 at 7, 10 at 6.50, the rest at 6; steps: 50 to 10, 100 to 20, 150 above.
    ["growth", 4, 6, "6.7500"],
    ["growth", 10, 13, "9.0000"],
    ["steps", 10, 11, "25.0000"],
    ["steps", 11, 21, "25.0000"],
  ] as const)("is computed over tiers: %s, %i to %i is %s", async ([plan_code, units, to, amount], {
    builder,
    approved,
  }) => {
    const { id } = await builder.subscribe(approved, { ...april, plan_code, units });
    const { change } = await builder.changed(approved, id, { units: to, ...half });
    expect(change.invoice.subtotal).toBe(amount);
  });

  test("in a final period is billed now, and no renewal bills it", async ({
    builder,
    approved,
  }) => {
    const { id } = await builder.subscribe(approved, { ...april, end_after_cycles: 1 });
    const { change, ...after } = await builder.changed(approved, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ type: "change", subtotal: "15.0000" });
    expect(after).toMatchObject({ units: 13, renewal_value: "0.0000", end_date: "2026-05-01" });
  });

  test("within one band of a stairstep issues nothing, and later steps cost in full", async ({
    builder,
    approved,
  }) => {
    const { id } = await builder.subscribe(approved, { ...april, plan_code: "steps", units: 5 });
    expect((await builder.changed(approved, id, { units: 10, ...half })).change.invoice).toBeNull();
    const { change } = await builder.changed(approved, id, { units: 11, ...half });
    expect(change.invoice.lines[0]).toMatchObject({
      amount: "25.0000",
      proration: { from_units: 5, to_units: 11 },
    });
  });

  test("is dated today in the subscription's own zone", async ({ builder }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    const { id } = await builder.subscribe(own, {
      ...april,
      timezone: "Pacific/Auckland",
      units: 10,
    });
    // 1 May, 00:30 in Auckland; still 30 April in UTC and in the organisation's own zone.
    await builder.setClock(own, "2026-04-30T12:30:00Z");
    const answer = await builder.change(own, id, {
      units: 11,
      prorate: true,
      effective_date: "2026-04-30",
    });
    expect(refusalOf(answer)).toEqual(
      refused(422, "effective_date_out_of_period", "effective_date"),
    );
    const { change, ...after } = await builder.changed(own, id, {
      units: 11,
      prorate: true,
      effective_date: "2026-05-01",
    });
    expect(after).toMatchObject({ renewal_date: "2026-06-01" });
    expect(change.invoice).toMatchObject({ issue_date: "2026-05-01", subtotal: "10.0000" });
  });
});
