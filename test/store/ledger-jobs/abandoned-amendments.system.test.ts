/**
 * Re-pricings whose invoice can no longer be edited, on real PostgreSQL. They are rolled back and
 * billed once, as a separate change would have been (UNITS-8, UNITS-9).
 */
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

const amend = { document: "amend" } as const;
const separate = { document: "separate" } as const;
/** Half of the 28 days of the current period are left. */
const half = { from: "2026-03-01" };

describe("an increase on a renewal invoice that is closed", () => {
  test("is billed on one invoice: its added lines and the next period's difference", async () => {
    const world = await windowFixture(pool);
    const made = await world.changed(changeTo(13, { ...half, ...amend }), "paid");
    await expectRolledBack(world, { status: "paid", amount_due: "0.0000", sync_error: null });
    expect(made).toMatchObject({ toUnits: 13, renewalInvoiceId: null, creditNoteId: null });
    expect(await world.lines(made.invoiceId)).toEqual(["proration: 15.0000", "proration: 30.0000"]);
    expect(await world.one("invoices", made.invoiceId ?? "")).toMatchObject({
      type: "change",
      status: "scheduled",
      subtotal: "45.0000",
      total: "45.0000",
      amount_due: "45.0000",
      issue_date: "2026-03-01",
      period_index: 1,
    });
    expect(await world.billed()).toEqual(["1: 13", "2: 13 separately"]);
    // The jobs of the change: its amendment, moved to that invoice, and the invoice's creation.
    const [first, second] = made.jobIds;
    expect(made.jobIds).toHaveLength(2);
    expect(await world.one("ledger_jobs", first ?? "")).toMatchObject({
      state: "done",
      reason: "moved",
    });
    expect(await world.one("ledger_jobs", second ?? "")).toMatchObject({
      kind: "create_invoice",
      state: "ready",
      invoice_id: made.invoiceId,
    });
    expect(
      await world.rows(
        `SELECT invoice_id FROM deferred_lines WHERE subscription_id = '${world.subscriptionId}'`,
      ),
    ).toEqual([{ invoice_id: made.invoiceId }]);
  });

  test("is billed the same if the ledger lost the invoice", async () => {
    const world = await windowFixture(pool);
    const made = await world.changed(changeTo(13, { ...half, ...amend }), "gone");
    await expectRolledBack(world, { status: "not_in_external", sync_error: "It is not there." });
    expect(await world.one("invoices", made.invoiceId ?? "")).toMatchObject({
      subtotal: "45.0000",
    });
  });

  test("without proration bills only the next period's difference", async () => {
    const world = await windowFixture(pool);
    const made = await world.changed(changeTo(13, amend), "paid");
    expect(await world.lines(made.invoiceId)).toEqual(["proration: 30.0000"]);
    expect(await world.billed()).toEqual(["1: 10", "2: 13 separately"]);
  });

  test("of the current period only is billed alone, at the price of the invoice", async () => {
    const world = await windowFixture(pool);
    // The increase cost nothing, so the current period is billed for fewer units than the next.
    await world.rows(
      `UPDATE periods SET billed_units = 8 WHERE subscription_id = '${world.subscriptionId}'
        AND index = 1`,
    );
    await world.changed(changeTo(9, separate), "done");
    const made = await world.changed(changeTo(10, { ...half, ...amend }), "paid");
    expect(made.renewalInvoiceId).toBeNull();
    expect(await world.lines(made.invoiceId)).toEqual(["proration: 10.0000"]);
    await expectRolledBack(world, { status: "paid", sync_error: null });
    expect(await world.billed()).toEqual(["1: 10", "2: 10"]);
  });

  test("into a cheaper band adds a credit note for the next period", async () => {
    const world = await windowFixture(pool, { isBands: true });
    const made = await world.changed(changeTo(11, { ...half, ...amend }), "paid");
    expect(made).toMatchObject({ invoiceId: null, renewalInvoiceId: null });
    const notes = await world.rows(
      `SELECT id, subtotal FROM credit_notes WHERE subscription_id = '${world.subscriptionId}'
        ORDER BY seq`,
    );
    expect(notes.map(({ subtotal }) => subtotal)).toEqual(["6.0000", "12.0000"]);
    expect(made.creditNoteId).toBe(notes[0].id);
    expect(made.jobIds).toHaveLength(3);
    await expectRolledBack(world, { status: "paid" });
    expect(await world.billed()).toEqual(["1: 11", "2: 11 separately"]);
  });

  test("ends amending even if the payment is removed, and later changes add to it", async () => {
    const world = await windowFixture(pool);
    await world.changed(changeTo(13, { ...half, ...amend }), "paid");
    await world.rows(
      `UPDATE invoices SET status = 'approved', amount_due = total WHERE id = '${world.invoiceId}'`,
    );
    expect(await world.change(changeTo(9, amend))).toBe("renewal_invoice_not_amendable");
    const made = await world.changed(changeTo(14, { ...half, ...separate }), "done");
    expect(await world.lines(made.invoiceId)).toEqual(["proration: 5.0000", "proration: 10.0000"]);
  });
});

describe("a decrease on a renewal invoice that is closed", () => {
  test("issues nothing, shows as refused, and is never charged a second time", async () => {
    const world = await windowFixture(pool);
    const made = await world.changed(changeTo(6, amend), "paid");
    expect(made).toMatchObject({
      toUnits: 6,
      invoiceId: null,
      renewalInvoiceId: null,
      creditNoteId: null,
    });
    expect(await world.one("ledger_jobs", made.jobIds[0] ?? "")).toMatchObject({
      state: "refused",
      reason: "wrong_status",
    });
    await expectRolledBack(world, { status: "paid", sync_error: "Invoice INV-0002 is paid." });
    expect(await world.billed()).toEqual(["1: 10", "2: 10"]);
    const again = await world.changed(changeTo(10, { ...half, ...separate }), "done");
    expect(again).toMatchObject({ invoiceId: null, renewalInvoiceId: null, jobIds: [] });
  });

  test("is done when an operator retries it, and the error is gone", async () => {
    const world = await windowFixture(pool);
    const made = await world.changed(changeTo(6, amend), "paid");
    expect(await world.retry()).toBe("retried");
    // Nothing is left to change.
    await world.answer("done", { status: "paid", amountDue: "0" });
    await expectRolledBack(world, { status: "paid", sync_error: null });
    expect(await world.billed()).toEqual(["1: 10", "2: 10"]);
    expect(await world.told(made)).toMatchObject({ invoiceId: null, renewalInvoiceId: null });
  });
});

describe("a temporary refusal", () => {
  test("keeps the amendment for a retry, and a failed retry bills it separately", async () => {
    const world = await windowFixture(pool);
    const made = await world.changed(changeTo(13, { ...half, ...amend }), "refused");
    expect(made).toMatchObject({ invoiceId: null, renewalInvoiceId: world.invoiceId });
    expect(await world.lines(world.invoiceId)).toEqual([
      "plan 13: 130.0000, amending",
      "proration: 15.0000, amending",
    ]);
    expect(await world.billed()).toEqual(["1: 13", "2: 13"]);
    expect((await world.one("invoices", world.invoiceId)).amending_from).toMatchObject({
      units: 10,
      billed_units: 10,
    });
    expect(await world.retry()).toBe("retried");
    await world.answer("paid");
    const told = await world.told(made);
    expect(told).toMatchObject({ renewalInvoiceId: null });
    expect(await world.lines(told.invoiceId)).toEqual(["proration: 15.0000", "proration: 30.0000"]);
    await expectRolledBack(world, { sync_error: null });
  });

  test("amends the invoice on a retry, and keeps no price to restore", async () => {
    const world = await windowFixture(pool);
    await world.changed(changeTo(13, { ...half, ...amend }), "refused");
    await world.retry();
    await world.answer("done");
    expect(await world.lines(world.invoiceId)).toEqual(["plan 13: 130.0000", "proration: 15.0000"]);
    expect(await world.one("invoices", world.invoiceId)).toMatchObject({
      amending_from: null,
      sync_error: null,
    });
  });

  test("before another amendment keeps the ledger's price, and both are billed", async () => {
    const world = await windowFixture(pool);
    const first = await world.changed(changeTo(12, { ...half, ...amend }), "refused");
    const second = await world.changed(changeTo(15, { ...half, ...amend }), "paid");
    expect(second.renewalInvoiceId).toBeNull();
    expect(await world.lines(second.invoiceId)).toEqual([
      "proration: 10.0000",
      "proration: 15.0000",
      "proration: 50.0000",
    ]);
    expect(await world.told(first)).toMatchObject({
      invoiceId: second.invoiceId,
      renewalInvoiceId: null,
    });
    const deferred = await world.rows(
      `SELECT DISTINCT invoice_id FROM deferred_lines
        WHERE subscription_id = '${world.subscriptionId}'`,
    );
    expect(deferred).toEqual([{ invoice_id: second.invoiceId }]);
    await expectRolledBack(world, {});
    expect(await world.billed()).toEqual(["1: 15", "2: 15 separately"]);
  });

  test("of a decrease with later separate charges credits what the invoice bills", async () => {
    const world = await windowFixture(pool);
    const lower = await world.changed(changeTo(6, amend), "refused");
    const higher = await world.changed(changeTo(12, separate), "done");
    expect(await world.lines(higher.invoiceId)).toEqual(["proration: 60.0000"]);
    await world.retry();
    await world.answer("paid");
    const told = await world.told(lower);
    expect(told).toMatchObject({ invoiceId: null, renewalInvoiceId: null });
    expect(await world.one("credit_notes", told.creditNoteId ?? "")).toMatchObject({
      subtotal: "40.0000",
    });
    expect(await world.billed()).toEqual(["1: 10", "2: 12 separately"]);
    await expectRolledBack(world, { sync_error: null });
  });

  test("of a decrease credits later deferred lines once, also after an end", async () => {
    const world = await windowFixture(pool);
    const lower = await world.changed(changeTo(6, amend), "refused");
    await world.setClock("2026-03-20T12:00:00Z");
    await world.change(changeTo(8, { from: "2026-03-15", behaviour: "charge_on_renewal" }));
    // The next renewal invoice bills it.
    await world.setClock("2026-03-27T12:00:00Z");
    await world.change(changeTo(8));
    await world.send();
    const [removed] = await world.rows(
      `UPDATE invoices SET status = 'deleted' WHERE subscription_id = '${world.subscriptionId}'
        AND period_index = 3 RETURNING id`,
    );
    expect(await world.lines(removed.id)).toEqual(["plan 8: 80.0000", "proration: 20.0000"]);
    await world.rows(
      `UPDATE deferred_lines SET invoice_id = NULL WHERE invoice_id = '${removed.id}'`,
    );
    await world.retry();
    await world.answer("paid");
    const { creditNoteId } = await world.told(lower);
    expect(await world.one("credit_notes", creditNoteId ?? "")).toMatchObject({
      subtotal: "20.0000",
    });
  });

  test("leaves an earlier change in the ledger on the renewal invoice", async () => {
    const world = await windowFixture(pool);
    const first = await world.changed(changeTo(12, { ...half, ...amend }), "done");
    const second = await world.changed(changeTo(13, { ...half, ...amend }), "paid");
    expect(await world.lines(world.invoiceId)).toEqual(["plan 12: 120.0000", "proration: 10.0000"]);
    expect(await world.told(first)).toMatchObject({
      invoiceId: null,
      renewalInvoiceId: world.invoiceId,
    });
    expect(await world.lines(second.invoiceId)).toEqual([
      "proration: 5.0000",
      "proration: 10.0000",
    ]);
    const deferred = await world.rows(
      `SELECT invoice_id FROM deferred_lines WHERE subscription_id = '${world.subscriptionId}'
        ORDER BY seq`,
    );
    expect(deferred).toEqual([{ invoice_id: world.invoiceId }, { invoice_id: second.invoiceId }]);
  });
});

describe("a charge added to an invoice with a refused re-pricing", () => {
  /** The renewal period has begun, and a charge is to be added to its invoice. */
  async function joining() {
    const world = await windowFixture(pool);
    const amended = await world.changed(changeTo(13, { ...half, ...amend }), "refused");
    await world.setClock("2026-03-20T12:00:00Z");
    const joined = await world.change(changeTo(14, { from: "2026-03-15" }));
    if (typeof joined === "string") throw new Error(joined);
    expect(await world.lines(world.invoiceId)).toEqual([
      "plan 13: 130.0000, amending",
      "proration: 15.0000, amending",
      "proration: 10.0000, amending",
    ]);
    return { world, amended, joined };
  }

  test("goes on another invoice with the earlier lines, and the price can be amended", async () => {
    const { world, amended, joined } = await joining();
    await world.answer("approved");
    expect(await world.lines(world.invoiceId)).toEqual(["plan 13: 130.0000, amending"]);
    const { invoiceId } = await world.told(joined);
    expect(await world.lines(invoiceId)).toEqual(["proration: 15.0000", "proration: 10.0000"]);
    expect(await world.told(amended)).toMatchObject({
      invoiceId,
      renewalInvoiceId: world.invoiceId,
    });
    expect(await world.one("invoices", world.invoiceId)).toMatchObject({
      status: "approved",
      sync_error: "The period is locked.",
      amending_from: { units: 10 },
    });
    expect(await world.billed()).toEqual(["2: 14"]);

    await world.retry();
    await world.answer("paid");
    await expectRolledBack(world, { sync_error: null });
    // 10 to 13 for the whole period: the charge billed 13 to 14.
    const [newest] = await world.rows(
      `SELECT id FROM invoices WHERE type = 'change' ORDER BY seq DESC LIMIT 1`,
    );
    expect(await world.lines(newest.id)).toEqual(["proration: 30.0000"]);
    expect(await world.told(amended)).toMatchObject({ invoiceId, renewalInvoiceId: null });
    expect(await world.told(joined)).toMatchObject({ invoiceId });
    expect(await world.billed()).toEqual(["2: 14 separately"]);
  });

  test("and refused again leaves the price for a separate retry, with its error", async () => {
    const { world } = await joining();
    await world.answer("refused");
    await world.retry();
    await world.answer("approved");
    expect(await world.lines(world.invoiceId)).toEqual(["plan 13: 130.0000, amending"]);
    expect(await world.one("invoices", world.invoiceId)).toMatchObject({
      sync_error: "The period is locked.",
    });
    expect(await world.retry()).toBe("retried");
    const text = `SELECT joins FROM ledger_jobs WHERE invoice_id = '${world.invoiceId}'
      AND state = 'ready'`;
    expect(await world.rows(text)).toEqual([{ joins: false }]);
    await world.answer("done", { status: "approved" });
    expect(await world.lines(world.invoiceId)).toEqual(["plan 13: 130.0000"]);
  });

  test("is billed together with it if the invoice accepts neither", async () => {
    const { world, amended, joined } = await joining();
    await world.answer("paid");
    const { invoiceId } = await world.told(joined);
    expect(await world.lines(invoiceId)).toEqual([
      "proration: 15.0000",
      "proration: 10.0000",
      "proration: 30.0000",
    ]);
    expect(await world.told(amended)).toMatchObject({ invoiceId, renewalInvoiceId: null });
    await expectRolledBack(world, { status: "paid", sync_error: null });
  });
});
