/**
 * The test clock of a sandbox: how far an advance of it goes, and what is refused. It only ever goes forward.
 * Spec: Authentication, 6; decisions §4 "Sandbox".
 */

import { Refusal } from "../refusal.ts";
import { addDays, addMonths, type CivilDate, startOfDay, todayIn } from "./civil-date.ts";

/**
 * What an advance is judged by. `now` is what the clock shows; `target` where it is going already, null while it
 * stands.
 */
export interface ClockFacts {
  readonly livemode: boolean;
  readonly timezone: string;
  readonly now: Date;
  readonly target: Date | null;
}

/**
 * How far to go: to an instant, to the beginning of a day in the organisation's zone, or on by so many days or months.
 */
export type ClockRequest =
  | { readonly kind: "to"; readonly to: Date | CivilDate }
  | { readonly kind: "days" | "months"; readonly count: number };

/** `advances` to the target. `stands`: the clock is there. `joins`: it is on its way there. */
export type ClockDecision =
  | { readonly kind: "advances"; readonly target: Date }
  | { readonly kind: "stands" | "joins" };

/**
 * One advance goes over at most so many months: sixty renewals of every subscription are minutes of work, not hours.
 */
const longestMonths = 60;

/**
 * Decides an advance. Refuses `invalid_state` where the organisation is live or its clock is on its way to another
 * instant, and `invalid_parameter` a target in the past or more than five years ahead.
 */
export function decideAdvance(facts: ClockFacts, request: ClockRequest): ClockDecision {
  requireSandbox(facts);
  const target = targetOf(facts, request);
  if (facts.target !== null) {
    if (facts.target.getTime() === target.getTime()) return { kind: "joins" };
    const there = facts.target.toISOString();
    const message = `The clock is advancing to ${there}; it can be advanced again once it is there.`;
    throw new Refusal("invalid_state", message);
  }
  const { now, timezone } = facts;
  if (target.getTime() === now.getTime()) return { kind: "stands" };
  if (target < now) {
    throw new Refusal("invalid_parameter", `The clock shows ${now.toISOString()}; it only goes forward.`, request.kind);
  }
  const last = later(timezone, now, (date) => addMonths(date, longestMonths));
  if (target > last) {
    const message = `The clock goes on by five years at most at once, which is ${last.toISOString()}.`;
    throw new Refusal("invalid_parameter", message, request.kind);
  }
  return { kind: "advances", target };
}

/** Refuses `invalid_state` a live organisation. */
export function requireSandbox({ livemode }: Pick<ClockFacts, "livemode">): void {
  if (livemode) throw new Refusal("invalid_state", "The organisation is live: only a sandbox has a test clock.");
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

/** The same time after the beginning of a later day. */
function later(timezone: string, now: Date, dayAfter: (date: CivilDate) => CivilDate): Date {
  const today = todayIn(timezone, now);
  const sinceBegin = now.getTime() - startOfDay(timezone, today).getTime();
  return new Date(startOfDay(timezone, dayAfter(today)).getTime() + sinceBegin);
}
