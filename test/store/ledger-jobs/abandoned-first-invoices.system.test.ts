/** Re-pricings of a first invoice that is closed before its subscription begins (UNITS-8). */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changeTo } from "../../domain/subscriptions/billing-state-builder.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { expectRolledBack, windowFixture } from "./window-fixture.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 4);
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const separate = { document: "separate" } as const;

describe("the first invoice of a pending subscription", () => {
  test("that accepts no new price leaves an invoice over the difference", async () => {
    const world = await windowFixture(pool, { isPending: true });
    const made = await world.changed(changeTo(13), "paid");
    await expectRolledBack(world, { status: "paid", type: "first" });
    expect(await world.lines(made.invoiceId)).toEqual(["proration: 30.0000"]);
    expect(await world.one("invoices", made.invoiceId ?? "")).toMatchObject({
      type: "change",
      issue_date: "2026-03-15",
    });
    expect(await world.billed()).toEqual(["0: 13 separately"]);
    // The same after the payment was removed.
    await world.rows(
      `UPDATE invoices SET status = 'approved', amount_due = total WHERE id = '${world.invoiceId}'`,
    );
    expect(await world.change(changeTo(9))).toBe("first_invoice_not_amendable");
  });

  test("that accepts no lower price bills its period as before", async () => {
    const world = await windowFixture(pool, { isPending: true });
    const made = await world.changed(changeTo(6), "gone");
    expect(made).toMatchObject({ units: 6, invoiceId: null });
    await expectRolledBack(world, { status: "not_in_external" });
    expect(await world.billed()).toEqual(["0: 10"]);
  });

  test("credits charges of units that it bills itself, for the days of that charge", async () => {
    const world = await windowFixture(pool, { isPending: true });
    const lower = await world.changed(changeTo(6), "refused");
    await world.rows(`UPDATE invoices SET status = 'approved' WHERE id = '${world.invoiceId}'`);
    // Ten of its 31 days are left.
    await world.setClock("2026-04-05T12:00:00Z");
    await world.send();
    const higher = await world.changed(changeTo(8, { from: "2026-04-05", ...separate }), "done");
    expect((await world.lines(higher.invoiceId))[0]).toBe("proration: 6.4500");
    await world.retry();
    await world.answer("paid");
    const { creditNoteId } = await world.told(lower);
    expect(await world.one("credit_notes", creditNoteId ?? "")).toMatchObject({
      subtotal: "6.4500",
    });
    expect((await world.billed())[0]).toBe("0: 10 separately");
  });
});
