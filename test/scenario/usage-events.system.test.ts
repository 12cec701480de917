/**
 * Reports of usage over HTTP: the verdicts, what is stored, what is refused as a whole, who may
 * report, resends, and each protocol.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { tables } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import type { Json } from "./units-builder.ts";
import { addMeter, setMeterStatus, usageEvent } from "./usage-builder.ts";
import { at, usageEventsTest as test } from "./usage-events-fixture.ts";

/** Noon UTC of this day is what its clock shows. */
const today = "2026-05-10";

const endedAs = ({ pool }: TestSystem, id: string, endDate: string, endedAt: string) => {
  const ended = { status: "ended", endDate: new Date(endDate), endedAt: new Date(endedAt) };
  return tables(pool).subscription.updateMany({ where: { id }, data: { ...ended, dueAt: null } });
};

describe("a batch", () => {
  test("has a verdict for each event in order, and the same when it is sent again", async ({
    system,
    reports,
    own,
    meterId,
    stored,
    event,
  }) => {
    await addMeter(system.pool, own.organisationId, { code: "old", status: "inactive" });
    await addMeter(system.pool, own.organisationId, { code: "elsewhere", plans: ["site"] });
    const [first, other] = [
      event({ quantity: "2.5" }),
      event({ meter: meterId, meter_code: undefined }),
    ];
    const events = [
      first,
      { ...first, quantity: 2.5 },
      { ...first, quantity: "2.6" },
      event({ subscription: randomUUID() }),
      event({ subscription: "ACME" }),
      event({ meter_code: "none" }),
      event({ meter_code: undefined, meter: "none" }),
      event({ meter_code: "old" }),
      event({ meter_code: "elsewhere" }),
      event({ timestamp: "2026-05-10T12:01:00.000001Z" }),
      event({ timestamp: "2026-04-19T11:59:59.999999Z" }),
      other,
    ];
    const answer = await reports.report(own, events);
    const counts = { object: "usage_event_batch", created: 2, duplicates: 1, rejected: 9 };
    expect([answer.status, answer.json]).toMatchObject([207, counts]);
    const shown = answer.json.results.map((result: Json) => [
      result.event_id,
      result.status,
      result.error?.code,
    ]);
    const expected = [
      "created",
      "duplicate",
      "event_id_conflict",
      "subscription_not_found",
      "subscription_not_found",
    ];
    expected.push(
      "meter_not_found",
      "meter_not_found",
      "meter_inactive",
      "meter_not_on_plan",
      "timestamp_in_future",
    );
    expected.push("before_subscription_start", "created");
    const isStored = (verdict: string) => verdict === "created" || verdict === "duplicate";
    expect(shown).toEqual(
      expected.map((verdict, index) => {
        const { event_id } = events[index];
        return isStored(verdict) ? [event_id, verdict, undefined] : [event_id, "rejected", verdict];
      }),
    );
    for (const { error } of answer.json.results)
      if (error !== undefined) expect(error.message).toMatch(/^[A-Z].+\.$/);
    const again = expected.map((verdict) => (verdict === "created" ? "duplicate" : verdict));
    expect(await reports.verdicts(own, events)).toEqual(again);
    expect(await stored(events[9].event_id)).toBeUndefined();
    expect(await stored(first.event_id)).toMatchObject({ quantity: "2.5000", meter_id: meterId });
  });

  test("keeps every digit of a quantity, text or number, and every microsecond", async ({
    ask,
    own,
    subscription,
    meterId,
    stored,
    event,
  }) => {
    const sent: [string, string][] = [
      ["99999999999999999999", "99999999999999999999.0000"],
      ["1234567890123456.789", "1234567890123456.7890"],
      ["0.0001", "0.0001"],
      ['"123456789012345.6789"', "123456789012345.6789"],
      ["1.10", "1.1000"],
    ];
    for (const [quantity, kept] of sent) {
      const { event_id } = event();
      const timestamp = "2026-05-10T00:00:00.1234569+05:45";
      const members = {
        event_id,
        subscription: subscription.toUpperCase(),
        meter: meterId.toUpperCase(),
        timestamp,
      };
      const body = `{"events":[${JSON.stringify(members).slice(0, -1)},"quantity":${quantity}}]}`;
      const answer = await ask("POST", "/v1/usage_events", { key: own.apiKey, body });
      expect([answer.status, answer.json.created], answer.text).toEqual([200, 1]);
      expect(await stored(event_id)).toMatchObject({
        subscription_id: subscription,
        meter_id: meterId,
        quantity: kept,
        at: "2026-05-09 18:15:00.123456",
        created_at: new Date(`${today}T12:00:00Z`),
      });
    }
  });

  test("may have a hundred events with the longest ids of any characters", async ({
    reports,
    own,
    event,
  }) => {
    const texts = ["é", "e\u0301", "\"\\'{},", "😀", " ", "$1", "NULL", "\u0001\n"];
    const ids = texts.map((text) => text + "x".repeat(255 - [...text].length));
    const events = Array.from({ length: 100 }, (_, index) =>
      event({ event_id: ids[index] ?? `${index}`.padStart(255, "0") }),
    );
    expect(events[0].event_id).not.toBe(events[1].event_id);
    await reports.stored(own, events);
    expect(await reports.verdicts(own, events)).toEqual(events.map(() => "duplicate"));
  });
});

describe("a resend", () => {
  test("is a duplicate even once the meter, the subscription or the event is over", async ({
    system,
    sandboxes,
    reports,
    own,
  }) => {
    const id = await sandboxes.subscribe(own.organisationId, { startDate: "2026-05-01" });
    await addMeter(system.pool, own.organisationId, { code: "passing" });
    const sent = usageEvent(id, at, { meter_code: "passing" });
    await reports.stored(own, [sent]);
    await setMeterStatus(system.pool, own.organisationId, "passing", "inactive");
    await endedAs(system, id, "2026-05-05", "2026-05-05T10:00:00Z");
    const other = { ...sent, event_id: randomUUID() };
    expect(await reports.verdicts(own, [sent, other, { ...sent, quantity: "2" }])).toEqual([
      "duplicate",
      "meter_inactive",
      "event_id_conflict",
    ]);
    await tables(system.pool).usageEvent.updateMany({
      where: { eventId: sent.event_id },
      data: { voidedAt: new Date(), voidReason: "sent twice" },
    });
    expect(await reports.verdicts(own, [sent])).toEqual(["duplicate"]);
    expect((await sandboxes.row(id)).due_at).toBeNull();
  });
});

describe("late usage of a subscription that is over", () => {
  test("makes it due at the next midnight in its zone, once, if it stores an event", async ({
    system,
    sandboxes,
    reports,
    own,
    stored,
    event,
  }) => {
    const id = await sandboxes.subscribe(own.organisationId, {
      startDate: "2026-05-01",
      timezone: "Pacific/Auckland",
    });
    const sent = usageEvent(id, "2026-05-08T10:00:00Z");
    await reports.stored(own, [sent]);
    await endedAs(system, id, "2026-05-09", "2026-05-08T22:00:00.5Z");
    const dueAt = async () => (await sandboxes.row(id)).due_at;
    const after = usageEvent(id, "2026-05-08T22:00:00.5Z");
    expect(await reports.verdicts(own, [sent, after])).toEqual([
      "duplicate",
      "after_subscription_end",
    ]);
    expect(await dueAt()).toBeNull();
    const last = usageEvent(id, "2026-05-08T22:00:00.499999Z");
    expect(await reports.verdicts(own, [last, event()])).toEqual(["created", "created"]);
    expect(await dueAt()).toEqual(new Date("2026-05-11T12:00:00Z"));
    expect(await stored(last.event_id)).toMatchObject({ period_index: 0, bill: 0 });
    await tables(system.pool).subscription.updateMany({
      where: { id },
      data: { dueAt: new Date("2026-05-10T12:00:00Z") },
    });
    await reports.stored(own, [usageEvent(id, at.replace("09", "07"))]);
    expect(await dueAt()).toEqual(new Date("2026-05-10T12:00:00Z"));
  });
});
