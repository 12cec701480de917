/**
 * Ends over HTTP, rule by rule, with both options: what is removed, in which order, what stays, and
 * what the ledger has. END-1 to END-6.
 */
import { describe, expect } from "vitest";
import { setOrganisation } from "../support/rows.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest as test } from "./fixtures.ts";

const april = { start_date: "2026-04-01" };
const now = { when: "now" };
const periodEnd = { when: "period_end" };
const both = { when: "now", delete_unsent_invoices: true, void_approved_invoices: true };
const conflict = refused(409, "invalid_state");

describe.concurrent("period_end", () => {
  test("runs to the renewal date, does not renew, and completes then", async ({ builder }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    const { id } = await builder.subscribe(own, april);
    const answer = await builder.ended(own, id, periodEnd);
    const set = {
      status: "active",
      cancel_at_period_end: true,
      end_date: "2026-05-01",
      renewal_value: "0.0000",
    };
    expect(answer).toMatchObject({
      id,
      object: "subscription",
      ...set,
      renewal_date: "2026-05-01",
      units: 10,
    });
    expect(await builder.subscription(own, id)).toEqual(answer);
    await builder.setClock(own, "2026-05-01");
    const late = await builder.end(own, id, periodEnd);
    expect(refusalOf(late)).toEqual(conflict);
    expect(late.json.error.message).toContain("complete");
    const complete = { status: "complete", cancel_at_period_end: true, end_date: "2026-05-01" };
    expect(await builder.subscription(own, id)).toMatchObject(complete);
    expect(await builder.summaries(own, id)).toEqual(["INV-0001 first approved"]);
    await builder.expectEqualDocuments(own);
  });

  test.for([
    ["draft", "deleted", "DELETED"],
    ["awaiting_approval", "deleted", "DELETED"],
    ["approved", "voided", "VOIDED"],
  ] as const)("removes a renewal invoice that is %s: it is %s", async ([status, outcome, booked], {
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf(status);
    const { id } = await builder.subscribe(own, april);
    expect(await builder.summaries(own, id)).toEqual([
      `INV-0002 renewal ${status}`,
      `INV-0001 first ${status}`,
    ]);
    const answer = await builder.ended(own, id, periodEnd);
    expect(answer).toMatchObject({
      status: "active",
      cancel_at_period_end: true,
      end_date: "2026-05-01",
    });
    expect(await builder.summaries(own, id)).toEqual([
      `INV-0002 renewal ${outcome}`,
      `INV-0001 first ${status}`,
    ]);
    expect(await builder.ledgerStatuses(own)).toContain(`INV-0002 ${booked}`);
    await builder.expectEqualDocuments(own);
    const [renewal] = await builder.invoices(own, id);
    expect(renewal).toMatchObject({
      amount_due: "0.0000",
      ledger: { sync_status: "synced", sync_error: null },
    });
  });
});

describe.concurrent("an end now", () => {
  test("takes effect at once without credit, and removes only on request", async ({ builder }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    const { id } = await builder.subscribe(own, april);
    await builder.setClock(own, "2026-04-16");
    const over = {
      status: "ended",
      end_date: "2026-04-16",
      renewal_date: "2026-05-01",
      renewal_value: "0.0000",
    };
    expect(await builder.ended(own, id, now)).toMatchObject({
      ...over,
      cancel_at_period_end: false,
      units: 10,
    });
    expect(await builder.summaries(own, id)).toEqual(["INV-0001 first approved"]);
    expect(await builder.creditNotes(own, id)).toEqual([]);
    expect(refusalOf(await builder.end(own, id, now))).toEqual(conflict);
    expect(refusalOf(await builder.end(own, id, periodEnd))).toEqual(conflict);
    await builder.setClock(own, "2026-07-16");
    expect(refusalOf(await builder.change(own, id, { units: 12 })).code).toBe(
      "subscription_not_changeable",
    );
    expect(await builder.summaries(own, id)).toHaveLength(1);
    await builder.expectEqualDocuments(own);
  });

  test("of a pending subscription removes its first invoice", async ({ builder }) => {
    const own = await builder.sandbox();
    const { id } = await builder.subscribe(own, { start_date: "2026-05-01" });
    const over = { status: "ended", end_date: "2026-04-01", start_date: "2026-05-01" };
    expect(await builder.ended(own, id, now)).toMatchObject(over);
    expect(await builder.summaries(own, id)).toEqual(["INV-0001 first deleted"]);
    await builder.expectEqualDocuments(own);
  });
});

describe.concurrent("the invoice options", () => {
  test("delete never-sent drafts, newest first, and keep approved invoices", async ({
    system,
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf();
    const { id } = await builder.subscribe(own, april);
    await builder.changed(own, id, {
      units: 12,
      prorate: true,
      effective_date: "2026-04-16",
      document: "separate",
    });
    await builder.posted(own);
    await setOrganisation(system.pool, own.organisationId, { firstInvoiceStatus: "approved" });
    await builder.changed(own, id, {
      units: 13,
      prorate: true,
      effective_date: "2026-04-16",
      document: "separate",
    });
    await builder.posted(own);
    const before = [
      "INV-0004 change approved",
      "INV-0003 change draft",
      "INV-0002 renewal draft",
      "INV-0001 first draft",
    ];
    expect(await builder.summaries(own, id)).toEqual(before);
    const answer = await builder.ended(own, id, { when: "now", delete_unsent_invoices: true });
    expect(answer.status).toBe("ended");
    const removed = [
      "INV-0002 removed deleted",
      "INV-0003 removed deleted",
      "INV-0001 removed deleted",
    ];
    expect(await builder.removals(own, id)).toEqual(removed);
    expect((await builder.summaries(own, id))[0]).toBe("INV-0004 change approved");
    await builder.expectEqualDocuments(own);
  });

  test("together remove all of them, of earlier periods too", async ({ system, builder }) => {
    const own = await builder.sandbox();
    const { id } = await builder.subscribe(own, april);
    await builder.setClock(own, "2026-06-10");
    await setOrganisation(system.pool, own.organisationId, { firstInvoiceStatus: "approved" });
    await builder.changed(own, id, { units: 11 });
    await builder.posted(own);
    const before = [
      "INV-0003 renewal approved",
      "INV-0002 renewal approved",
      "INV-0001 first draft",
    ];
    expect(await builder.summaries(own, id)).toEqual(before);
    expect(await builder.ended(own, id, both)).toMatchObject({
      status: "ended",
      end_date: "2026-06-10",
    });
    const removed = [
      "INV-0003 removed voided",
      "INV-0002 removed voided",
      "INV-0001 removed deleted",
    ];
    expect(await builder.removals(own, id)).toEqual(removed);
    await builder.expectEqualDocuments(own);
  });
});
