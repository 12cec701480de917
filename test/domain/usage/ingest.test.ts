/** Ingestion of usage: rejections in their order, the bill of an event, and repeated ids. */
import { describe, expect, test } from "vitest";
import { isOver } from "../../../src/domain/billing/due-date.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import {
  describeVerdict,
  evaluateUsage,
  eventsToStore,
  lateUsageDueAt,
  type ReportableMeter,
  type ReportableSubscription,
  type ReportedUsage,
  type UsageDetails,
  type UsageFacts,
} from "../../../src/domain/usage/ingest.ts";
import {
  formatInstant,
  type Instant,
  instantOf,
  readQuantity,
  readTimestamp,
} from "../../../src/domain/usage/parse.ts";

const now = "2026-05-10T12:00:00Z";
const id = "0199a0b2-1111-7000-8000-000000000001";
const meterId = "0199a0b2-2222-7000-8000-00000000000a";

function at(timestamp: string): Instant {
  const instant = readTimestamp(timestamp);
  if (instant === null) throw new Error(`not a timestamp: ${timestamp}`);
  return instant;
}

/** It began on 1 March in Auckland and is in its third period, whose bill has the number 5. */
const subscription: ReportableSubscription = {
  id,
  planId: "plan",
  status: "active",
  timezone: "Pacific/Auckland",
  startDate: civilDate("2026-03-01"),
  billingDay: 1,
  interval: { unit: "month", count: 1 },
  endDate: null,
  endedAt: null,
  runningEndDate: null,
  currentPeriod: 2,
  usageBill: 5,
};
const meter: ReportableMeter = {
  id: meterId,
  code: "calls",
  status: "active",
  plans: new Set(["plan"]),
};

function factsWith(
  own: Partial<ReportableSubscription> = {},
  ofMeter: Partial<ReportableMeter> = {},
): UsageFacts {
  const one = { ...meter, ...ofMeter };
  const second = { ...meter, id: "0199a0b2-2222-7000-8000-00000000000b", code: "other" };
  return {
    subscriptions: new Map([[id, { ...subscription, ...own }]]),
    metersById: new Map([one, second].map((each) => [each.id, each])),
    metersByCode: new Map([one, second].map((each) => [each.code, each])),
    now: instantOf(new Date(now)),
  };
}

interface Sent {
  readonly eventId?: string;
  readonly subscription?: string;
  readonly meter?: ReportedUsage["meter"];
  readonly quantity?: string;
  readonly timestamp?: string;
}

function report(sent: Sent = {}): ReportedUsage {
  const { eventId = "e", quantity = "1", timestamp = "2026-05-05T00:00:00Z" } = sent;
  const read = readQuantity(quantity);
  if (read === null) throw new Error(`not a quantity: ${quantity}`);
  const { meter: named = { by: "code", value: "calls" }, subscription: of = id } = sent;
  return { eventId, subscription: of, meter: named, quantity: read, occurredAt: at(timestamp) };
}

/** `created`, or the code of the rejection, of an event under whose id nothing is stored. */
function verdictOf(sent: Sent, facts: UsageFacts = factsWith()): string {
  const evaluated = evaluateUsage(report(sent), facts);
  const [verdict] = describeVerdict(
    [evaluated],
    new Set(evaluated.event === null ? [] : [evaluated.eventId]),
    new Map(),
  );
  return verdict?.status === "rejected" ? verdict.code : (verdict?.status ?? "");
}

describe("an event is rejected", () => {
  const inactive = factsWith({}, { status: "inactive" });
  const elsewhere = factsWith({}, { plans: new Set(["another"]) });
  const completed = factsWith({ status: "complete", endDate: civilDate("2026-05-01") });
  const running = factsWith({
    currentPeriod: 1,
    runningEndDate: civilDate("2026-05-01"),
    endDate: civilDate("2026-08-01"),
  });
  const ended = factsWith({
    status: "ended",
    endDate: civilDate("2026-05-05"),
    endedAt: at("2026-05-05T10:00:00.5Z"),
  });

  test.each<[string, string, Sent, UsageFacts]>([
    [
      "subscription_not_found",
      "an unknown id",
      { subscription: id.replace("1", "2") },
      factsWith(),
    ],
    ["subscription_not_found", "an id that is none", { subscription: "ACME" }, factsWith()],
    ["meter_not_found", "an unknown meter id", { meter: { by: "id", value: id } }, factsWith()],
    [
      "meter_not_found",
      "a meter's id that is none",
      { meter: { by: "id", value: "calls" } },
      factsWith(),
    ],
    [
      "meter_not_found",
      "an unknown meter code",
      { meter: { by: "code", value: "none" } },
      factsWith(),
    ],
    [
      "meter_not_found",
      "a meter's code in another case",
      { meter: { by: "code", value: "Calls" } },
      factsWith(),
    ],
    ["meter_not_found", "an id for a code", { meter: { by: "code", value: meterId } }, factsWith()],
    ["meter_inactive", "a meter that takes none", {}, inactive],
    ["meter_not_on_plan", "a meter of other plans", {}, elsewhere],
    [
      "timestamp_in_future",
      "a clock 60 seconds and a microsecond ahead",
      { timestamp: "2026-05-10T12:01:00.000001Z" },
      factsWith(),
    ],
    [
      "before_subscription_start",
      "the day before",
      { timestamp: "2026-02-28T10:59:59.999999Z" },
      factsWith(),
    ],
    [
      "after_subscription_end",
      "the instant of its end",
      { timestamp: "2026-05-05T10:00:00.500000Z" },
      ended,
    ],
    [
      "after_subscription_end",
      "the beginning of its renewal date",
      { timestamp: "2026-04-30T12:00:00Z" },
      completed,
    ],
    [
      "after_subscription_end",
      "the renewal date while its end is under way",
      { timestamp: "2026-04-30T12:00:00Z" },
      running,
    ],
  ])("as %s for %s", (code, _, sent, facts) => {
    expect(verdictOf(sent, facts)).toBe(code);
  });

  test("while its end runs, not after the renewal date, which the message has", () => {
    expect(verdictOf({ timestamp: "2026-04-30T11:59:59.999999Z" }, running)).toBe("created");
    const evaluated = evaluateUsage(report({ timestamp: "2026-05-05T00:00:00Z" }), running);
    expect(evaluated.rejection).toMatchObject({
      message: "The subscription is being ended, at the latest at 2026-04-30T12:00:00.000000Z.",
    });
  });

  test("by the first of its faults in the specification's order", () => {
    const none = {
      subscription: "none",
      meter: { by: "code", value: "none" },
      timestamp: "2027-01-01T00:00:00Z",
    } as const;
    const last = { status: "ended", endedAt: at("2026-02-01T00:00:00Z") } as const;
    const steps: [string, Sent, UsageFacts][] = [
      ["subscription_not_found", none, inactive],
      ["meter_not_found", { ...none, subscription: id }, inactive],
      [
        "meter_inactive",
        { timestamp: none.timestamp },
        factsWith(last, { status: "inactive", plans: new Set() }),
      ],
      ["meter_not_on_plan", { timestamp: none.timestamp }, factsWith(last, { plans: new Set() })],
      ["timestamp_in_future", { timestamp: none.timestamp }, factsWith(last)],
      ["before_subscription_start", { timestamp: "2026-02-05T00:00:00Z" }, factsWith(last)],
      ["after_subscription_end", { timestamp: "2026-03-05T00:00:00Z" }, factsWith(last)],
    ];
    for (const [code, sent, facts] of steps) expect(verdictOf(sent, facts)).toBe(code);
  });

  test("with words that name what was sent and what is known", () => {
    const said = (sent: Sent, facts: UsageFacts) => evaluateUsage(report(sent), facts).rejection;
    expect(said({ subscription: "ACME" }, factsWith())).toMatchObject({
      message: "There is no subscription with the id ACME.",
    });
    expect(said({ meter: { by: "code", value: "x" } }, factsWith())).toMatchObject({
      message: "There is no meter with the code x.",
    });
    expect(said({}, ended)).toBeNull();
    expect(said({ timestamp: "2026-05-06T00:00:00Z" }, ended)).toMatchObject({
      message: "The subscription ended at 2026-05-05T10:00:00.500000Z.",
    });
    expect(said({ timestamp: "2026-01-01T00:00:00Z" }, factsWith())).toMatchObject({
      message: "The subscription starts on 2026-03-01 in Pacific/Auckland.",
    });
  });
});

describe("an event is taken", () => {
  test.each<[string, Sent, UsageFacts]>([
    ["an id in capitals", { subscription: id.toUpperCase() }, factsWith()],
    ["a meter by its id", { meter: { by: "id", value: meterId.toUpperCase() } }, factsWith()],
    ["a clock 60 seconds ahead", { timestamp: "2026-05-10T12:01:00Z" }, factsWith()],
    ["the first instant of the first day", { timestamp: "2026-02-28T11:00:00Z" }, factsWith()],
    [
      "the microsecond before an end",
      { timestamp: "2026-05-05T10:00:00.499999Z" },
      factsWith({
        status: "ended",
        endDate: civilDate("2026-05-05"),
        endedAt: at("2026-05-05T10:00:00.5Z"),
      }),
    ],
    [
      "the microsecond before a completion",
      { timestamp: "2026-04-30T11:59:59.999999Z" },
      factsWith({ status: "complete", endDate: civilDate("2026-05-01"), currentPeriod: 1 }),
    ],
  ])("with %s", (_, sent, facts) => {
    expect(verdictOf(sent, facts)).toBe("created");
  });

  test("not after an end that is due, or that a clock ahead has passed", () => {
    const overdue = factsWith({ endDate: civilDate("2026-05-09") });
    expect(verdictOf({ timestamp: "2026-05-08T12:00:00Z" }, overdue)).toBe(
      "after_subscription_end",
    );
    const tomorrow = {
      ...factsWith({ endDate: civilDate("2026-05-11") }),
      now: at("2026-05-10T11:59:30Z"),
    };
    expect(verdictOf({ timestamp: "2026-05-10T12:00:10Z" }, tomorrow)).toBe(
      "after_subscription_end",
    );
    expect(verdictOf({ timestamp: "2026-05-10T11:59:59Z" }, tomorrow)).toBe("created");
  });

  test.each<[string, string, number, number]>([
    ["the current period", "2026-05-05T00:00:00Z", 2, 5],
    ["the period before", "2026-04-05T00:00:00Z", 1, 5],
    ["the first period", "2026-03-05T00:00:00Z", 0, 5],
  ])("of %s onto the bill of the current one", (_, timestamp, periodIndex, bill) => {
    expect(evaluateUsage(report({ timestamp }), factsWith()).event).toMatchObject({
      periodIndex,
      bill,
    });
  });

  test("of periods whose renewal is due onto the bills that they will have", () => {
    const behind = factsWith({ currentPeriod: 0, usageBill: 3 });
    const bills = ["2026-03-05", "2026-04-05", "2026-05-05"].map(
      (day) => evaluateUsage(report({ timestamp: `${day}T00:00:00Z` }), behind).event,
    );
    expect(bills).toMatchObject([
      { periodIndex: 0, bill: 3 },
      { periodIndex: 1, bill: 4 },
      { periodIndex: 2, bill: 5 },
    ]);
  });
});

describe("of several events with one id", () => {
  /** The result of each event, if `stored` existed before and all storable events were stored. */
  function resultsOf(
    sent: readonly Sent[],
    stored: Readonly<Record<string, Sent>> = {},
    facts = factsWith(),
  ): string[] {
    const evaluated = sent.map((one) => evaluateUsage(report(one), facts));
    const standing = new Map<string, UsageDetails>();
    for (const [eventId, one] of Object.entries(stored))
      standing.set(eventId, evaluateUsage(report(one), factsWith()).details);
    const created = eventsToStore(evaluated)
      .map(({ eventId }) => eventId)
      .filter((eventId) => !standing.has(eventId));
    const verdicts = describeVerdict(evaluated, new Set(created), standing);
    expect(verdicts.filter(({ status }) => status === "created")).toHaveLength(created.length);
    return verdicts.map((verdict) =>
      verdict.status === "rejected" ? verdict.code : verdict.status,
    );
  }

  test("in one batch the first counts, and the others are held against it", () => {
    expect(resultsOf([{}, {}, { quantity: "2" }, { eventId: "f" }])).toEqual([
      "created",
      "duplicate",
      "event_id_conflict",
      "created",
    ]);
  });

  test("a rejected one does not use up the id", () => {
    const future = { timestamp: "2027-01-01T00:00:00Z" };
    expect(resultsOf([future, {}, {}, future])).toEqual([
      "timestamp_in_future",
      "created",
      "duplicate",
      "event_id_conflict",
    ]);
    expect(resultsOf([future, future])).toEqual(["timestamp_in_future", "timestamp_in_future"]);
  });

  test("stored events are compared before the state, so that a resend is no rejection", () => {
    const gone = {
      ...factsWith(
        { status: "ended", endedAt: at("2026-03-02T00:00:00Z") },
        { status: "inactive" },
      ),
    };
    expect(resultsOf([{}, { quantity: "2" }, { eventId: "f" }], { e: {} }, gone)).toEqual([
      "duplicate",
      "event_id_conflict",
      "meter_inactive",
    ]);
    expect(resultsOf([{ subscription: "none" }], { e: {} })).toEqual(["event_id_conflict"]);
  });

  test("the same details are the same however they are written", () => {
    const same: Sent[] = [
      { quantity: "1.0000" },
      { timestamp: "2026-05-05T12:00:00+12:00" },
      { timestamp: "2026-05-05T00:00:00.0000009Z" },
      { meter: { by: "id", value: meterId } },
      { subscription: id.toUpperCase() },
    ];
    expect(resultsOf(same, { e: {} })).toEqual(same.map(() => "duplicate"));
  });

  test("each other detail is a conflict, and the message names it", () => {
    const others: [string, Sent][] = [
      ["subscription", { subscription: "none" }],
      ["meter", { meter: { by: "code", value: "other" } }],
      ["quantity", { quantity: "1.0001" }],
      ["timestamp", { timestamp: "2026-05-05T00:00:00.000001Z" }],
      ["quantity, timestamp", { quantity: "2", timestamp: "2026-05-05T00:00:01Z" }],
    ];
    const stored = new Map([["e", evaluateUsage(report(), factsWith()).details]]);
    for (const [named, sent] of others) {
      const [verdict] = describeVerdict(
        [evaluateUsage(report(sent), factsWith())],
        new Set(),
        stored,
      );
      const message = `An event with this id is stored with another ${named}.`;
      expect(verdict).toEqual({ status: "rejected", code: "event_id_conflict", message });
    }
  });

  test("an event that is neither stored now nor found is no verdict", () => {
    expect(() =>
      describeVerdict([evaluateUsage(report(), factsWith())], new Set(), new Map()),
    ).toThrow(/neither stored nor found/);
  });
});

test("late usage of one that is over is due when the next day begins in its zone", () => {
  expect(
    (["pending", "active", "complete", "ended"] as const).map((status) => isOver({ status })),
  ).toEqual([false, false, true, true]);
  const due = (instant: string) => formatInstant(lateUsageDueAt(subscription, new Date(instant)));
  expect(due("2026-05-10T11:59:59Z")).toBe("2026-05-10T12:00:00.000000Z");
  expect(due("2026-05-10T12:00:00Z")).toBe("2026-05-11T12:00:00.000000Z");
});
