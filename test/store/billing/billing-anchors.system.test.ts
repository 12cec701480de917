/**
 * Month ends in five zones, over changes of clocks and a leap year. Each period begins with its day
 * in the subscription's zone, counted from the anchor, and not a millisecond before. PostgreSQL's
 * calendar has the expected instants.
 */
import { expect } from "vitest";
import { type BillingFixture, billingTest as test } from "./billing-fixture.ts";

/** Cairo's clocks change at midnight: there a day begins at one o'clock. */
const zones = [
  "Pacific/Auckland",
  "America/New_York",
  "Europe/Paris",
  "Africa/Cairo",
  "Asia/Kolkata",
];

/** Days of January 2027 from which periods are counted. */
const anchors = [1, 15, 28, 29, 30, 31];

/** Until March 2028: 29 February 2028 lies in between, and two changes of clocks. */
const months = 15;

/** The anchor's day, the given number of months after January 2027, clamped to its month. */
function boundary(anchor: number, month: number): string {
  const lastDay = new Date(Date.UTC(2027, month + 1, 0)).getUTCDate();
  return new Date(Date.UTC(2027, month, Math.min(anchor, lastDay))).toISOString().slice(0, 10);
}

/** The instant at which a day begins in a zone, by PostgreSQL's calendar. */
async function beginOf(fixture: BillingFixture, zone: string, date: string): Promise<number> {
  const text = "SELECT ($1::date)::timestamp AT TIME ZONE $2 AS begin";
  const { rows } = await fixture.pool.query<{ begin: Date }>(text, [date, zone]);
  return rows[0]?.begin.getTime() ?? Number.NaN;
}

test.for(zones)("every month of every anchor begins on its day in %s", async (zone, {
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-12-01");
  const ids = new Map<number, string>();
  for (const anchor of anchors) {
    const startDate = boundary(anchor, 0);
    ids.set(
      anchor,
      await fixture.subscribe(organisation, { timezone: zone, startDate, billingDay: anchor }),
    );
  }
  const boundaries = anchors.flatMap((anchor) =>
    Array.from({ length: months }, (_, month) => ({ anchor, date: boundary(anchor, month) })),
  );
  const days = [...new Set(boundaries.map(({ date }) => date))].toSorted();
  for (const date of days) {
    const begin = await beginOf(fixture, zone, date);
    await fixture.setClock(organisation, new Date(begin - 1).toISOString());
    expect(await fixture.bill(organisation), `nothing before ${date}`).toEqual([]);
    await fixture.setClock(organisation, new Date(begin).toISOString());
    const outcomes = await fixture.bill(organisation);
    const due = boundaries.filter((one) => one.date === date).length;
    expect(
      outcomes.map(({ performed }) => performed),
      `those of ${date}`,
    ).toEqual([due]);
  }
  for (const [anchor, id] of ids) {
    const starts = (await fixture.invoices(id)).map(({ start }) => start);
    expect(starts).toEqual(Array.from({ length: months }, (_, month) => boundary(anchor, month)));
  }
});
