/**
 * Changes of units that bill nothing at once: deferred to the renewal invoice, unprorated increases
 * and decreases. UNITS-2, UNITS-3, UNITS-12.
 */
import { describe, expect } from "vitest";
import { refusalOf, refused } from "./checked-ask.ts";
import { april, half, halfLine, nothing, unitsTest as test } from "./units-fixture.ts";

describe("an increase with prorate and charge_on_renewal", () => {
  test("adds its amount as a line to the renewal invoice, once", async ({ builder }) => {
    const own = await builder.sandbox();
    await builder.setClock(own, "2026-04-16");
    const { id, invoice: first } = await builder.subscribe(own, april);
    const later = { ...half, proration_behaviour: "charge_on_renewal" };
    for (const units of [13, 14]) {
      const { change, ...after } = await builder.changed(own, id, { units, ...later });
      expect(change).toEqual({ ...nothing, units, deferred_to_renewal: true });
      // The value of the next renewal has no deferred lines.
      expect(after).toMatchObject({ units, renewal_value: `${units}0.0000` });
    }
    expect(await builder.invoices(own, id)).toEqual([first]);
    await builder.setClock(own, "2026-05-01");
    // Any operation performs what is due; this one is refused.
    expect(refusalOf(await builder.change(own, id, { units: 14 }))).toEqual(
      refused(422, "units_unchanged", "units"),
    );
    await builder.expectEqualDocuments(own);
    const [renewal, ...others] = await builder.invoices(own, id);
    expect(others).toEqual([first]);
    expect(renewal).toMatchObject({
      type: "renewal",
      subtotal: "160.0000",
      total: "192.0000",
      period: { start: "2026-05-01", end: "2026-06-01" },
      issue_date: "2026-05-01",
      lines: [
        { kind: "plan", units: 14, amount: "140.0000" },
        halfLine(10, 13, "15.0000", "130 − 100"),
        halfLine(13, 14, "5.0000", "140 − 130"),
      ],
    });
    await builder.setClock(own, "2026-06-01");
    await builder.change(own, id, { units: 14 });
    await builder.expectEqualDocuments(own);
    expect((await builder.invoices(own, id)).map(({ subtotal }) => subtotal)).toEqual([
      "140.0000",
      "160.0000",
      "100.0000",
    ]);
  });

  test("counts as billed: later changes are measured from it", async ({ builder, approved }) => {
    const { id } = await builder.subscribe(approved, april);
    await builder.changed(approved, id, {
      units: 15,
      ...half,
      proration_behaviour: "charge_on_renewal",
    });
    await builder.changed(approved, id, { units: 12 });
    expect((await builder.changed(approved, id, { units: 15, ...half })).change).toEqual({
      ...nothing,
      units: 15,
    });
    const { change } = await builder.changed(approved, id, { units: 16, ...half });
    expect(change.invoice).toMatchObject({ subtotal: "5.0000" });
  });

  test("is billed on an invoice of type change if the subscription completes", async ({
    system,
    builder,
  }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    await builder.setClock(own, "2026-04-16");
    const { id } = await builder.subscribe(own, { ...april, end_after_cycles: 2 });
    await builder.changed(own, id, {
      units: 13,
      ...half,
      proration_behaviour: "charge_on_renewal",
    });
    await system.pool.query(
      "UPDATE subscriptions SET end_date = renewal_date, cancel_at_period_end = true WHERE id = $1",
      [id],
    );
    await builder.setClock(own, "2026-05-02");
    const answer = await builder.change(own, id, { units: 14 });
    expect(refusalOf(answer)).toEqual(refused(422, "subscription_not_changeable"));
    await builder.expectEqualDocuments(own);
    const [last, ...others] = await builder.invoices(own, id);
    expect(others).toHaveLength(1);
    expect(last).toMatchObject({ type: "change", subtotal: "15.0000", issue_date: "2026-05-02" });
  });
});

describe("an increase without proration", () => {
  test("takes effect at once and is billed in full at the next renewal", async ({ builder }) => {
    const own = await builder.sandbox();
    const { id, invoice: first } = await builder.subscribe(own, april);
    const { change, ...after } = await builder.changed(own, id, { units: 13 });
    expect(change).toEqual({ ...nothing, units: 13 });
    expect(after).toMatchObject({ units: 13, renewal_value: "130.0000" });
    expect(await builder.invoices(own, id)).toEqual([first]);
    await builder.setClock(own, "2026-05-01");
    await builder.change(own, id, { units: 13 });
    await builder.expectEqualDocuments(own);
    expect((await builder.invoices(own, id)).map(({ subtotal }) => subtotal)).toEqual([
      "130.0000",
      "100.0000",
    ]);
  });

  test("closes proration until the next renewal, except for unprorated changes", async ({
    builder,
  }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    const { id } = await builder.subscribe(own, april);
    await builder.changed(own, id, { units: 11, prorate: false });
    const again = { units: 13, prorate: true, effective_date: "2026-04-01" };
    expect(refusalOf(await builder.change(own, id, again))).toEqual(
      refused(422, "proration_unavailable", "prorate"),
    );
    await builder.changed(own, id, { units: 12 });
    await builder.changed(own, id, { units: 5 });
    expect(refusalOf(await builder.change(own, id, again))).toEqual(
      refused(422, "proration_unavailable", "prorate"),
    );
    // Within what was billed nothing would be charged.
    await builder.changed(own, id, { ...again, units: 10 });
    await builder.setClock(own, "2026-05-01");
    const { change } = await builder.changed(own, id, { ...again, effective_date: "2026-05-01" });
    expect(change.invoice).toMatchObject({ subtotal: "30.0000" });
  });

  test("within the billed units closes nothing", async ({ builder, approved }) => {
    const { id } = await builder.subscribe(approved, april);
    await builder.changed(approved, id, { units: 8 });
    await builder.changed(approved, id, { units: 9 });
    expect(
      (await builder.changed(approved, id, { units: 12, ...half })).change.invoice.subtotal,
    ).toBe("10.0000");
  });
});

describe("a decrease", () => {
  test("issues no document, and the lower amount is billed from the next renewal", async ({
    builder,
  }) => {
    const own = await builder.sandbox();
    const { id, invoice: first } = await builder.subscribe(own, april);
    const { change, ...after } = await builder.changed(own, id, { units: 4, prorate: false });
    expect(change).toEqual({ ...nothing, units: 4 });
    expect(after).toMatchObject({ units: 4, renewal_value: "40.0000" });
    expect(await builder.invoices(own, id)).toEqual([first]);
    await builder.setClock(own, "2026-05-03");
    // The renewal bills 4; from there 6 are an increase.
    const { change: next } = await builder.changed(own, id, {
      units: 6,
      prorate: true,
      effective_date: "2026-05-01",
    });
    expect(next.invoice).toMatchObject({ subtotal: "20.0000" });
    await builder.expectEqualDocuments(own);
    expect(
      (await builder.invoices(own, id)).map(({ type, subtotal }) => [type, subtotal]).slice(-2),
    ).toEqual([
      ["renewal", expect.any(String)],
      ["first", "100.0000"],
    ]);
  });

  test("and the way back are never charged twice: 10, 8, 10 bills nothing", async ({
    builder,
    approved,
  }) => {
    const { id } = await builder.subscribe(approved, april);
    await builder.changed(approved, id, { units: 8 });
    expect((await builder.changed(approved, id, { units: 10, ...half })).change).toEqual({
      ...nothing,
      units: 10,
    });
    await builder.changed(approved, id, { units: 8 });
    const { change } = await builder.changed(approved, id, { units: 12, ...half });
    expect(change.invoice.lines).toEqual([halfLine(10, 12, "10.0000", "120 − 100")]);
    await builder.changed(approved, id, { units: 1 });
    expect((await builder.changed(approved, id, { units: 12, ...half })).change.invoice).toBeNull();
    expect(await builder.invoices(approved, id)).toHaveLength(2);
  });
});
