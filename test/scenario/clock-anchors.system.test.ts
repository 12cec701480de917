/**
 * Month ends by HTTP and the clock alone: subscriptions of the 29th, 30th and 31st in five zones,
 * over daylight saving changes and a leap year. Each period is counted from the first day, never
 * from a clamped one, and begins at the midnight of its zone. PERIOD-1.
 */
import { describe, expect } from "vitest";
import { scenarioTest as test } from "./fixtures.ts";
import type { Json } from "./units-builder.ts";

/**
 * Each with the first instants of three of its month ends: before a change of its clocks, after
 * one, and of 29 February 2028.
 */
const zones = [
  [
    "Europe/Paris",
    "2027-02-27T23:00:00.000Z",
    "2027-03-30T22:00:00.000Z",
    "2028-02-28T23:00:00.000Z",
  ],
  [
    "America/New_York",
    "2027-02-28T05:00:00.000Z",
    "2027-03-31T04:00:00.000Z",
    "2028-02-29T05:00:00.000Z",
  ],
  [
    "Pacific/Auckland",
    "2027-02-27T11:00:00.000Z",
    "2027-03-30T11:00:00.000Z",
    "2028-02-28T11:00:00.000Z",
  ],
  [
    "America/Santiago",
    "2027-02-28T03:00:00.000Z",
    "2027-03-31T03:00:00.000Z",
    "2028-02-29T03:00:00.000Z",
  ],
  [
    "Asia/Kolkata",
    "2027-02-27T18:30:00.000Z",
    "2027-03-30T18:30:00.000Z",
    "2028-02-28T18:30:00.000Z",
  ],
] as const;

/** The month ends of January 2027 to March 2028, as a subscription of the 31st has them. */
const lastDays = [
  "2027-01-31",
  "2027-02-28",
  "2027-03-31",
  "2027-04-30",
  "2027-05-31",
  "2027-06-30",
  "2027-07-31",
  "2027-08-31",
  "2027-09-30",
  "2027-10-31",
  "2027-11-30",
  "2027-12-31",
  "2028-01-31",
  "2028-02-29",
  "2028-03-31",
];

/** The same of the 30th and of the 29th. */
const clampedTo = (day: number) =>
  lastDays.map((date) => (Number(date.slice(8)) > day ? `${date.slice(0, 8)}${day}` : date));

describe.concurrent("month ends", () => {
  test.for(zones)("in %s begin periods at midnight", async ([timezone, february, march, leapDay], {
    clocks,
    system,
  }) => {
    const own = await system.organisation(
      { livemode: false, timezone, currency: "NZD" },
      { test_clock: "2027-01-28T09:00:00Z" },
    );
    const anchors = [29, 30, 31];
    const created: Json[] = [];
    // Each on its first day.
    for (const day of anchors) {
      await clocks.advanced(own, { to: `2027-01-${day}` });
      created.push(await clocks.subscribe(own, { timezone }));
    }
    expect(
      created.map(({ start_date, created }) => [start_date, created <= `${start_date}T23:59:59Z`]),
    ).toEqual(anchors.map((day) => [`2027-01-${day}`, true]));
    // To the last instant of a period, and on to the first of the next one.
    await clocks.advanced(own, { to: new Date(Date.parse(leapDay) - 1).toISOString() });
    expect(await clocks.subscription(own, created[2].id)).toMatchObject({
      renewal_date: "2028-02-29",
      status: "active",
    });
    await clocks.advanced(own, { to: leapDay });
    expect(await clocks.subscription(own, created[2].id)).toMatchObject({
      renewal_date: "2028-03-31",
      status: "active",
    });
    await clocks.advanced(own, { to: "2028-04-01" });
    for (const [index, day] of anchors.entries()) {
      const invoices = (await clocks.invoices(own, created[index].id)).toReversed();
      const days = clampedTo(day);
      expect(invoices.map(({ issue_date }) => issue_date)).toEqual(days);
      expect(invoices.map(({ period }) => period.start)).toEqual(days);
      expect(invoices.slice(0, -1).map(({ period }) => period.end)).toEqual(days.slice(1));
      expect(invoices.map(({ subtotal }) => subtotal)).toEqual(days.map(() => "100.0000"));
      expect(await clocks.subscription(own, created[index].id)).toMatchObject({
        renewal_date: `2028-04-${Math.min(day, 30)}`,
      });
    }
    const ofTheLast = (await clocks.invoices(own, created[2].id)).toReversed();
    expect([1, 2, 13].map((period) => ofTheLast[period].created)).toEqual([
      february,
      march,
      leapDay,
    ]);
    await clocks.expectEqualDocuments(own);
  });
});
