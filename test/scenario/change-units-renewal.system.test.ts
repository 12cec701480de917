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
});
