/**
 * Restorations over HTTP, form by form: what is restored of the subscription and of its invoices,
 * and what the ledger has. RESTORE-1 to RESTORE-6.
 */
import { describe, expect } from "vitest";
import { refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest as test } from "./fixtures.ts";
import type { Json } from "./units-builder.ts";

const april = { start_date: "2026-04-01" };
const now = { when: "now" };
const periodEnd = { when: "period_end" };
const both = { when: "now", delete_unsent_invoices: true, void_approved_invoices: true };
const half = { prorate: true, effective_date: "2026-04-16" };
const ten = "100.0000 10 × 10.0000";
const halfOfApril = "10.0000 10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30";

/** What of a subscription an end changes. */
function life({ status, end_date, renewal_date, cancel_at_period_end, renewal_value }: Json): Json {
  return { status, end_date, renewal_date, cancel_at_period_end, renewal_value };
}

const runs = {
  status: "active",
  end_date: null,
  renewal_date: "2026-05-01",
  cancel_at_period_end: false,
  renewal_value: "100.0000",
};

describe.concurrent("a subscription that was set to end at period end", () => {
  test("renews again: it is as before, and nothing is issued", async ({ builder }) => {
    const own = await builder.sandbox();
    const created = await builder.subscribe(own, april);
    const { id, invoice: _, ...before } = created;
    await builder.ended(own, id, periodEnd);
    const answer = await builder.restored(own, id);
    expect(answer).toEqual({ id, ...before });
    expect(await builder.subscription(own, id)).toEqual(answer);
    expect(await builder.summaries(own, id)).toEqual(["INV-0001 first draft"]);
    await builder.setClock(own, "2026-05-01");
    expect(refusalOf(await builder.restore(own, id))).toEqual(refused(409, "invalid_state"));
    expect((await builder.summaries(own, id))[0]).toMatch(/^INV-0002 renewal/);
    await builder.expectEqualDocuments(own);
  });

  test.for([
    ["draft", "deleted"],
    ["awaiting_approval", "deleted"],
    ["approved", "voided"],
  ] as const)("has its renewal invoice issued again, %s, with a new number", async ([
    status,
    removed,
  ], { builder, aheadOf }) => {
    const own = await aheadOf(status);
    const { id } = await builder.subscribe(own, april);
    await builder.ended(own, id, periodEnd);
    expect(life(await builder.restored(own, id))).toEqual(runs);
    const [renewal] = await builder.invoices(own, id);
    // The answer has waited for it.
    expect(renewal).toMatchObject({
      number: "INV-0003",
      type: "renewal",
      status,
      ledger: { sync_status: "synced" },
    });
    expect(renewal).toMatchObject({
      issue_date: "2026-04-16",
      period: { start: "2026-05-01", end: "2026-06-01" },
    });
    expect(await builder.summaries(own, id)).toEqual([
      `INV-0003 renewal ${status}`,
      `INV-0002 renewal ${removed}`,
      `INV-0001 first ${status}`,
    ]);
    await builder.expectEqualDocuments(own);
    await builder.setClock(own, "2026-05-01");
    expect((await builder.change(own, id, { units: 9 })).status).toBe(200);
    expect(await builder.standing(own, id)).toEqual([
      ["INV-0001 first", ten],
      ["INV-0003 renewal", ten],
    ]);
  });
});

describe.concurrent("a subscription that ended", () => {
  test("is active again, and nothing is billed twice for its period", async ({ builder }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    const { id, invoice: _, ...before } = await builder.subscribe(own, april);
    await builder.setClock(own, "2026-04-10");
    await builder.ended(own, id, now);
    await builder.setClock(own, "2026-04-30");
    expect(await builder.restored(own, id)).toEqual({ id, ...before });
    expect(await builder.summaries(own, id)).toEqual(["INV-0001 first approved"]);
    // Its billed units are kept: down and up to them again bills nothing.
    await builder.changed(own, id, { units: 5 });
    const { change } = await builder.changed(own, id, { units: 10, ...half });
    expect(change.invoice).toBeNull();
    await builder.expectEqualDocuments(own);
  });

  test("with every invoice removed gets those of the current period and one renewal", async ({
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf();
    const charges = [{ charge_code: "onboarding", quantity: 2 }];
    const { id } = await builder.subscribe(own, { ...april, charges });
    await builder.changed(own, id, { units: 12, ...half, document: "separate" });
    await builder.posted(own);
    const before = await builder.standing(own, id);
    expect(before.map(([name]) => name)).toEqual([
      "INV-0001 first",
      "INV-0002 renewal",
      "INV-0003 change",
    ]);
    await builder.ended(own, id, both);
    expect(await builder.standing(own, id)).toEqual([]);
    expect(life(await builder.restored(own, id))).toEqual({ ...runs, renewal_value: "120.0000" });
    const [first = [], renewal = [], change = []] = before.map((lines) => lines.slice(1));
    // The next period is billed by its renewal invoice alone, at the units of the restoration.
    expect(change).toHaveLength(2);
    expect(renewal).toEqual(["100.0000 10 × 10.0000"]);
    expect(await builder.standing(own, id)).toEqual([
      ["INV-0004 first", ...first],
      ["INV-0005 change", ...change.slice(0, 1)],
      ["INV-0006 renewal", "120.0000 12 × 10.0000"],
    ]);
    await builder.expectEqualDocuments(own);
  });

  test("with a paid invoice of the current period keeps it, and does not issue it again", async ({
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf("approved");
    const { id, invoice } = await builder.subscribe(own, april);
    await builder.pay(own, invoice, invoice.total);
    // That it is paid was not known here: it is left alone all the same.
    await builder.ended(own, id, both);
    await builder.restored(own, id);
    expect(await builder.summaries(own, id)).toEqual([
      "INV-0003 renewal approved",
      "INV-0002 renewal voided",
      "INV-0001 first paid",
    ]);
  });
});

describe.concurrent("a deferred amount", () => {
  const onRenewal = { units: 12, ...half, proration_behaviour: "charge_on_renewal" };

  test("of a renewal invoice that was removed goes on the new one", async ({ builder }) => {
    const own = await builder.sandbox({ invoice_create_days: 10 });
    const { id } = await builder.subscribe(own, april);
    await builder.changed(own, id, onRenewal);
    await builder.setClock(own, "2026-04-22");
    await builder.ended(own, id, periodEnd);
    expect(await builder.summaries(own, id)).toEqual([
      "INV-0002 renewal deleted",
      "INV-0001 first draft",
    ]);
    await builder.restored(own, id);
    expect(await builder.standing(own, id)).toEqual([
      ["INV-0001 first", ten],
      ["INV-0003 renewal", "120.0000 12 × 10.0000", halfOfApril],
    ]);
    await builder.expectEqualDocuments(own);
  });
});

describe.concurrent("a request to restore", () => {
  test("takes no body or an empty one, and with a key is replayed, done once", async ({
    system,
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf();
    const { id } = await builder.subscribe(own, april);
    await builder.ended(own, id, periodEnd);
    const first = await builder.restore(own, id, "key");
    expect([first.status, first.headers.get("Idempotent-Replayed")]).toEqual([200, null]);
    const again = await builder.restore(own, id, "key");
    expect([again.text, again.headers.get("Idempotent-Replayed")]).toEqual([first.text, "true"]);
    // The answer stays what it was, whatever has become of the subscription.
    await builder.ended(own, id, now);
    expect((await builder.restore(own, id, "key")).text).toBe(first.text);
    expect((await builder.subscription(own, id)).status).toBe("ended");
    const bare = await system.ask("POST", `/v1/subscriptions/${id}/restore`, { key: own.apiKey });
    expect([bare.status, bare.json.status]).toEqual([200, "active"]);
    const other = await builder.subscribe(own, april);
    await builder.ended(own, other.id, now);
    expect(refusalOf(await builder.restore(own, other.id, "key"))).toEqual(
      refused(409, "idempotency_conflict", "Idempotency-Key"),
    );
    expect(await builder.standing(own, id)).toHaveLength(2);
    await builder.expectEqualDocuments(own);
  });
});
