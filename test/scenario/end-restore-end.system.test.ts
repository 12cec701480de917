/**
 * Ends and restorations in sequence, inside the invoice window and outside it, at its edges and
 * over renewals. After every step the ledger's documents equal our rows, and each period is billed
 * once.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest as test } from "./fixtures.ts";
import type { LifeBuilder } from "./life-builder.ts";
import type { Json } from "./units-builder.ts";

const april = { start_date: "2026-04-01" };
const now = { when: "now" };
const periodEnd = { when: "period_end" };
const both = { when: "now", delete_unsent_invoices: true, void_approved_invoices: true };
const conflict = refused(409, "invalid_state");
const half = { prorate: true, effective_date: "2026-04-16" };
const ten = "100.0000 10 × 10.0000";

/** A step: an end, `restore`, a change of units, or a day that the clock is set to. */
type Step =
  | "restore"
  | { readonly when: string }
  | { readonly units: number }
  | { readonly day: string };

/**
 * Performs each step, which succeeds, and compares the documents after it. Returns what stands
 * then, without the types of the invoices.
 */
async function walk(
  builder: LifeBuilder,
  own: CreatedOrganisation,
  id: string,
  steps: readonly Step[],
): Promise<readonly string[][]> {
  const stood: string[][] = [];
  for (const step of steps) {
    if (step === "restore") await builder.restored(own, id);
    else if ("when" in step) await builder.ended(own, id, step);
    else if ("units" in step) await builder.changed(own, id, step);
    else await builder.setClock(own, step.day);
    await builder.expectEqualDocuments(own);
    await expectEachPeriodOnce(builder, own, id);
    stood.push((await builder.standing(own, id)).map(([name]) => name ?? ""));
  }
  return stood;
}

/**
 * Holds that no period has two plan lines that stand, and that its prorations follow each other
 * without a gap or a repeat.
 */
async function expectEachPeriodOnce(
  builder: LifeBuilder,
  own: CreatedOrganisation,
  id: string,
): Promise<void> {
  const invoices = await builder.invoices(own, id);
  const standing = invoices.filter(({ status }) => status !== "voided" && status !== "deleted");
  const lines: Json[] = standing.flatMap((invoice: Json) => invoice.lines);
  const plans = lines.filter(({ kind }) => kind === "plan").map(({ period }) => period.start);
  expect(new Set(plans).size).toBe(plans.length);
  const moves = lines.filter(({ kind }) => kind === "proration");
  const froms = moves.map(({ period, proration }) => `${period.end} from ${proration.from_units}`);
  expect(new Set(froms).size).toBe(froms.length);
}

/** On 16 April, with renewal invoices issued so many days ahead. */
async function onDay(
  builder: LifeBuilder,
  days: number,
  status = "draft",
): Promise<CreatedOrganisation> {
  const own = await builder.sandbox({ invoice_create_days: days, first_invoice_status: status });
  await builder.setClock(own, "2026-04-16");
  return own;
}

describe.concurrent("repeated ends and restorations", () => {
  test.for([
    "draft",
    "approved",
  ])("inside the window: one renewal invoice stands whenever it runs (%s)", async (status, {
    builder,
  }) => {
    const own = await onDay(builder, 20, status);
    const { id } = await builder.subscribe(own, april);
    const steps = [
      periodEnd,
      "restore",
      now,
      "restore",
      periodEnd,
      now,
      "restore",
      both,
      "restore",
      both,
      "restore",
    ] as const;
    expect(await walk(builder, own, id, steps)).toEqual([
      ["INV-0001 first"],
      ["INV-0001 first", "INV-0003 renewal"],
      ["INV-0001 first"],
      ["INV-0001 first", "INV-0004 renewal"],
      ["INV-0001 first"],
      ["INV-0001 first"],
      ["INV-0001 first", "INV-0005 renewal"],
      [],
      ["INV-0006 first", "INV-0007 renewal"],
      [],
      ["INV-0008 first", "INV-0009 renewal"],
    ]);
    expect(await builder.standing(own, id)).toEqual([
      ["INV-0008 first", ten],
      ["INV-0009 renewal", ten],
    ]);
  });

  test("outside the window: nothing is removed and nothing issued", async ({ builder }) => {
    const own = await onDay(builder, 0);
    const { id } = await builder.subscribe(own, april);
    const steps = [
      periodEnd,
      "restore",
      now,
      "restore",
      periodEnd,
      now,
      "restore",
      now,
      "restore",
    ] as const;
    expect(new Set((await walk(builder, own, id, steps)).map(String))).toEqual(
      new Set(["INV-0001 first"]),
    );
    expect(await builder.subscription(own, id)).toMatchObject({ status: "active", end_date: null });
  });

  test("outside the window, removing all invoices: the period is billed again once", async ({
    builder,
  }) => {
    const own = await onDay(builder, 0, "approved");
    const { id } = await builder.subscribe(own, april);
    await builder.changed(own, id, { units: 12, ...half });
    await builder.posted(own);
    const before = await builder.standing(own, id);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      expect(await walk(builder, own, id, [both])).toEqual([[]]);
      await walk(builder, own, id, ["restore"]);
      const lines = (await builder.standing(own, id)).map(([, ...texts]) => texts);
      expect(lines).toEqual(before.map(([, ...texts]) => texts));
    }
    const { change } = await builder.changed(own, id, { units: 11 });
    expect(change.invoice).toBeNull();
  });

  test("over renewals: each period has its invoice, and earlier ones stay", async ({ builder }) => {
    const own = await onDay(builder, 10);
    const { id } = await builder.subscribe(own, april);
    const steps = [
      periodEnd,
      "restore",
      { day: "2026-04-25" },
      now,
      "restore",
      { day: "2026-05-10" },
      { units: 11 },
      periodEnd,
      { day: "2026-05-25" },
      "restore",
      { day: "2026-06-01" },
      { units: 9 },
      now,
      "restore",
    ] as const;
    const stood = await walk(builder, own, id, steps);
    expect(stood.at(-1)).toEqual(["INV-0001 first", "INV-0003 renewal", "INV-0004 renewal"]);
    expect((await builder.standing(own, id)).map(([, line]) => line)).toEqual([
      ten,
      ten,
      "110.0000 11 × 10.0000",
    ]);
    expect(await builder.subscription(own, id)).toMatchObject({
      status: "active",
      renewal_date: "2026-07-01",
      units: 9,
    });
  });
});

describe.concurrent("at the edges of the window", () => {
  test("an end the day before and a restoration in it issue the renewal invoice", async ({
    builder,
  }) => {
    const own = await onDay(builder, 10);
    const { id } = await builder.subscribe(own, april);
    const steps = [
      { day: "2026-04-20" },
      now,
      "restore",
      now,
      { day: "2026-04-21" },
      "restore",
    ] as const;
    expect((await walk(builder, own, id, steps)).slice(-2)).toEqual([
      ["INV-0001 first"],
      ["INV-0001 first", "INV-0002 renewal"],
    ]);
  });

  test("an end and a restoration the day before the renewal let it renew", async ({ builder }) => {
    const own = await onDay(builder, 10);
    const { id } = await builder.subscribe(own, april);
    await builder.setClock(own, "2026-04-30T21:59:59Z");
    expect((await walk(builder, own, id, [now, "restore"])).at(-1)).toEqual([
      "INV-0001 first",
      "INV-0003 renewal",
    ]);
    await builder.setClock(own, "2026-04-30T22:00:00Z");
    expect(refusalOf(await builder.restore(own, id))).toEqual(conflict);
    expect(await builder.subscription(own, id)).toMatchObject({
      status: "active",
      renewal_date: "2026-06-01",
    });
    expect(await builder.standing(own, id)).toHaveLength(2);
    await builder.expectEqualDocuments(own);
  });

  test("a window shortened meanwhile: a removed invoice is restored once", async ({
    system,
    builder,
  }) => {
    const own = await onDay(builder, 20);
    const { id } = await builder.subscribe(own, april);
    await builder.ended(own, id, periodEnd);
    await system.pool.query("UPDATE organisations SET invoice_create_days = 0 WHERE id = $1", [
      own.organisationId,
    ]);
    expect(await walk(builder, own, id, ["restore", { day: "2026-05-02" }, { units: 9 }])).toEqual([
      ["INV-0001 first", "INV-0003 renewal"],
      ["INV-0001 first", "INV-0003 renewal"],
      ["INV-0001 first", "INV-0003 renewal"],
    ]);
  });
});

describe.concurrent("a renewal invoice that was paid meanwhile", () => {
  test("refuses the end, so that there is nothing to restore", async ({ builder }) => {
    const own = await onDay(builder, 20, "approved");
    const { id } = await builder.subscribe(own, april);
    const [renewal] = await builder.invoices(own, id);
    await builder.pay(own, renewal, renewal.total);
    const before = await builder.subscription(own, id);
    expect(refusalOf(await builder.end(own, id, periodEnd))).toEqual(conflict);
    expect(refusalOf(await builder.restore(own, id))).toEqual(conflict);
    expect(await builder.subscription(own, id)).toEqual(before);
    expect((await builder.summaries(own, id))[0]).toBe("INV-0002 renewal paid");
  });

  test("after it was issued again refuses the next end; the first end stays single", async ({
    builder,
  }) => {
    const own = await onDay(builder, 20, "approved");
    const { id } = await builder.subscribe(own, april);
    await walk(builder, own, id, [periodEnd, "restore"]);
    const [renewal] = await builder.invoices(own, id);
    await builder.pay(own, renewal, "1.00");
    expect(refusalOf(await builder.end(own, id, now))).toEqual(conflict);
    expect(await builder.summaries(own, id)).toEqual([
      "INV-0003 renewal approved",
      "INV-0002 renewal voided",
      "INV-0001 first approved",
    ]);
  });

  test("of the current period is left alone by an end and not issued again", async ({
    builder,
  }) => {
    const own = await onDay(builder, 20, "approved");
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
