/**
 * Usage from its report to its bill, over HTTP and through Temporal: its document, its arithmetic,
 * late usage and ends, and the same in the ledger. USAGE-9, USAGE-10, USAGE-15.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { MadeOrganisation } from "../../src/dev/local-stack/demo/first-data.ts";
import type { TestSystem } from "../support/system.ts";
import { sharedSystem } from "../support/system-for-many.ts";
import { expectBilledOnce } from "./billed-once.ts";
import { checkedAsk, refusalOf, refused } from "./checked-ask.ts";
import { type ClockBuilder, clockBuilder } from "./clock-world.ts";
import type { Json } from "./units-world.ts";
import {
  addMeter,
  type TestMeter,
  type UsageBuilder,
  usageBuilder,
  usageEvent,
} from "./usage-world.ts";

let system: TestSystem;
let world: ClockBuilder & UsageBuilder;

beforeAll(async () => {
  system = await sharedSystem();
  const ask = checkedAsk(system);
  world = { ...(await clockBuilder(system, ask)), ...usageBuilder(ask) };
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
): Promise<readonly [MadeOrganisation, string]> {
  const own = await world.sandbox({ usage_allowed: true, ...changes });
  for (const meter of meters) await addMeter(system.pool, own.organisationId, meter);
  const { id } = await world.subscribe(own, { ...april, ...body });
  return [own, id];
}

/** Reports so much of a meter as a day began; all of it is stored. */
const use = (
  own: MadeOrganisation,
  id: string,
  ...uses: (readonly [quantity: string, day: string, meter?: string])[]
) =>
  world.stored(
    own,
    uses.map(([quantity, day, meter_code = "api-calls"]) =>
      usageEvent(id, `${day}T00:00:00+02:00`, { quantity, meter_code }),
    ),
  );

/** Advances the clock to a day; the ledger has decided on everything then. */
async function to(own: MadeOrganisation, day: string): Promise<void> {
  await world.settled(own);
  await world.advanced(own, { to: day });
  await world.settled(own);
}

/** Its invoices, oldest first: type, status, and of each line kind, amount and text. */
async function told(own: MadeOrganisation, id: string): Promise<readonly (readonly string[])[]> {
  const invoices = (await world.invoices(own, id)).toReversed();
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
    expect(await told(own, id)).toHaveLength(1);
    await to(own, "2026-05-01");
    const [renewal] = await world.invoices(own, id);
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
    expect((await world.subscription(own, id)).renewal_value).toBe("100.0000");
    await world.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("is on a separate invoice if invoices begin approved", async () => {
    const [own, id] = await metered({ first_invoice_status: "approved" });
    await to(own, "2026-04-20");
    await use(own, id, ["250", "2026-04-20"]);
    await to(own, "2026-05-01");
    expect(await told(own, id)).toEqual([
      ["first approved", "plan 100.0000"],
      ["renewal approved", "plan 100.0000"],
      ["usage approved", "5.0000 250 call: 250 × 0.0200"],
    ]);
    const [usage] = await world.invoices(own, id);
    expect(usage).toMatchObject({
      period: aprilDays,
      issue_date: "2026-05-01",
      total: "6.0000",
      ledger: { sync_status: "synced" },
    });
    await world.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("joins the renewal invoice issued ahead, or a separate one after its approval", async () => {
    const [own, id] = await metered({ invoice_create_days: 10 });
    const { id: other } = await world.subscribe(own, april);
    await to(own, "2026-04-25");
    await use(own, id, ["100", "2026-04-25"]);
    await use(own, other, ["200", "2026-04-25"]);
    const [approved] = await world.invoices(own, other);
    expect(approved).toMatchObject({ type: "renewal", status: "draft" });
    const text =
      "UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1 AND number = $2";
    await system.pool.query(text, [own.tenantId, approved.number]);
    await to(own, "2026-05-01");
    expect(await told(own, id)).toEqual([
      ["first draft", "plan 100.0000"],
      ["renewal draft", "plan 100.0000", "2.0000 100 call: 100 × 0.0200"],
    ]);
    expect(await told(own, other)).toEqual([
      ["first draft", "plan 100.0000"],
      ["renewal approved", "plan 100.0000"],
      ["usage draft", "4.0000 200 call: 200 × 0.0200"],
    ]);
    expect((await world.invoices(own, other))[0]).toMatchObject({ period: aprilDays });
    await world.expectEqualDocuments(own);
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
    const [renewal, ...others] = (await told(own, id)).toReversed();
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
    expect((await world.invoices(own, id))[0].lines[1]).toMatchObject({
      quantity: "300.0000",
      period: aprilDays,
    });
    const [note] = await world.creditNotes(own, id);
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
    await world.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("after the end is on one more usage invoice at the next midnight, once", async () => {
    const [own, id] = await metered({ first_invoice_status: "approved" });
    await to(own, "2026-04-20");
    await use(own, id, ["100", "2026-04-19"]);
    expect(await world.ended(own, id, now)).toMatchObject({
      status: "ended",
      end_date: "2026-04-20",
    });
    await world.settled(own);
    await use(own, id, ["10", "2026-04-19"]);
    await use(own, id, ["20", "2026-04-18"]);
    const late = await world.verdicts(own, [
      usageEvent(id, "2026-04-20T00:00:00+02:00"),
      usageEvent(id, "2026-03-31T23:59:59+02:00"),
    ]);
    expect(late).toEqual(["after_subscription_end", "before_subscription_start"]);
    expect(await told(own, id)).toHaveLength(2);
    await to(own, "2026-04-21");
    const more =
      "0.6000 30 call more in the period from 2026-04-01: " +
      "130 × 0.0200 for 130, less 100 × 0.0200 for 100";
    expect((await told(own, id)).slice(1)).toEqual([
      ["usage approved", "2.0000 100 call: 100 × 0.0200"],
      ["usage approved", more],
    ]);
    await to(own, "2026-06-01");
    expect(await told(own, id)).toHaveLength(3);
    await world.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });
});

describe.concurrent("an end", () => {
  test("now bills usage of up to two periods on one invoice that it keeps", async () => {
    const [own, id] = await metered();
    await to(own, "2026-04-20");
    await use(own, id, ["100", "2026-04-20"]);
    await to(own, "2026-05-10");
    await use(own, id, ["10", "2026-04-30"], ["30", "2026-05-09"]);
    await world.ended(own, id, { ...now, delete_unsent_invoices: true });
    await world.settled(own);
    expect(await told(own, id)).toEqual([
      ["first deleted", "plan 100.0000"],
      ["renewal deleted", "plan 100.0000", "2.0000 100 call: 100 × 0.0200"],
      [
        "usage draft",
        "0.2000 10 call more in the period from 2026-04-01: " +
          "110 × 0.0200 for 110, less 100 × 0.0200 for 100",
        "0.6000 30 call: 30 × 0.0200",
      ],
    ]);
    expect((await world.invoices(own, id))[0]).toMatchObject({ type: "usage", period: mayDays });
    // It waits for the next day, unless the subscription goes on.
    await use(own, id, ["1", "2026-05-09"]);
    // Its current period's invoice comes again with the usage that stood on it, the first one's
    // does not.
    await world.restored(own, id);
    expect((await told(own, id)).slice(3)).toEqual([
      ["renewal draft", "plan 100.0000", "2.0000 100 call: 100 × 0.0200"],
    ]);
    await use(own, id, ["5", "2026-05-10"]);
    await world.settled(own);
    // The usage invoice of the end before goes with this one, and comes again with the restoration.
    await world.ended(own, id, { ...now, delete_unsent_invoices: true });
    await world.restored(own, id);
    await world.settled(own);
    const standing = (await told(own, id)).filter(([head]) => !head?.includes("deleted"));
    expect(
      standing.map(([head, ...lines]) => [head, ...lines.map((line) => line.split(" ")[0])]),
    ).toEqual([
      ["usage draft", "0.1200"],
      ["usage draft", "0.2000", "0.6000"],
      ["renewal draft", "plan", "2.0000"],
    ]);
    await to(own, "2026-06-01");
    expect((await told(own, id)).at(-1)).toEqual(["renewal draft", "plan 100.0000"]);
    await world.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("of the last period bills its usage at completion", async () => {
    const [own, id] = await metered({ first_invoice_status: "approved" }, [calls], {
      end_after_cycles: 1,
    });
    await to(own, "2026-04-20");
    await use(own, id, ["100", "2026-04-20"]);
    expect(await world.verdicts(own, [usageEvent(id, "2026-04-20T00:00:30+02:00")])).toEqual([
      "created",
    ]);
    await to(own, "2026-05-01");
    expect(await world.subscription(own, id)).toMatchObject({ status: "complete" });
    expect(await told(own, id)).toEqual([
      ["first approved", "plan 100.0000"],
      ["usage approved", "2.0200 101 call: 101 × 0.0200"],
    ]);
    expect(await world.verdicts(own, [usageEvent(id, "2026-05-01T00:00:00+02:00")])).toEqual([
      "after_subscription_end",
    ]);
    await use(own, id, ["1000", "2026-04-30"]);
    await to(own, "2026-05-02");
    expect((await told(own, id)).at(-1)?.[1]).toMatch(
      /^18\.9900 1000 call more in the period from 2026-04-01/,
    );
    await world.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });

  test("now is refused in Setup Mode if usage is billable, and bills it afterwards", async () => {
    const [own, id] = await metered();
    const setUp = (setupMode: boolean) =>
      world.operator.done("OrganisationService/SetSetupMode", {
        id: own.organisationId,
        setupMode,
      });
    const { id: last } = await world.subscribe(own, { ...april, end_after_cycles: 1 });
    await to(own, "2026-04-20");
    await use(own, id, ["100", "2026-04-20"]);
    await use(own, last, ["7", "2026-04-20"]);
    await setUp(true);
    expect(refusalOf(await world.end(own, id, now))).toEqual(refused(409, "invalid_state"));
    await to(own, "2026-05-10");
    await use(own, id, ["500", "2026-05-10"], ["10", "2026-04-30"]);
    await use(own, last, ["3", "2026-04-30"]);
    await to(own, "2026-05-12");
    for (const each of [id, last])
      expect(await told(own, each)).toEqual([["first draft", "plan 100.0000"]]);
    expect(await world.subscription(own, last)).toMatchObject({ status: "complete" });
    await setUp(false);
    // Nothing of one that is over would come after it: it is billed at once.
    await to(own, "2026-05-13");
    expect((await told(own, last)).slice(1)).toEqual([
      ["usage draft", "0.2000 10 call: 10 × 0.0200"],
    ]);
    await to(own, "2026-06-01");
    expect((await told(own, id)).slice(1)).toEqual([
      [
        "renewal draft",
        "plan 100.0000",
        "2.0000 100 call in the period from 2026-04-01: 100 × 0.0200",
        "0.2000 10 call more in the period from 2026-04-01: " +
          "110 × 0.0200 for 110, less 100 × 0.0200 for 100",
      ],
    ]);
    await world.expectEqualDocuments(own);
    await expectBilledOnce(system, own);
  });
});

test("usage that the ledger refuses for its account is posted after the correction", async () => {
  const [own, id] = await metered({ first_invoice_status: "approved" }, [
    { ...calls, revenueAccount: "999" },
    storage,
  ]);
  const map = (code: string, account: string) =>
    system.pool.query(
      "UPDATE meters SET revenue_account = $3 WHERE organisation_id = $1 AND code = $2",
      [own.organisationId, code, account],
    );
  const retried = async ({ id: document }: Json) => {
    await world.operator.done("DocumentService/RetryDocument", {
      organisation: own.organisationId,
      id: document,
    });
    await world.settled(own);
  };
  const accounts = async (table: string, document: Json) => {
    const text = `SELECT revenue_account FROM ${table} WHERE ${document.object}_id = $1 ORDER BY position`;
    return (await system.pool.query(text, [document.id])).rows.map(
      ({ revenue_account }) => revenue_account,
    );
  };
  const failed = {
    status: "not_in_external",
    ledger: { sync_status: "failed", sync_error: expect.stringContaining("999") },
  };
  await to(own, "2026-04-20");
  await use(own, id, ["100", "2026-04-20"], ["10", "2026-04-20", "storage"]);
  await to(own, "2026-05-01");
  const [usage] = await world.invoices(own, id);
  expect(usage).toMatchObject({ type: "usage", ...failed });
  await map("api-calls", "260");
  await retried(usage);
  expect(await accounts("invoice_lines", usage)).toEqual(["260", "200"]);
  await map("storage", "999");
  await use(own, id, ["1", "2026-04-30", "storage"]);
  await to(own, "2026-06-01");
  const [note] = await world.creditNotes(own, id);
  expect(note).toMatchObject({ subtotal: "9.0000", ...failed });
  await map("storage", "260");
  await retried(note);
  expect(await accounts("credit_note_lines", note)).toEqual(["260"]);
  expect((await world.creditNotes(own, id))[0]).toMatchObject({
    status: "approved",
    ledger: { sync_status: "synced" },
  });
  await world.expectEqualDocuments(own);
  await expectBilledOnce(system, own);
});
