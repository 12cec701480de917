/**
 * Usage events: which are taken, on which bill, and what is told of each. A batch is judged as if its events came one after the other.
 * Spec: POST /v1/usage_events; decisions §3 "Usage".
 */
import { strict as assert } from "node:assert";
import { addDays, type CivilDate, todayIn } from "../calendar/civil-date.ts";
import type { Meter } from "../catalogue/meter.ts";
import type { SubscriptionStatus } from "../subscriptions/subscription.ts";
import { formatInstant, type Instant, type Quantity } from "./parse.ts";
import { dayStart, type PeriodTerms, periodOf } from "./period.ts";

/** An event as it was reported, its form found good. `subscription` and `meter.value` are what the client sent. */
export interface ReportedUsage {
  readonly eventId: string;
  readonly subscription: string;
  readonly meter: { readonly by: "id" | "code"; readonly value: string };
  readonly quantity: Quantity;
  readonly occurredAt: Instant;
}

/** What an event says. Two reports of one id say the same where all four are equal; an id that names nothing is null. */
export interface UsageDetails {
  readonly subscriptionId: string | null;
  readonly meterId: string | null;
  readonly quantity: Quantity;
  readonly occurredAt: Instant;
}

/** An event to store: `periodIndex` is the period that it happened in, `bill` the one that takes it, for ever. */
export interface UsageEvent extends UsageDetails {
  readonly eventId: string;
  readonly subscriptionId: string;
  readonly meterId: string;
  readonly periodIndex: number;
  readonly bill: number;
}

/**
 * Of a subscription what its usage is judged by. `usageBill` is the bill of `currentPeriod`; `endedAt` is set of an ended one; `endingOn` is
 * the renewal date while an end is under way, which is not later than its beginning.
 */
export interface ReportableSubscription extends PeriodTerms {
  readonly id: string;
  readonly planId: string;
  readonly status: SubscriptionStatus;
  readonly endDate: CivilDate | null;
  readonly endedAt: Instant | null;
  readonly endingOn: CivilDate | null;
  readonly currentPeriod: number;
  readonly usageBill: number;
}

/** A meter as far as events are judged by it; `plans` are the ids of those that have it. */
export interface ReportableMeter extends Pick<Meter, "id" | "code" | "status"> {
  readonly plans: ReadonlySet<string>;
}

/** The facts of a batch: the subscriptions and meters that its events may name, by lower-case id and by code; `now` is the organisation's. */
export interface UsageFacts {
  readonly subscriptions: ReadonlyMap<string, ReportableSubscription>;
  readonly metersById: ReadonlyMap<string, ReportableMeter>;
  readonly metersByCode: ReadonlyMap<string, ReportableMeter>;
  readonly now: Instant;
}

/** Why a well-formed event is not stored. Spec: POST /v1/usage_events. */
export type UsageRejection =
  | "subscription_not_found"
  | "meter_not_found"
  | "meter_inactive"
  | "meter_not_on_plan"
  | "timestamp_in_future"
  | "before_subscription_start"
  | "after_subscription_end"
  | "event_id_conflict";

/** What became of an event; `message` says the rejection in words. */
export type UsageVerdict =
  | { readonly status: "created" | "duplicate" }
  | { readonly status: "rejected"; readonly code: UsageRejection; readonly message: string };

/** An event held against the state alone: to be stored, or the rejection where nothing is stored under its id. */
export type EvaluatedUsage =
  | { readonly eventId: string; readonly details: UsageDetails; readonly event: UsageEvent; readonly rejection: null }
  | {
      readonly eventId: string;
      readonly details: UsageDetails;
      readonly event: null;
      readonly rejection: UsageVerdict;
    };

/** A clock that far ahead is not "in the future". decisions §3 "Usage". */
const toleratedSkew = 60_000_000n;

/** Holds an event against the state: subscription, meter, times, in the specification's order. What is stored is not looked at. */
export function evaluateUsage(reported: ReportedUsage, facts: UsageFacts): EvaluatedUsage {
  const { eventId, quantity, occurredAt } = reported;
  const subscription = facts.subscriptions.get(reported.subscription.toLowerCase());
  const { by, value } = reported.meter;
  const meter = by === "id" ? facts.metersById.get(value.toLowerCase()) : facts.metersByCode.get(value);
  const details = { subscriptionId: subscription?.id ?? null, meterId: meter?.id ?? null, quantity, occurredAt };
  const rejected = (code: UsageRejection, message: string): EvaluatedUsage => {
    return { eventId, details, event: null, rejection: { status: "rejected", code, message } };
  };
  if (subscription === undefined)
    return rejected("subscription_not_found", `There is no subscription with the id ${reported.subscription}.`);
  if (meter === undefined) return rejected("meter_not_found", `There is no meter with the ${by} ${value}.`);
  if (meter.status !== "active")
    return rejected("meter_inactive", `The meter ${meter.code} is inactive and takes no events.`);
  if (!meter.plans.has(subscription.planId))
    return rejected("meter_not_on_plan", `The subscription's plan does not have the meter ${meter.code}.`);
  if (occurredAt > facts.now + toleratedSkew)
    return rejected("timestamp_in_future", `The timestamp lies in the future: it is ${formatInstant(facts.now)}.`);
  const period = periodOf(subscription, occurredAt);
  if (period === null)
    return rejected("before_subscription_start", `The subscription starts on ${startOf(subscription)}.`);
  const end = endOf(subscription);
  if (end !== null && occurredAt >= end)
    return rejected("after_subscription_end", `The subscription ${endWord(subscription)} ${formatInstant(end)}.`);
  const periodIndex = period.index;
  const bill = subscription.usageBill + Math.max(0, periodIndex - subscription.currentPeriod);
  const event = {
    eventId,
    subscriptionId: subscription.id,
    meterId: meter.id,
    quantity,
    occurredAt,
    periodIndex,
    bill,
  };
  return { eventId, details, event, rejection: null };
}

/**
 * The events of a batch to store where their ids are free: the first of each id that the state lets pass, for a rejected one does not use
 * up its id.
 */
export function eventsToStore(judged: readonly EvaluatedUsage[]): readonly UsageEvent[] {
  const first = new Map<string, UsageEvent>();
  for (const { eventId, event } of judged) {
    if (event !== null && !first.has(eventId)) first.set(eventId, event);
  }
  return [...first.values()];
}

/**
 * What is told of each event, in order. `stored` is what stands under its ids without this batch: it is judged first, so that a resend
 * never turns into a rejection. Asserts that each event to store is either `created` now or `stored` before.
 */
export function describeVerdict(
  judged: readonly EvaluatedUsage[],
  created: ReadonlySet<string>,
  stored: ReadonlyMap<string, UsageDetails>,
): readonly UsageVerdict[] {
  const standing = new Map(stored);
  return judged.map(({ eventId, details, event, rejection }) => {
    const known = standing.get(eventId);
    if (known !== undefined) return holdAgainst(known, details);
    if (rejection !== null) return rejection;
    assert(created.has(eventId), `the event ${eventId} is neither stored nor found`);
    standing.set(eventId, event);
    return { status: "created" };
  });
}

/** Whether no bill of it is to come by itself any more: what is reported of it late is billed apart. decisions §6. */
export function isOver({ status }: Pick<ReportableSubscription, "status">): boolean {
  return status === "ended" || status === "complete";
}

/** When late usage of one that is over is billed: at the beginning of the next day in its zone, with all that comes until then. */
export function lateUsageDueAt({ timezone }: Pick<ReportableSubscription, "timezone">, now: Date): Instant {
  return dayStart(timezone, addDays(todayIn(timezone, now), 1));
}

function holdAgainst(known: UsageDetails, sent: UsageDetails): UsageVerdict {
  const differing = [
    known.subscriptionId === sent.subscriptionId ? [] : "subscription",
    known.meterId === sent.meterId ? [] : "meter",
    known.quantity === sent.quantity ? [] : "quantity",
    known.occurredAt === sent.occurredAt ? [] : "timestamp",
  ].flat();
  if (differing.length === 0) return { status: "duplicate" };
  const message = `An event with this id is stored with another ${differing.join(", ")}.`;
  return { status: "rejected", code: "event_id_conflict", message };
}

function startOf({ startDate, timezone }: ReportableSubscription): string {
  return `${startDate} in ${timezone}`;
}

/**
 * The end of one that has one: the instant at which it was ended; else the beginning of its end date, also while that is to come or its
 * completion is still to be performed. One whose end is under way ends when that is done: now or later, and at the latest when its period
 * does. decisions §3 "Usage", §4.
 */
function endOf({ status, endedAt, endDate, endingOn, timezone }: ReportableSubscription): Instant | null {
  if (status === "ended") return endedAt;
  const date = endingOn ?? endDate;
  return date === null ? null : dayStart(timezone, date);
}

function endWord({ endingOn }: ReportableSubscription): string {
  return endingOn === null ? "ended at" : "is being ended, at the latest at";
}
