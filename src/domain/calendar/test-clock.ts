/**
 * The test clock of a sandbox: how far an advance goes, and which advances are refused. It only
 * goes forward (CLOCK-1).
 */

import { Refusal } from "../refusal.ts";
import { addDays, addMonths, type CivilDate, startOfDay, todayIn } from "./civil-date.ts";

/**
 * The facts of an advance. `now` is the clock's time. `target` is the target of a running advance,
 * null if none runs.
 */
export interface ClockFacts {
  readonly livemode: boolean;
  readonly timezone: string;
  readonly now: Date;
  readonly target: Date | null;
}

/**
 * The requested target: an instant, the beginning of a day in the organisation's zone, or a number
 * of days or months.
 */
export type ClockRequest =
  | { readonly kind: "to"; readonly to: Date | CivilDate }
  | { readonly kind: "days" | "months"; readonly count: number };

/**
 * `advances`: the clock goes to the target. `stands`: it is there. `joins`: it is on its way there.
 */
type ClockDecision =
  | { readonly kind: "advances"; readonly target: Date }
  | { readonly kind: "stands" | "joins" };

/**
 * The instant of a request that came at `now`: the later of it and of the sandbox's clock, which
 * may have moved since. A live organisation has no clock (CLOCK-1).
 */
export function laterOfClock(now: Date, testClock: Date | null): Date {
  return testClock !== null && testClock > now ? testClock : now;
}

/** The most months of one advance: sixty renewals of every subscription take minutes, not hours. */
const maxMonths = 60;

/**
 * Decides an advance. Refuses `invalid_state` if the organisation is live or its clock is on its
 * way to another instant. Refuses `invalid_parameter` if the target is past or more than five years
 * ahead.
 */
export function decideAdvance(facts: ClockFacts, request: ClockRequest): ClockDecision {
  requireSandbox(facts);
  const target = targetOf(facts, request);
  if (facts.target !== null) {
    if (facts.target.getTime() === target.getTime()) return { kind: "joins" };
    const there = facts.target.toISOString();
    throw new Refusal(
      "invalid_state",
      `The clock is advancing to ${there}; it can be advanced again once it is there.`,
    );
  }
  const { now, timezone } = facts;
  if (target.getTime() === now.getTime()) return { kind: "stands" };
  if (target < now) {
    throw new Refusal(
      "invalid_parameter",
      `The clock shows ${now.toISOString()}; it only goes forward.`,
      request.kind,
    );
  }
  const last = later(timezone, now, (date) => addMonths(date, maxMonths));
  if (target > last) {
    throw new Refusal(
      "invalid_parameter",
      `The clock goes on by five years at most at once, which is ${last.toISOString()}.`,
      request.kind,
    );
  }
  return { kind: "advances", target };
}

/** Refuses `invalid_state` if the organisation is live. */
export function requireSandbox({ livemode }: Pick<ClockFacts, "livemode">): void {
  if (livemode)
    throw new Refusal(
      "invalid_state",
      "The organisation is live: only a sandbox has a test clock.",
    );
}

function targetOf({ timezone, now }: ClockFacts, request: ClockRequest): Date {
  switch (request.kind) {
    case "to":
      return typeof request.to === "string" ? startOfDay(timezone, request.to) : request.to;
    case "days":
      return later(timezone, now, (date) => addDays(date, request.count));
    case "months":
      return later(timezone, now, (date) => addMonths(date, request.count));
  }
}

/** Returns the same time of day on a later day. */
function later(timezone: string, now: Date, dayAfter: (date: CivilDate) => CivilDate): Date {
  const today = todayIn(timezone, now);
  const sinceBegin = now.getTime() - startOfDay(timezone, today).getTime();
  return new Date(startOfDay(timezone, dayAfter(today)).getTime() + sinceBegin);
}
