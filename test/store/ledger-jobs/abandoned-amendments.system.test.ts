/**
 * Re-pricings whose invoice can no longer be edited, on real PostgreSQL. They are rolled back and
 * billed once, as a separate change would have been (UNITS-8, UNITS-9).
 */
import type pg from "pg";
import { describe, expect } from "vitest";
import { changeTo } from "../../domain/subscriptions/billing-state-builder.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { expectRolledBack, windowFixture } from "./window-fixture.ts";

const amend = { document: "amend" } as const;
const separate = { document: "separate" } as const;
/** Half of the 28 days of the current period are left. */
const half = { from: "2026-03-01" };

describe("an increase on a renewal invoice that is closed", () => {
  test("is billed on one invoice: its added lines and the next period's difference", async ({
    pool,
  }) => {
    const fixture = await windowFixture(pool);
    const change = await fixture.changed(changeTo(13, { ...half, ...amend }), "paid");
    await expectRolledBack(fixture, { status: "paid", amount_due: "0.0000", sync_error: null });
    expect(change).toMatchObject({ toUnits: 13, renewalInvoiceId: null, creditNoteId: null });
    expect(await fixture.lines(change.invoiceId)).toEqual([
      "proration: 15.0000",
      "proration: 30.0000",
    ]);
    expect(await fixture.one("invoices", change.invoiceId ?? "")).toMatchObject({
      type: "change",
      status: "scheduled",
      subtotal: "45.0000",
      total: "45.0000",
      amount_due: "45.0000",
      issue_date: "2026-03-01",
      period_index: 1,
    });
    expect(await fixture.billed()).toEqual(["1: 13", "2: 13 separately"]);
    // The jobs of the change: its amendment, moved to that invoice, and the invoice's creation.
    const [first, second] = change.jobIds;
    expect(change.jobIds).toHaveLength(2);
    expect(await fixture.one("ledger_jobs", first ?? "")).toMatchObject({
      state: "done",
      reason: "moved",
    });
    expect(await fixture.one("ledger_jobs", second ?? "")).toMatchObject({
      kind: "create_invoice",
      state: "ready",
      invoice_id: change.invoiceId,
    });
    expect(
      await fixture.rows(
        `SELECT invoice_id FROM deferred_lines WHERE subscription_id = '${fixture.subscriptionId}'`,
      ),
    ).toEqual([{ invoice_id: change.invoiceId }]);
  });

  test("is billed the same if the ledger lost the invoice", async ({ pool }) => {
    const fixture = await windowFixture(pool);
    const change = await fixture.changed(changeTo(13, { ...half, ...amend }), "gone");
    await expectRolledBack(fixture, { status: "not_in_external", sync_error: "It is not there." });
    expect(await fixture.one("invoices", change.invoiceId ?? "")).toMatchObject({
      subtotal: "45.0000",
    });
  });

  test("without proration bills only the next period's difference", async ({ pool }) => {
    const fixture = await windowFixture(pool);
    const change = await fixture.changed(changeTo(13, amend), "paid");
    expect(await fixture.lines(change.invoiceId)).toEqual(["proration: 30.0000"]);
    expect(await fixture.billed()).toEqual(["1: 10", "2: 13 separately"]);
  });

  test("of the current period only is billed alone, at the price of the invoice", async ({
    pool,
  }) => {
    const fixture = await windowFixture(pool);
    // The increase cost nothing, so the current period is billed for fewer units than the next.
    await fixture.rows(
      `UPDATE periods SET billed_units = 8 WHERE subscription_id = '${fixture.subscriptionId}'
        AND index = 1`,
    );
    await fixture.changed(changeTo(9, separate), "done");
    const change = await fixture.changed(changeTo(10, { ...half, ...amend }), "paid");
    expect(change.renewalInvoiceId).toBeNull();
    expect(await fixture.lines(change.invoiceId)).toEqual(["proration: 10.0000"]);
    await expectRolledBack(fixture, { status: "paid", sync_error: null });
    expect(await fixture.billed()).toEqual(["1: 10", "2: 10"]);
  });

  test("into a cheaper band adds a credit note for the next period", async ({ pool }) => {
    const fixture = await windowFixture(pool, { isBands: true });
    const change = await fixture.changed(changeTo(11, { ...half, ...amend }), "paid");
    expect(change).toMatchObject({ invoiceId: null, renewalInvoiceId: null });
    const notes = await fixture.rows(
      `SELECT id, subtotal FROM credit_notes WHERE subscription_id = '${fixture.subscriptionId}'
        ORDER BY seq`,
    );
    expect(notes.map(({ subtotal }) => subtotal)).toEqual(["6.0000", "12.0000"]);
    expect(change.creditNoteId).toBe(notes[0].id);
    expect(change.jobIds).toHaveLength(3);
    await expectRolledBack(fixture, { status: "paid" });
    expect(await fixture.billed()).toEqual(["1: 11", "2: 11 separately"]);
  });

  test("ends amending even if the payment is removed, and later changes add to it", async ({
    pool,
  }) => {
    const fixture = await windowFixture(pool);
    await fixture.changed(changeTo(13, { ...half, ...amend }), "paid");
    await fixture.rows(
      `UPDATE invoices SET status = 'approved', amount_due = total
        WHERE id = '${fixture.invoiceId}'`,
    );
    expect(await fixture.change(changeTo(9, amend))).toBe("renewal_invoice_not_amendable");
    const change = await fixture.changed(changeTo(14, { ...half, ...separate }), "done");
    expect(await fixture.lines(change.invoiceId)).toEqual([
      "proration: 5.0000",
      "proration: 10.0000",
    ]);
  });
});

describe("a decrease on a renewal invoice that is closed", () => {
  test("is a credit note over what the invoice bills too much", async ({ pool }) => {
    const fixture = await windowFixture(pool);
    const change = await fixture.changed(changeTo(6, amend), "paid");
    expect(change).toMatchObject({ toUnits: 6, invoiceId: null, renewalInvoiceId: null });
    expect(await fixture.one("credit_notes", change.creditNoteId ?? "")).toMatchObject({
      subtotal: "40.0000",
    });
    expect(await fixture.one("ledger_jobs", change.jobIds[0] ?? "")).toMatchObject({
      state: "done",
      reason: "moved",
    });
    await expectRolledBack(fixture, { status: "paid", sync_error: null });
    expect(await fixture.billed()).toEqual(["1: 10", "2: 6 separately"]);
    const again = await fixture.changed(changeTo(10, { ...half, ...separate }), "done");
    expect(await fixture.lines(again.invoiceId)).toEqual(["proration: 40.0000"]);
  });

  test("issues nothing and shows as refused if the invoice is gone", async ({ pool }) => {
    const fixture = await windowFixture(pool);
    const change = await fixture.changed(changeTo(6, amend), "gone");
    expect(change).toMatchObject({ toUnits: 6, invoiceId: null, creditNoteId: null });
    expect(await fixture.one("ledger_jobs", change.jobIds[0] ?? "")).toMatchObject({
      state: "refused",
      reason: "not_found",
    });
    await expectRolledBack(fixture, { status: "not_in_external", sync_error: "It is not there." });
    expect(await fixture.billed()).toEqual(["1: 10", "2: 10"]);
  });
});

describe("a temporary refusal", () => {
  test("keeps the amendment for a retry, and a failed retry bills it separately", async ({
    pool,
  }) => {
    const fixture = await windowFixture(pool);
    const change = await fixture.changed(changeTo(13, { ...half, ...amend }), "refused");
    expect(change).toMatchObject({ invoiceId: null, renewalInvoiceId: fixture.invoiceId });
    expect(await fixture.lines(fixture.invoiceId)).toEqual([
      "plan 13: 130.0000, amending",
      "proration: 15.0000, amending",
    ]);
    expect(await fixture.billed()).toEqual(["1: 13", "2: 13"]);
    expect((await fixture.one("invoices", fixture.invoiceId)).amending_from).toMatchObject({
      units: 10,
      billed_units: 10,
    });
    expect(await fixture.retry()).toBe("retried");
    await fixture.answer("paid");
    const current = await fixture.reload(change);
    expect(current).toMatchObject({ renewalInvoiceId: null });
    expect(await fixture.lines(current.invoiceId)).toEqual([
      "proration: 15.0000",
      "proration: 30.0000",
    ]);
    await expectRolledBack(fixture, { sync_error: null });
  });

  test("amends the invoice on a retry, and keeps no price to restore", async ({ pool }) => {
    const fixture = await windowFixture(pool);
    await fixture.changed(changeTo(13, { ...half, ...amend }), "refused");
    await fixture.retry();
    await fixture.answer("done");
    expect(await fixture.lines(fixture.invoiceId)).toEqual([
      "plan 13: 130.0000",
      "proration: 15.0000",
    ]);
    expect(await fixture.one("invoices", fixture.invoiceId)).toMatchObject({
      amending_from: null,
      sync_error: null,
    });
  });

  test("before another amendment keeps the ledger's price, and both are billed", async ({
    pool,
  }) => {
    const fixture = await windowFixture(pool);
    const first = await fixture.changed(changeTo(12, { ...half, ...amend }), "refused");
    const second = await fixture.changed(changeTo(15, { ...half, ...amend }), "paid");
    expect(second.renewalInvoiceId).toBeNull();
    expect(await fixture.lines(second.invoiceId)).toEqual([
      "proration: 10.0000",
      "proration: 15.0000",
      "proration: 50.0000",
    ]);
    expect(await fixture.reload(first)).toMatchObject({
      invoiceId: second.invoiceId,
      renewalInvoiceId: null,
    });
    const deferred = await fixture.rows(
      `SELECT DISTINCT invoice_id FROM deferred_lines
        WHERE subscription_id = '${fixture.subscriptionId}'`,
    );
    expect(deferred).toEqual([{ invoice_id: second.invoiceId }]);
    await expectRolledBack(fixture, {});
    expect(await fixture.billed()).toEqual(["1: 15", "2: 15 separately"]);
  });

  test("of a decrease with later separate charges credits what the invoice bills", async ({
    pool,
  }) => {
    const fixture = await windowFixture(pool);
    const lower = await fixture.changed(changeTo(6, amend), "refused");
    const higher = await fixture.changed(changeTo(12, separate), "done");
    expect(await fixture.lines(higher.invoiceId)).toEqual(["proration: 60.0000"]);
    await fixture.retry();
    await fixture.answer("paid");
    const current = await fixture.reload(lower);
    expect(current).toMatchObject({ invoiceId: null, renewalInvoiceId: null });
    expect(await fixture.one("credit_notes", current.creditNoteId ?? "")).toMatchObject({
      subtotal: "40.0000",
    });
    expect(await fixture.billed()).toEqual(["1: 10", "2: 12 separately"]);
    await expectRolledBack(fixture, { sync_error: null });
  });

  test("of a decrease credits it whole, also with later deferred lines after an end", async ({
    pool,
  }) => {
    const fixture = await windowFixture(pool);
    const lower = await fixture.changed(changeTo(6, amend), "refused");
    await fixture.setClock("2026-03-20T12:00:00Z");
    await fixture.change(changeTo(8, { from: "2026-03-15", behaviour: "charge_on_renewal" }));
    // The next renewal invoice bills it.
    await fixture.setClock("2026-03-27T12:00:00Z");
    await fixture.change(changeTo(8));
    await fixture.send();
    const [removed] = await fixture.rows(
      `UPDATE invoices SET status = 'deleted' WHERE subscription_id = '${fixture.subscriptionId}'
        AND period_index = 3 RETURNING id`,
    );
    expect(await fixture.lines(removed.id)).toEqual(["plan 8: 80.0000", "proration: 20.0000"]);
    await fixture.rows(
      `UPDATE deferred_lines SET invoice_id = NULL WHERE invoice_id = '${removed.id}'`,
    );
    await fixture.retry();
    await fixture.answer("paid");
    const { creditNoteId } = await fixture.reload(lower);
    expect(await fixture.one("credit_notes", creditNoteId ?? "")).toMatchObject({
      subtotal: "40.0000",
    });
  });

  test("leaves an earlier change in the ledger on the renewal invoice", async ({ pool }) => {
    const fixture = await windowFixture(pool);
    const first = await fixture.changed(changeTo(12, { ...half, ...amend }), "done");
    const second = await fixture.changed(changeTo(13, { ...half, ...amend }), "paid");
    expect(await fixture.lines(fixture.invoiceId)).toEqual([
      "plan 12: 120.0000",
      "proration: 10.0000",
    ]);
    expect(await fixture.reload(first)).toMatchObject({
      invoiceId: null,
      renewalInvoiceId: fixture.invoiceId,
    });
    expect(await fixture.lines(second.invoiceId)).toEqual([
      "proration: 5.0000",
      "proration: 10.0000",
    ]);
    const deferred = await fixture.rows(
      `SELECT invoice_id FROM deferred_lines WHERE subscription_id = '${fixture.subscriptionId}'
        ORDER BY seq`,
    );
    expect(deferred).toEqual([{ invoice_id: fixture.invoiceId }, { invoice_id: second.invoiceId }]);
  });
});

describe("a charge added to an invoice with a refused re-pricing", () => {
  /** The renewal period has begun, and a charge is to be added to its invoice. */
  async function joining(pool: pg.Pool) {
    const fixture = await windowFixture(pool);
    const amended = await fixture.changed(changeTo(13, { ...half, ...amend }), "refused");
    await fixture.setClock("2026-03-20T12:00:00Z");
    const joined = await fixture.change(changeTo(14, { from: "2026-03-15" }));
    if (typeof joined === "string") throw new Error(joined);
    expect(await fixture.lines(fixture.invoiceId)).toEqual([
      "plan 13: 130.0000, amending",
      "proration: 15.0000, amending",
      "proration: 10.0000, amending",
    ]);
    return { fixture, amended, joined };
  }

  test("goes on another invoice with the earlier lines, and the price can be amended", async ({
    pool,
  }) => {
    const { fixture, amended, joined } = await joining(pool);
    await fixture.answer("approved");
    expect(await fixture.lines(fixture.invoiceId)).toEqual(["plan 13: 130.0000, amending"]);
    const { invoiceId } = await fixture.reload(joined);
    expect(await fixture.lines(invoiceId)).toEqual(["proration: 15.0000", "proration: 10.0000"]);
    expect(await fixture.reload(amended)).toMatchObject({
      invoiceId,
      renewalInvoiceId: fixture.invoiceId,
    });
    expect(await fixture.one("invoices", fixture.invoiceId)).toMatchObject({
      status: "approved",
      sync_error: "The period is locked.",
      amending_from: { units: 10 },
    });
    expect(await fixture.billed()).toEqual(["2: 14"]);

    await fixture.retry();
    await fixture.answer("paid");
    await expectRolledBack(fixture, { sync_error: null });
    // 10 to 13 for the whole period: the charge billed 13 to 14.
    const [newest] = await fixture.rows(
      `SELECT id FROM invoices WHERE type = 'change' ORDER BY seq DESC LIMIT 1`,
    );
    expect(await fixture.lines(newest.id)).toEqual(["proration: 30.0000"]);
    expect(await fixture.reload(amended)).toMatchObject({ invoiceId, renewalInvoiceId: null });
    expect(await fixture.reload(joined)).toMatchObject({ invoiceId });
    expect(await fixture.billed()).toEqual(["2: 14 separately"]);
  });

  test("and refused again leaves the price for a separate retry, with its error", async ({
    pool,
  }) => {
    const { fixture } = await joining(pool);
    await fixture.answer("refused");
    await fixture.retry();
    await fixture.answer("approved");
    expect(await fixture.lines(fixture.invoiceId)).toEqual(["plan 13: 130.0000, amending"]);
    expect(await fixture.one("invoices", fixture.invoiceId)).toMatchObject({
      sync_error: "The period is locked.",
    });
    expect(await fixture.retry()).toBe("retried");
    const text = `SELECT joins FROM ledger_jobs WHERE invoice_id = '${fixture.invoiceId}'
      AND state = 'ready'`;
    expect(await fixture.rows(text)).toEqual([{ joins: false }]);
    await fixture.answer("done", { status: "approved" });
    expect(await fixture.lines(fixture.invoiceId)).toEqual(["plan 13: 130.0000"]);
  });

  test("is billed together with it if the invoice accepts neither", async ({ pool }) => {
    const { fixture, amended, joined } = await joining(pool);
    await fixture.answer("paid");
    const { invoiceId } = await fixture.reload(joined);
    expect(await fixture.lines(invoiceId)).toEqual([
      "proration: 15.0000",
      "proration: 10.0000",
      "proration: 30.0000",
    ]);
    expect(await fixture.reload(amended)).toMatchObject({ invoiceId, renewalInvoiceId: null });
    await expectRolledBack(fixture, { status: "paid", sync_error: null });
  });
});
