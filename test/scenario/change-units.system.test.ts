/**
 * Change units over HTTP outside the invoice window: an increase on the draft, and on a separate
 * invoice.
 */
import { describe, expect } from "vitest";
import { refusalOf, refused } from "./checked-ask.ts";
import type { Json } from "./units-builder.ts";
import { april, half, halfLine, nothing, unitsTest as test } from "./units-fixture.ts";

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
