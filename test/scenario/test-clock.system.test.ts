/**
 * A sandbox's test clock over the admin API and HTTP: everything that falls due on the way is
 * performed in order, each at its own time, and every date follows the clock. CLOCK-1.
 */
import { describe, expect } from "vitest";
import { createStore } from "../../src/store/tenant.ts";
import { askWith } from "../admin/services/request.ts";
import { tables } from "../support/rows.ts";
import { scenarioTest as test } from "./fixtures.ts";
import { addLike } from "./row-builder.ts";
import type { Json } from "./units-builder.ts";

const standing = { state: "TEST_CLOCK_STATE_STANDING" };

/** An invoice in short: `INV-0002 renewal 2026-05-01, created 2026-04-30T22:00:00.000Z`. */
const short = ({ number, type, issue_date, created }: Json) =>
  `${number} ${type} ${issue_date}, made ${created}`;

describe.concurrent("a test clock", () => {
  test("shows the real time until it is advanced, and stands still from then on", async ({
    clocks,
  }) => {
    const own = await clocks.sandbox({ test_clock: null, timezone: "UTC" });
    const before = await clocks.clock(own);
    expect(before).toMatchObject({
      organisation: own.organisationId,
      state: "TEST_CLOCK_STATE_REAL_TIME",
    });
    expect(before.advance).toBeUndefined();
    expect(Math.abs(Date.parse(before.now) - Date.now())).toBeLessThan(60_000);
    const after = await clocks.advanced(own, { days: 1 });
    expect(after).toMatchObject({ ...standing, now: after.advance.to });
    expect(Date.parse(after.advance.to) - Date.parse(after.advance.from)).toBe(86_400_000);
    expect(Date.parse(after.advance.from)).toBeGreaterThanOrEqual(Date.parse(before.now));
    // When it began and was there is real, which the clock is not any more.
    const { startedAt, finishedAt } = after.advance;
    expect([before.now, startedAt, finishedAt, after.now].toSorted()).toEqual([
      before.now,
      startedAt,
      finishedAt,
      after.now,
    ]);
    expect((await clocks.clock(own)).now).toBe(after.now);
    const { created, start_date, timezone } = await clocks.subscribe(own);
    // Today is the zone's, which is another day than UTC's for some hours of each.
    const today = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone }).format(
      Date.parse(after.now),
    );
    expect([created, start_date]).toEqual([after.now, today]);
  });

  test("renews each subscription at the midnights of its time zone, in order", async ({
    clocks,
  }) => {
    const own = await clocks.sandbox();
    const paris = await clocks.subscribe(own, { start_date: "2026-04-01" });
    const auckland = await clocks.subscribe(own, {
      start_date: "2026-04-01",
      timezone: "Pacific/Auckland",
    });
    const middle = await clocks.subscribe(own, { start_date: "2026-03-15" });
    const clock = await clocks.advanced(own, { to: "2026-06-15T12:00:00Z" });
    const counts = { performed: 7, invoicesIssued: 7 };
    expect(clock).toMatchObject({ ...standing, now: "2026-06-15T12:00:00.000Z", advance: counts });
    const renewals = [
      "INV-0004 renewal 2026-04-15, made 2026-04-14T22:00:00.000Z",
      "INV-0005 renewal 2026-05-01, made 2026-04-30T12:00:00.000Z",
      "INV-0006 renewal 2026-05-01, made 2026-04-30T22:00:00.000Z",
      "INV-0007 renewal 2026-05-15, made 2026-05-14T22:00:00.000Z",
      "INV-0008 renewal 2026-06-01, made 2026-05-31T12:00:00.000Z",
      "INV-0009 renewal 2026-06-01, made 2026-05-31T22:00:00.000Z",
      "INV-0010 renewal 2026-06-15, made 2026-06-14T22:00:00.000Z",
    ];
    const [ofParis, ofAuckland, ofMiddle] = await Promise.all(
      [paris, auckland, middle].map(async ({ id }) => (await clocks.invoices(own, id)).map(short)),
    );
    expect(ofParis?.slice(0, -1)).toEqual([renewals[5], renewals[2]]);
    expect(ofAuckland?.slice(0, -1)).toEqual([renewals[4], renewals[1]]);
    expect(ofMiddle?.slice(0, -1)).toEqual([renewals[6], renewals[3], renewals[0]]);
    expect(await clocks.subscription(own, paris.id)).toMatchObject({
      status: "active",
      renewal_date: "2026-07-01",
    });
    expect(await clocks.subscription(own, middle.id)).toMatchObject({
      status: "active",
      renewal_date: "2026-07-15",
    });
    await clocks.expectEqualDocuments(own);
  });

  test("decides a request during an advance by what it shows, even an earlier one", async ({
    clocks,
    system,
  }) => {
    const own = await clocks.sandbox();
    const { id } = await clocks.subscribe(own, { start_date: "2026-04-01" });
    await clocks.advanced(own, { to: "2026-06-10" });
    const before = new Date("2026-04-01T12:00:00Z");
    const tenant = createStore(system.pool).tenant(own.organisationId, before);
    const today = () => tenant.onCurrentSubscription(id, async (_, state) => state.today);
    expect(await today()).toBe("2026-06-10");
    expect(await clocks.ended(own, id, { when: "now" })).toMatchObject({
      status: "ended",
      end_date: "2026-06-10",
    });
  });

  test("dates what operators create in the sandbox", async ({ clocks }) => {
    const own = await clocks.sandbox();
    const { organisationId: organisation } = own;
    const plan = { organisation, code: "new", name: "New", type: "PLAN_TYPE_PER_UNIT", price: "1" };
    const { plan: result } = await clocks.operator.done("PlanService/CreatePlan", plan);
    const charge = { organisation, code: "new", name: "New", price: "1" };
    const { charge: added } = await clocks.operator.done("ChargeService/CreateCharge", charge);
    expect([result.created, added.created]).toEqual(Array(2).fill("2026-04-01T12:00:00.000Z"));
  });

  test("continues past a subscription that cannot be billed, which is parked", async ({
    clocks,
    system,
  }) => {
    const own = await clocks.sandbox();
    const { id } = await clocks.subscribe(own, { start_date: "2026-04-01" });
    const broken = await clocks.subscribe(own, { start_date: "2026-04-01" });
    // Its next renewal would come to more than any amount can be.
    const planId = await addLike(system.pool, "plans", own.organisationId, "team", {
      code: "huge",
      price: "999999999.9999",
      allows_price_override: false,
    });
    await tables(system.pool).subscription.updateMany({
      where: { organisationId: own.organisationId, id: broken.id },
      data: { planId, priceOverride: null, units: 1_000_000_000 },
    });
    const clock = await clocks.advanced(own, { to: "2026-07-02" });
    expect(clock.advance).toMatchObject({ performed: 3, invoicesIssued: 3 });
    // Once more each time that it is tried again, a minute later.
    expect(clock.advance.parked).toBeGreaterThanOrEqual(1);
    expect(await clocks.summaries(own, id)).toHaveLength(4);
    const { data } = await clocks.operator.done("BillingService/ListParkedSubscriptions", {
      organisation: own.organisationId,
    });
    expect(data).toMatchObject([{ id: broken.id, renewalDate: "2026-05-01" }]);
  });
});

describe.concurrent("an advance of a test clock", () => {
  const advance = "TestClockService/AdvanceTestClock";

  test("to its present instant changes nothing; any other is in the audit log", async ({
    clocks,
  }) => {
    const own = await clocks.sandbox();
    const at = { organisation: own.organisationId };
    const first = await clocks.advanced(own, { to: "2026-04-10T00:00:00+02:00" });
    expect(await clocks.advance(own, { to: "2026-04-09T22:00:00Z" })).toEqual(first);
    await clocks.advanced(own, { months: 1 });
    const log = await clocks.operator.done("AuditService/ListAuditEntries", at);
    expect(log.data).toMatchObject([
      {
        operation: "billing.admin.v1.TestClockService/AdvanceTestClock",
        targetKind: "organisation",
        target: own.organisationId,
        before: { test_clock: "2026-04-09T22:00:00.000Z" },
        after: { test_clock: "2026-04-09T22:00:00.000Z", target: "2026-05-09T22:00:00.000Z" },
      },
      {
        before: { test_clock: "2026-04-01T12:00:00.000Z" },
        after: { target: "2026-04-09T22:00:00.000Z" },
      },
    ]);
    expect(log.data).toHaveLength(2);
  });

  test("with an Idempotency-Key is made once", async ({ clocks }) => {
    const own = await clocks.sandbox();
    const requested = { organisation: own.organisationId, days: 3 };
    const key = { headers: { "Idempotency-Key": "three-days" } };
    const once = await clocks.operator.done(advance, requested, key);
    await clocks.arrived(own);
    expect(await clocks.operator.done(advance, requested, key)).toEqual(once);
    expect((await clocks.clock(own)).now).toBe("2026-04-04T12:00:00.000Z");
  });

  test("is refused by what it names, and the clock stands", async ({ clocks }) => {
    const own = await clocks.sandbox();
    const refusals: readonly (readonly [by: object, refusal: string])[] = [
      [{}, "invalid_parameter"],
      [{ days: 1, months: 1 }, "invalid_parameter"],
      [{ to: "2026-05-01", days: 1 }, "invalid_parameter"],
      [{ days: 0 }, "invalid_parameter days"],
      [{ months: 61 }, "invalid_parameter months"],
      [{ to: "tomorrow" }, "invalid_parameter to"],
      [{ to: "2026-05-01T00:00:00" }, "invalid_parameter to"],
      [{ to: "2026-02-30" }, "invalid_parameter to"],
      [{ to: "2026-04-01" }, "invalid_parameter to"],
      [{ to: "2031-04-02" }, "invalid_parameter to"],
      [{ days: 1827 }, "invalid_parameter days"],
    ];
    for (const [by, refusal] of refusals) {
      const asked = { organisation: own.organisationId, ...by };
      expect([by, await clocks.operator.refused(advance, asked)]).toEqual([by, refusal]);
    }
    const shown = { ...standing, now: "2026-04-01T12:00:00.000Z" };
    expect(await clocks.clock(own)).toMatchObject(shown);
  });

  test("of a live or unknown organisation, or by a reader, is refused", async ({
    clocks,
    system,
  }) => {
    const live = await system.organisation();
    const at = { organisation: live.organisationId };
    expect(await clocks.operator.refused(advance, { ...at, days: 1 })).toBe("invalid_state");
    expect(await clocks.operator.refused("TestClockService/GetTestClock", at)).toBe(
      "invalid_state",
    );
    for (const organisation of ["0199a0b2-0000-7000-8000-000000000001", "x"]) {
      expect(await clocks.operator.refused(advance, { organisation, days: 1 })).toBe(
        "organisation_not_found",
      );
      expect(await clocks.operator.refused("TestClockService/GetTestClock", { organisation })).toBe(
        "organisation_not_found",
      );
    }
    const own = await clocks.sandbox();
    const reader = askWith(system, await system.operator("read-only"));
    const sandbox = { organisation: own.organisationId };
    expect(await reader.refused(advance, { ...sandbox, days: 1 })).toBe("insufficient_role");
    expect((await reader.done("TestClockService/GetTestClock", sandbox)).testClock).toMatchObject(
      standing,
    );
  });
});
