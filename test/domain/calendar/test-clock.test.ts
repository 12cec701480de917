/**
 * How far a sandbox's clock may be advanced: forward, from now or its own time, five years at
 * most, one advance at a time.
 */
import { describe, expect, test } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import {
  type ClockFacts,
  type ClockRequest,
  decideAdvance,
} from "../../../src/domain/calendar/test-clock.ts";
import { Refusal } from "../../../src/domain/refusal.ts";

const paris: ClockFacts = {
  livemode: false,
  timezone: "Europe/Paris",
  now: new Date("2026-01-31T09:30:00.250Z"),
  target: null,
};

const to = (instant: string): ClockRequest => ({ kind: "to", to: new Date(instant) });

/** The target of an advance that is accepted. */
function target(facts: ClockFacts, request: ClockRequest): string {
  const decision = decideAdvance(facts, request);
  return decision.kind === "advances" ? decision.target.toISOString() : decision.kind;
}

/** Code, param and message of one that is refused. */
function refusal(facts: ClockFacts, request: ClockRequest): string {
  try {
    return decideAdvance(facts, request).kind;
  } catch (error) {
    if (error instanceof Refusal) return `${error.code} ${error.param}: ${error.message}`;
    throw error;
  }
}

describe("an advance", () => {
  test("goes to an instant, or to the beginning of a day in the organisation's zone", () => {
    expect(target(paris, to("2026-02-01T00:00:00Z"))).toBe("2026-02-01T00:00:00.000Z");
    expect(target(paris, { kind: "to", to: civilDate("2026-07-01") })).toBe(
      "2026-06-30T22:00:00.000Z",
    );
  });

  test("by days and months keeps the time of day, also into a shorter month", () => {
    expect(target(paris, { kind: "days", count: 1 })).toBe("2026-02-01T09:30:00.250Z");
    expect(target(paris, { kind: "days", count: 90 })).toBe("2026-05-01T08:30:00.250Z");
    expect(target(paris, { kind: "months", count: 1 })).toBe("2026-02-28T09:30:00.250Z");
    expect(target(paris, { kind: "months", count: 2 })).toBe("2026-03-31T08:30:00.250Z");
    expect(target(paris, { kind: "months", count: 25 })).toBe("2028-02-29T09:30:00.250Z");
  });

  test("to the clock's own time does nothing", () => {
    expect(target(paris, to("2026-01-31T09:30:00.250Z"))).toBe("stands");
  });

  test("goes forward only", () => {
    expect(refusal(paris, to("2026-01-31T09:30:00.249Z"))).toMatch(
      /^invalid_parameter to: .*2026-01-31T09:30:00.250Z/,
    );
    expect(refusal(paris, { kind: "to", to: civilDate("2026-01-31") })).toMatch(
      /^invalid_parameter to/,
    );
  });

  test("goes five years at most at once", () => {
    expect(target(paris, { kind: "months", count: 60 })).toBe("2031-01-31T09:30:00.250Z");
    expect(target(paris, to("2031-01-31T09:30:00.250Z"))).toBe("2031-01-31T09:30:00.250Z");
    expect(refusal(paris, to("2031-01-31T09:30:00.251Z"))).toMatch(
      /^invalid_parameter to: .*five years/,
    );
    expect(refusal(paris, { kind: "days", count: 1827 })).toMatch(
      /^invalid_parameter days: .*five years/,
    );
    expect(refusal(paris, to("9999-12-31T23:59:59Z"))).toMatch(
      /^invalid_parameter to: .*five years/,
    );
  });

  test("of a live organisation is refused", () => {
    expect(refusal({ ...paris, livemode: true }, to("2026-02-01T00:00:00Z"))).toMatch(
      /^invalid_state null: .*sandbox/,
    );
  });

  test("joins one that goes to the same instant, and is refused while one goes to another", () => {
    const running = { ...paris, target: new Date("2026-03-01T00:00:00Z") };
    expect(target(running, to("2026-03-01T00:00:00Z"))).toBe("joins");
    const midnight = { ...paris, target: new Date("2026-02-28T23:00:00Z") };
    expect(target(midnight, { kind: "to", to: civilDate("2026-03-01") })).toBe("joins");
    for (const request of [
      to("2026-03-01T00:00:00.001Z"),
      to("2020-01-01T00:00:00Z"),
      { kind: "months", count: 1 },
    ]) {
      expect(refusal(running, request as ClockRequest)).toMatch(
        /^invalid_state null: .*2026-03-01T00:00:00.000Z/,
      );
    }
  });
});
