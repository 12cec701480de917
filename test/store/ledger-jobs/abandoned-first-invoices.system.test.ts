/** Re-pricings of a first invoice that is closed before its subscription begins (UNITS-8). */
import { describe, expect } from "vitest";
import { changeTo } from "../../domain/subscriptions/billing-state-builder.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { expectRolledBack, windowFixture } from "./window-fixture.ts";

const separate = { document: "separate" } as const;

describe("the first invoice of a pending subscription", () => {
  test("that accepts no new price leaves an invoice over the difference", async ({ pool }) => {
    const fixture = await windowFixture(pool, { isPending: true });
    const change = await fixture.changed(changeTo(13), "paid");
    await expectRolledBack(fixture, { status: "paid", type: "first" });
    expect(await fixture.lines(change.invoiceId)).toEqual(["proration: 30.0000"]);
    expect(await fixture.one("invoices", change.invoiceId ?? "")).toMatchObject({
      type: "change",
      issue_date: "2026-03-15",
    });
    expect(await fixture.billed()).toEqual(["0: 13 separately"]);
    // The same after the payment was removed.
    await fixture.rows(
      `UPDATE invoices SET status = 'approved', amount_due = total
        WHERE id = '${fixture.invoiceId}'`,
    );
    expect(await fixture.change(changeTo(9))).toBe("first_invoice_not_amendable");
  });

  test("that is gone bills its period as before, at a lower price too", async ({ pool }) => {
    const fixture = await windowFixture(pool, { isPending: true });
    const change = await fixture.changed(changeTo(6), "gone");
    expect(change).toMatchObject({ toUnits: 6, invoiceId: null });
    await expectRolledBack(fixture, { status: "not_in_external" });
    expect(await fixture.billed()).toEqual(["0: 10"]);
  });

  test("credits a lower price whole, and later charges stay", async ({ pool }) => {
    const fixture = await windowFixture(pool, { isPending: true });
    const lower = await fixture.changed(changeTo(6), "refused");
    await fixture.rows(`UPDATE invoices SET status = 'approved' WHERE id = '${fixture.invoiceId}'`);
    // Ten of its 31 days are left.
    await fixture.setClock("2026-04-05T12:00:00Z");
    await fixture.send();
    const higher = await fixture.changed(changeTo(8, { from: "2026-04-05", ...separate }), "done");
    expect((await fixture.lines(higher.invoiceId))[0]).toBe("proration: 6.4500");
    await fixture.retry();
    await fixture.answer("paid");
    const { creditNoteId } = await fixture.reload(lower);
    expect(await fixture.one("credit_notes", creditNoteId ?? "")).toMatchObject({
      subtotal: "40.0000",
    });
    expect((await fixture.billed())[0]).toBe("0: 8 separately");
  });
});
