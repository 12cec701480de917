/**
 * Usage from its report to its bill, over HTTP and through Temporal: its document, its arithmetic,
 * late usage and ends, and the same in the ledger. USAGE-9, USAGE-10, USAGE-15.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../src/dev/local-stack/demo/first-data.ts";
import { sharedSystem } from "../support/reused-system.ts";
import type { TestSystem } from "../support/system.ts";
import { expectBilledOnce } from "./billed-once.ts";
import { checkedAsk } from "./checked-ask.ts";
import { type ClockBuilder, clockBuilder } from "./clock-builder.ts";
import type { Json } from "./units-builder.ts";
import {
  addMeter,
  type TestMeter,
  type UsageBuilder,
  usageBuilder,
  usageEvent,
} from "./usage-builder.ts";

let system: TestSystem;
let builder: ClockBuilder & UsageBuilder;

beforeAll(async () => {
  system = await sharedSystem();
  const ask = checkedAsk(system);
  builder = { ...(await clockBuilder(system, ask)), ...usageBuilder(ask) };
});

const april = { start_date: "2026-04-01" };
const aprilDays = { start: "2026-04-01", end: "2026-05-01" };
const mayDays = { start: "2026-05-01", end: "2026-06-01" };
const now = { when: "now" };

/** The first thousand calls at 0.02, more at 0.01. */
const calls: TestMeter = {
  type: "tiered",
  tiers: [
    [1000, "0.02", null],
    [null, "0.01", null],
  ],
};

/** Ten GB and less at 2.00 each, more than ten at 1.00 each. */
const storage: TestMeter = {
  code: "storage",
  name: "Storage",
  unitLabel: "GB",
  type: "volume",
  tiers: [
    [10, "2", null],
    [null, "1", null],
  ],
};

/**
 * An organisation on 1 April that takes usage, with its subscription from that day on and these
 * meters.
 */
async function metered(
  changes: Record<string, unknown> = {},
  meters = [calls],
  body: object = {},
): Promise<readonly [CreatedOrganisation, string]> {
  const own = await builder.sandbox({ usage_allowed: true, ...changes });
  for (const meter of meters) await addMeter(system.pool, own.organisationId, meter);
  const { id } = await builder.subscribe(own, { ...april, ...body });
  return [own, id];
}

/** Reports so much of a meter as a day began; all of it is stored. */
const use = (
  own: CreatedOrganisation,
  id: string,
  ...uses: (readonly [quantity: string, day: string, meter?: string])[]
) =>
  builder.stored(
    own,
    uses.map(([quantity, day, meter_code = "api-calls"]) =>
      usageEvent(id, `${day}T00:00:00+02:00`, { quantity, meter_code }),
    ),
  );

/** Advances the clock to a day; the ledger has decided on everything then. */
async function to(own: CreatedOrganisation, day: string): Promise<void> {
  await builder.posted(own);
  await builder.advanced(own, { to: day });
  await builder.posted(own);
}

/** Its invoices, oldest first: type, status, and of each line kind, amount and text. */
async function shown(
  own: CreatedOrganisation,
  id: string,
): Promise<readonly (readonly string[])[]> {
  const invoices = (await builder.invoices(own, id)).toReversed();
  return invoices.map(({ type, status, lines }) => [
    `${type} ${status}`,
    ...lines.map(({ kind, amount, description }: Json) =>
      kind === "usage" ? `${amount} ${description}` : `${kind} ${amount}`,
    ),
  ]);
}

describe.concurrent("the usage of a period", () => {
  test("is on the renewal invoice while that is a draft, with its arithmetic", async () => {
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
    const [renewal] = await builder.invoices(own, id);
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
    expect((await builder.subscription(own, id)).renewal_value).toBe("100.0000");
    await builder.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("is on a separate invoice if invoices begin approved", async () => {
    const [own, id] = await metered({ first_invoice_status: "approved" });
    await to(own, "2026-04-20");
    await use(own, id, ["250", "2026-04-20"]);
    await to(own, "2026-05-01");
    expect(await shown(own, id)).toEqual([
      ["first approved", "plan 100.0000"],
      ["renewal approved", "plan 100.0000"],
      ["usage approved", "5.0000 250 call: 250 × 0.0200"],
    ]);
    const [usage] = await builder.invoices(own, id);
    expect(usage).toMatchObject({
      period: aprilDays,
      issue_date: "2026-05-01",
      total: "6.0000",
      ledger: { sync_status: "synced" },
    });
    await builder.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("joins the renewal invoice issued ahead, or a separate one after its approval", async () => {
    const [own, id] = await metered({ invoice_create_days: 10 });
    const { id: other } = await builder.subscribe(own, april);
    await to(own, "2026-04-25");
    await use(own, id, ["100", "2026-04-25"]);
    await use(own, other, ["200", "2026-04-25"]);
    const [approved] = await builder.invoices(own, other);
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
    expect((await builder.invoices(own, other))[0]).toMatchObject({ period: aprilDays });
    await builder.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });
});

describe.concurrent("usage that is reported late", () => {
  test("in the next period is a line of the earlier one, credited if it is cheaper", async () => {
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
    expect((await builder.invoices(own, id))[0].lines[1]).toMatchObject({
      quantity: "300.0000",
      period: aprilDays,
    });
    const [note] = await builder.creditNotes(own, id);
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
    await builder.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("after the end is on one more usage invoice at the next midnight, once", async () => {
    const [own, id] = await metered({ first_invoice_status: "approved" });
    await to(own, "2026-04-20");
    await use(own, id, ["100", "2026-04-19"]);
    expect(await builder.ended(own, id, now)).toMatchObject({
      status: "ended",
      end_date: "2026-04-20",
    });
    await builder.posted(own);
    await use(own, id, ["10", "2026-04-19"]);
    await use(own, id, ["20", "2026-04-18"]);
    const late = await builder.verdicts(own, [
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
    await builder.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });
});
