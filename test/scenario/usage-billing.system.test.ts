/**
 * Usage from its report to its bill, over HTTP and through Temporal: its document, its arithmetic,
 * late usage and ends, and the same in the ledger. USAGE-9, USAGE-10, USAGE-15.
 */
import { describe, expect } from "vitest";
import { expectBilledOnce } from "./billed-once.ts";
import { calls, storage, meteredTest as test } from "./usage-billing-fixture.ts";
import { usageEvent } from "./usage-builder.ts";

const april = { start_date: "2026-04-01" };
const aprilDays = { start: "2026-04-01", end: "2026-05-01" };
const mayDays = { start: "2026-05-01", end: "2026-06-01" };
const now = { when: "now" };

describe.concurrent("the usage of a period", () => {
  test("is on the renewal invoice while that is a draft, with its arithmetic", async ({
    system,
    clocks,
    metered,
    use,
    to,
    shown,
  }) => {
    const [own, id] = await metered({}, [calls, storage]);
    await to(own, "2026-04-20");
    await use(
      own,
      id,
      ["1000.5", "2026-04-20"],
      ["499.5", "2026-04-01"],
      ["4", "2026-04-20", "storage"],
    );
    await to(own, "2026-04-30");
    expect(await shown(own, id)).toHaveLength(1);
    await to(own, "2026-05-01");
    const [renewal] = await clocks.invoices(own, id);
    const line = {
      units: null,
      period: aprilDays,
      proration: null,
      kind: "usage",
      id: expect.any(String),
    };
    expect(renewal).toMatchObject({
      type: "renewal",
      status: "draft",
      subtotal: "133.0000",
      period: mayDays,
    });
    expect(renewal.lines.slice(1)).toEqual([
      {
        ...line,
        name: "API calls",
        description: "1500 call: 1000 × 0.0200 + 500 × 0.0100",
        quantity: "1500.0000",
        unit_price: null,
        amount: "25.0000",
      },
      {
        ...line,
        name: "Storage",
        description: "4 GB: 4 × 2.0000",
        quantity: "4.0000",
        unit_price: "2.0000",
        amount: "8.0000",
      },
    ]);
    // Renewal value is the plan's: usage is not foreseen.
    expect((await clocks.subscription(own, id)).renewal_value).toBe("100.0000");
    await clocks.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("is on a separate invoice if invoices begin approved", async ({
    system,
    clocks,
    metered,
    use,
    to,
    shown,
  }) => {
    const [own, id] = await metered({ first_invoice_status: "approved" });
    await to(own, "2026-04-20");
    await use(own, id, ["250", "2026-04-20"]);
    await to(own, "2026-05-01");
    expect(await shown(own, id)).toEqual([
      ["first approved", "plan 100.0000"],
      ["renewal approved", "plan 100.0000"],
      ["usage approved", "5.0000 250 call: 250 × 0.0200"],
    ]);
    const [usage] = await clocks.invoices(own, id);
    expect(usage).toMatchObject({
      period: aprilDays,
      issue_date: "2026-05-01",
      total: "6.0000",
      ledger: { sync_status: "synced" },
    });
    await clocks.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("joins the renewal invoice issued ahead, or a separate one after its approval", async ({
    system,
    clocks,
    metered,
    use,
    to,
    shown,
  }) => {
    const [own, id] = await metered({ invoice_create_days: 10 });
    const { id: other } = await clocks.subscribe(own, april);
    await to(own, "2026-04-25");
    await use(own, id, ["100", "2026-04-25"]);
    await use(own, other, ["200", "2026-04-25"]);
    const [approved] = await clocks.invoices(own, other);
    expect(approved).toMatchObject({ type: "renewal", status: "draft" });
    const text =
      "UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1 AND number = $2";
    await system.pool.query(text, [own.tenantId, approved.number]);
    await to(own, "2026-05-01");
    expect(await shown(own, id)).toEqual([
      ["first draft", "plan 100.0000"],
      ["renewal draft", "plan 100.0000", "2.0000 100 call: 100 × 0.0200"],
    ]);
    expect(await shown(own, other)).toEqual([
      ["first draft", "plan 100.0000"],
      ["renewal approved", "plan 100.0000"],
      ["usage draft", "4.0000 200 call: 200 × 0.0200"],
    ]);
    expect((await clocks.invoices(own, other))[0]).toMatchObject({ period: aprilDays });
    await clocks.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });
});

describe.concurrent("usage that is reported late", () => {
  test("in the next period is a line of the earlier one, credited if it is cheaper", async ({
    system,
    clocks,
    metered,
    use,
    to,
    shown,
  }) => {
    const [own, id] = await metered({}, [calls, storage]);
    await to(own, "2026-04-20");
    await use(own, id, ["900", "2026-04-20"], ["10", "2026-04-20", "storage"]);
    await to(own, "2026-05-10");
    await use(own, id, ["300", "2026-04-30"], ["1", "2026-04-30", "storage"], ["50", "2026-05-10"]);
    await to(own, "2026-06-01");
    const [renewal, ...others] = (await shown(own, id)).toReversed();
    expect(others).toEqual([
      [
        "renewal draft",
        "plan 100.0000",
        "18.0000 900 call: 900 × 0.0200",
        "20.0000 10 GB: 10 × 2.0000",
      ],
      ["first draft", "plan 100.0000"],
    ]);
    const late =
      "300 call more in the period from 2026-04-01: " +
      "1000 × 0.0200 + 200 × 0.0100 for 1200, less 900 × 0.0200 for 900";
    expect(renewal).toEqual([
      "renewal draft",
      "plan 100.0000",
      `4.0000 ${late}`,
      "1.0000 50 call: 50 × 0.0200",
    ]);
    expect((await clocks.invoices(own, id))[0].lines[1]).toMatchObject({
      quantity: "300.0000",
      period: aprilDays,
    });
    const [note] = await clocks.creditNotes(own, id);
    expect(note).toMatchObject({
      status: "approved",
      subtotal: "9.0000",
      ledger: { sync_status: "synced" },
    });
    expect(note.lines).toMatchObject([
      {
        name: "Storage",
        amount: "9.0000",
        description:
          "1 GB more in the period from 2026-04-01: 11 × 1.0000 for 11, less 10 × 2.0000 for 10",
      },
    ]);
    await clocks.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("after the end is on one more usage invoice at the next midnight, once", async ({
    system,
    clocks,
    reports,
    metered,
    use,
    to,
    shown,
  }) => {
    const [own, id] = await metered({ first_invoice_status: "approved" });
    await to(own, "2026-04-20");
    await use(own, id, ["100", "2026-04-19"]);
    expect(await clocks.ended(own, id, now)).toMatchObject({
      status: "ended",
      end_date: "2026-04-20",
    });
    await clocks.posted(own);
    await use(own, id, ["10", "2026-04-19"]);
    await use(own, id, ["20", "2026-04-18"]);
    const late = await reports.verdicts(own, [
      usageEvent(id, "2026-04-20T00:00:00+02:00"),
      usageEvent(id, "2026-03-31T23:59:59+02:00"),
    ]);
    expect(late).toEqual(["after_subscription_end", "before_subscription_start"]);
    expect(await shown(own, id)).toHaveLength(2);
    await to(own, "2026-04-21");
    const more =
      "0.6000 30 call more in the period from 2026-04-01: " +
      "130 × 0.0200 for 130, less 100 × 0.0200 for 100";
    expect((await shown(own, id)).slice(1)).toEqual([
      ["usage approved", "2.0000 100 call: 100 × 0.0200"],
      ["usage approved", more],
    ]);
    await to(own, "2026-06-01");
    expect(await shown(own, id)).toHaveLength(3);
    await clocks.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });
});
