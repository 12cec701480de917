/**
 * Stores batches of usage events of several organisations by one statement. They are evaluated by
 * the facts that this process remembers. The database compares these under its locks, and stores an
 * organisation's batch only if they are still true (USAGE-11).
 */
import { describeVerdict } from "../../domain/usage/ingest.ts";
import { bucketsOf, usageLockClass } from "../billing/usage-locks.ts";
import { callFunction } from "../database/functions.ts";
import { type Pool, repeatBrokenOff } from "../database/pool.ts";
import { inTransactionSpan } from "../database/trace-context.ts";
import {
  countLate,
  type EvaluatedBatch,
  evaluateBatch,
  type StoredBatch,
  type UsageBatch,
} from "./batch.ts";
import { eventColumns, idsToFind, loadStored, plainArray } from "./event-rows.ts";
import type { FactsCache } from "./facts-cache.ts";
import { loadFacts, type MeterCatalogue, type ReportableFacts } from "./ingest-facts.ts";

/** What a process remembers of organisations, and of ids that were stored before. */
export interface Remembered {
  readonly catalogue: MeterCatalogue;
  readonly facts: FactsCache;
  readonly resends: Resends;
}

/** How many more statements expect that some ids are stored. */
export interface Resends {
  expected: number;
}

/**
 * After a statement with stored ids so many more expect some. A statement that expects none and
 * finds one has inserted in vain.
 */
const expectedResends = 100;

/**
 * How batches are stored. `waits` for locks: only one batch alone does, so that no organisation
 * waits for another one's bill. `isFresh` reads the facts again.
 */
interface Manner {
  readonly waits: boolean;
  readonly isFresh: boolean;
}

/** A batch with the facts that it was evaluated by. */
interface Part extends EvaluatedBatch {
  readonly batch: UsageBatch;
  readonly facts: ReportableFacts;
}

/**
 * Stores batches, each of another organisation. A batch's result is null, with nothing of it
 * stored, if its facts have changed, its locks are taken, or it needs row locks for late usage.
 */
export async function storeAtOnce(
  pool: Pool,
  remembered: Remembered,
  batches: readonly UsageBatch[],
  manner: Manner,
): Promise<readonly (StoredBatch | null)[]> {
  const evaluated = await Promise.all(
    batches.map((batch) => evaluate(pool, remembered, batch, manner)),
  );
  const parts = evaluated.filter((part) => part !== null);
  if (parts.length === 0) return batches.map(() => null);
  const { resends } = remembered;
  const outcome = await store(pool, parts, { ...manner, allNew: resends.expected === 0 });
  const isResent = outcome.created !== null && outcome.refused === null;
  resends.expected = isResent ? expectedResends : Math.max(0, resends.expected - 1);
  return Promise.all(
    evaluated.map(async (part) => {
      const place = part === null ? 0 : parts.indexOf(part) + 1;
      if (part === null || outcome.refused?.includes(place)) return null;
      return describe(pool, part, createdOf(part, place, outcome));
    }),
  );
}

async function evaluate(
  pool: Pool,
  { facts: cache, catalogue }: Remembered,
  batch: UsageBatch,
  { isFresh }: Manner,
): Promise<Part | null> {
  const { organisationId, subscriptionIds } = batch;
  let facts = isFresh ? null : cache.find(organisationId, subscriptionIds);
  if (facts === null) {
    facts = await loadFacts(pool, organisationId, subscriptionIds);
    cache.remember(organisationId, facts);
  }
  const evaluated = await evaluateBatch(pool, catalogue, batch, facts);
  return evaluated.lateSubscriptions.length > 0 ? null : { batch, facts, ...evaluated };
}

/**
 * The result of the statement: the places from one on of the parts that are not stored, and the ids
 * that were free with the places of theirs, null if all were.
 */
interface Outcome {
  readonly refused: readonly number[] | null;
  readonly created_for: readonly number[] | null;
  readonly created: readonly string[] | null;
}

function store(
  pool: Pool,
  parts: readonly Part[],
  { waits, allNew }: Manner & { readonly allNew: boolean },
): Promise<Outcome> {
  const values = [
    usageLockClass,
    waits,
    allNew,
    plainArray(parts.map(({ batch }) => batch.organisationId)),
    plainArray(parts.map(({ facts }) => facts.catalogueVersion)),
    plainArray(parts.map(({ batch }) => `"${batch.now.toISOString()}"`)),
    ...bucketColumns(parts),
    ...factsAndEvents(parts),
  ];
  const call = () =>
    callFunction<Outcome & Record<string, unknown>>(pool, "store_usage_reports", ...values);
  // The statement is a transaction by itself.
  return repeatBrokenOff(() => inTransactionSpan("", call));
}

function bucketColumns(parts: readonly Part[]): readonly string[] {
  const [buckets, places]: [number[], number[]] = [[], []];
  for (const [index, { batch }] of parts.entries()) {
    for (const bucket of bucketsOf(batch.subscriptionIds)) {
      buckets.push(bucket);
      places.push(index + 1);
    }
  }
  return [plainArray(buckets), plainArray(places)];
}

/**
 * The subscriptions that the parts were evaluated by, the ids that named none, and the events with
 * the places of their subscriptions and meters.
 */
function factsAndEvents(parts: readonly Part[]): readonly string[] {
  const [ids, places, versions]: [string[], number[], string[]] = [[], [], []];
  const [isEndRunning, absent, absentPlaces]: [string[], string[], number[]] = [[], [], []];
  const [placeOf, meterPlaces] = [new Map<string, number>(), new Map<string, number>()];
  const [subscriptionsOf, metersOf]: [number[], number[]] = [[], []];
  for (const [index, { batch, facts, events }] of parts.entries()) {
    for (const id of batch.subscriptionIds) {
      const subscription = facts.subscriptions.get(id);
      (subscription === undefined ? absent : ids).push(id);
      (subscription === undefined ? absentPlaces : places).push(index + 1);
      if (subscription === undefined) continue;
      versions.push(subscription.version);
      isEndRunning.push(subscription.runningEndDate === null ? "f" : "t");
      placeOf.set(id, ids.length);
    }
    for (const { subscriptionId, meterId } of events) {
      subscriptionsOf.push(placeOf.get(subscriptionId) ?? 0);
      if (!meterPlaces.has(meterId)) meterPlaces.set(meterId, meterPlaces.size + 1);
      metersOf.push(meterPlaces.get(meterId) ?? 0);
    }
  }
  const facts = [
    ids,
    places,
    versions,
    isEndRunning,
    absent,
    absentPlaces,
    [...meterPlaces.keys()],
  ];
  const [eventIds, ...details] = eventColumns(parts.flatMap(({ events }) => events));
  const columns = [plainArray(subscriptionsOf), plainArray(metersOf), ...details];
  return [...facts.map(plainArray), eventIds ?? "{}", ...columns];
}

function createdOf({ events }: Part, place: number, outcome: Outcome): ReadonlySet<string> {
  const { created, created_for: places } = outcome;
  if (created === null) return new Set(events.map(({ eventId }) => eventId));
  return new Set(created.filter((_, index) => places?.[index] === place));
}

async function describe(
  pool: Pool,
  { batch, facts, evaluated, events }: Part,
  created: ReadonlySet<string>,
): Promise<StoredBatch> {
  // A separate statement: the first would miss events that another stored meanwhile.
  const found = await loadStored(pool, batch.organisationId, idsToFind(evaluated, created));
  const createdEvents =
    created.size === events.length ? events : events.filter(({ eventId }) => created.has(eventId));
  const verdicts = describeVerdict(evaluated, created, found);
  return { verdicts, late: countLate(createdEvents, facts) };
}
