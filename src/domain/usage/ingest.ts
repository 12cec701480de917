/**
 * Usage ingestion: which events are accepted, on which bill, and the result of each. A batch is
 * evaluated as if its events came one after the other (USAGE-2, USAGE-7).
 */
import { assert } from "../assert.ts";
import { addDays, type CivilDate, todayIn } from "../calendar/civil-date.ts";
import type { Meter } from "../catalogue/meter.ts";
import type { SubscriptionStatus } from "../model/subscription.ts";
import { formatInstant, type Instant, instantOf, type Quantity } from "./parse.ts";
import { dayStart, type PeriodTerms, periodOf } from "./period.ts";

/**
 * An event as reported, in valid form. `subscription` and `meter.value` are what the client sent.
 */
export interface ReportedUsage {
  readonly eventId: string;
  readonly subscription: string;
  readonly meter: { readonly by: "id" | "code"; readonly value: string };
  readonly quantity: Quantity;
  readonly occurredAt: Instant;
}

/**
 * The details of an event. Two reports of one id are equal if all four are equal (USAGE-4). An id
 * that names nothing is null.
 */
export interface UsageDetails {
  readonly subscriptionId: string | null;
  readonly meterId: string | null;
  readonly quantity: Quantity;
  readonly occurredAt: Instant;
}

/** A stored event. Of a `dropped` one only its id is known (USAGE-18). */
export type StoredUsage = UsageDetails | "dropped";

/**
 * An event to store. `periodIndex` is the period of its timestamp. `bill` is the bill that takes
 * it, for ever.
 */
export interface UsageEvent extends UsageDetails {
  readonly eventId: string;
  readonly subscriptionId: string;
  readonly meterId: string;
  readonly periodIndex: number;
  readonly bill: number;
}

/**
 * The part of a subscription that its usage is evaluated by. `usageBill` is the bill of
 * `currentPeriod`. `endedAt` is set if it is ended. `runningEndDate` is the renewal date while an
 * end runs, not later than the end's start.
 */
export interface ReportableSubscription extends PeriodTerms {
  readonly id: string;
  readonly planId: string;
  readonly status: SubscriptionStatus;
  readonly endDate: CivilDate | null;
  readonly endedAt: Instant | null;
  readonly runningEndDate: CivilDate | null;
  readonly currentPeriod: number;
  readonly usageBill: number;
}

/**
 * The part of a meter that events are evaluated by. `plans` are the ids of the plans that have it.
 */
export interface ReportableMeter extends Pick<Meter, "id" | "code" | "status"> {
  readonly plans: ReadonlySet<string>;
}

/**
 * The facts of a batch: the subscriptions and meters that its events may name, by lower-case id and
 * by code. `now` is the organisation's time (USAGE-6).
 */
export interface UsageFacts {
  readonly subscriptions: ReadonlyMap<string, ReportableSubscription>;
  readonly metersById: ReadonlyMap<string, ReportableMeter>;
  readonly metersByCode: ReadonlyMap<string, ReportableMeter>;
  readonly now: Instant;
}

/** Why a well-formed event is not stored (USAGE-5). */
export type UsageRejection =
  | "subscription_not_found"
  | "meter_not_found"
  | "meter_inactive"
  | "meter_not_on_plan"
  | "timestamp_in_future"
  | "before_subscription_start"
  | "after_subscription_end"
  | "event_id_conflict";

/** The result of an event. `message` describes a rejection. */
export type UsageVerdict =
  | { readonly status: "created" | "duplicate" }
  | { readonly status: "rejected"; readonly code: UsageRejection; readonly message: string };

/**
 * An event evaluated against the state alone: to be stored, or the rejection that applies if
 * nothing is stored under its id.
 */
export type EvaluatedUsage =
  | {
      readonly eventId: string;
      readonly details: UsageDetails;
      readonly event: UsageEvent;
      readonly rejection: null;
    }
  | {
      readonly eventId: string;
      readonly details: UsageDetails;
      readonly event: null;
      readonly rejection: UsageVerdict;
    };

/** The clock skew that is not "in the future": 60 seconds, in microseconds (USAGE-6). */
const toleratedSkew = 60_000_000n;

/** The index of the latest period that usage can be of at this instant; -1 before the first. */
export function latestPeriod(terms: PeriodTerms, now: Date): number {
  return periodOf(terms, instantOf(now) + toleratedSkew)?.index ?? -1;
}

/**
 * Evaluates an event against the state: subscription, meter, times, in the order of USAGE-5. Stored
 * events are not read.
 */
export function evaluateUsage(reported: ReportedUsage, facts: UsageFacts): EvaluatedUsage {
  const { eventId, quantity, occurredAt } = reported;
  const subscription = facts.subscriptions.get(reported.subscription.toLowerCase());
  const { by, value } = reported.meter;
  const meter =
    by === "id" ? facts.metersById.get(value.toLowerCase()) : facts.metersByCode.get(value);
  const details = {
    subscriptionId: subscription?.id ?? null,
    meterId: meter?.id ?? null,
    quantity,
    occurredAt,
  };
  const rejected = (code: UsageRejection, message: string): EvaluatedUsage => {
    return { eventId, details, event: null, rejection: { status: "rejected", code, message } };
  };
  if (subscription === undefined)
    return rejected(
      "subscription_not_found",
      `There is no subscription with the id ${reported.subscription}.`,
    );
  if (meter === undefined)
    return rejected("meter_not_found", `There is no meter with the ${by} ${value}.`);
  if (meter.status !== "active")
    return rejected("meter_inactive", `The meter ${meter.code} is inactive and takes no events.`);
  if (!meter.plans.has(subscription.planId))
    return rejected(
      "meter_not_on_plan",
      `The subscription's plan does not have the meter ${meter.code}.`,
    );
  if (occurredAt > facts.now + toleratedSkew)
    return rejected(
      "timestamp_in_future",
      `The timestamp lies in the future: it is ${formatInstant(facts.now)}.`,
    );
  const period = periodOf(subscription, occurredAt);
  if (period === null)
    return rejected(
      "before_subscription_start",
      `The subscription starts on ${startOf(subscription)}.`,
    );
  const end = endOf(subscription);
  if (end !== null && occurredAt >= end)
    return rejected(
      "after_subscription_end",
      `The subscription ${endWord(subscription)} ${formatInstant(end)}.`,
    );
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
 * Returns the events of a batch to store if their ids are free: the first of each id that the state
 * accepts. A rejected event does not use up its id (USAGE-7).
 */
export function eventsToStore(evaluated: readonly EvaluatedUsage[]): readonly UsageEvent[] {
  const first = new Map<string, UsageEvent>();
  for (const { eventId, event } of evaluated) {
    if (event !== null && !first.has(eventId)) first.set(eventId, event);
  }
  return [...first.values()];
}

/**
 * Returns the result of each event, in order. `stored` are the events under these ids without this
 * batch. They are evaluated first, so that a resend never turns into a rejection (USAGE-3). Asserts
 * that each event to store is either `created` now or `stored` before.
 */
export function describeVerdict(
  evaluated: readonly EvaluatedUsage[],
  created: ReadonlySet<string>,
  stored: ReadonlyMap<string, StoredUsage>,
): readonly UsageVerdict[] {
  const standing = new Map<string, StoredUsage>(stored);
  return evaluated.map(({ eventId, details, event, rejection }) => {
    const known = standing.get(eventId);
    if (known !== undefined) return holdAgainst(known, details);
    if (rejection !== null) return rejection;
    assert(created.has(eventId), `the event ${eventId} is neither stored nor found`);
    standing.set(eventId, event);
    return { status: "created" };
  });
}

/**
 * Returns when late usage of a subscription that is over is billed. It is the beginning of the next
 * day in its zone, for everything reported until then.
 */
export function lateUsageDueAt(
  { timezone }: Pick<ReportableSubscription, "timezone">,
  now: Date,
): Instant {
  return dayStart(timezone, addDays(todayIn(timezone, now), 1));
}

function holdAgainst(known: StoredUsage, sent: UsageDetails): UsageVerdict {
  if (known === "dropped") return { status: "duplicate" };
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
 * Returns the end of a subscription that has one. It is the instant at which it was ended, else the
 * beginning of its end date, also if its completion is still to be performed. While an end runs, it
 * is now or later, at the latest the end of the period (USAGE-12, END-9).
 */
function endOf({
  status,
  endedAt,
  endDate,
  runningEndDate,
  timezone,
}: ReportableSubscription): Instant | null {
  if (status === "ended") return endedAt;
  const date = runningEndDate ?? endDate;
  return date === null ? null : dayStart(timezone, date);
}

function endWord({ runningEndDate }: ReportableSubscription): string {
  return runningEndDate === null ? "ended at" : "is being ended, at the latest at";
}
