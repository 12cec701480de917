/**
 * Stores a batch of usage events by one statement. The batch is evaluated by the facts that this
 * process remembers. The database compares them under its locks, and stores only if they are still
 * true. Otherwise nothing is stored, and the batch is evaluated again.
 */
import { describeVerdict, type UsageEvent } from "../../domain/usage/ingest.ts";
import { bucketsOf, usageLockClass } from "../billing/usage-locks.ts";
import { callFunction } from "../database/functions.ts";
import { type Pool, repeatBrokenOff } from "../database/pool.ts";
import { inTransactionSpan } from "../database/trace-context.ts";
import { countLate, evaluateBatch, type StoredBatch, type UsageBatch } from "./batch.ts";
import { eventColumns, idsToFind, loadStored, plainArray } from "./event-rows.ts";
import type { FactsCache } from "./facts-cache.ts";
import { loadFacts, type MeterCatalogue, type ReportableFacts, readFacts } from "./ingest-facts.ts";

/**
 * Attempts before the facts are read under the locks. The first finds out that they have changed,
 * the second stores. They change again in between only while many bills close.
 */
const mostAttempts = 2;

/** What a process remembers of organisations. */
export interface Remembered {
  readonly catalogue: MeterCatalogue;
  readonly facts: FactsCache;
}

/**
 * Stores the batch. Returns null, with nothing stored, if rows must be locked for late usage or the
 * facts change all the time: the batch then needs a transaction that locks first.
 */
export async function storeAtOnce(
  pool: Pool,
  remembered: Remembered,
  batch: UsageBatch,
): Promise<StoredBatch | null> {
  const { organisationId, subscriptionIds } = batch;
  let facts = remembered.facts.find(organisationId, subscriptionIds);
  if (facts === null) {
    facts = await loadFacts(pool, organisationId, subscriptionIds);
    remembered.facts.remember(organisationId, facts);
  }
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const { evaluated, events, lateSubscriptions } = await evaluateBatch(
      pool,
      remembered.catalogue,
      batch,
      facts,
    );
    if (lateSubscriptions.length > 0) return null;
    const outcome = await store(pool, batch, facts, events);
    if (outcome.facts === null) {
      const created = outcome.created === null ? events : createdOf(events, outcome.created);
      const createdIds = new Set(created.map(({ eventId }) => eventId));
      // A separate statement: the first would miss events that another stored meanwhile.
      const found = await loadStored(pool, organisationId, idsToFind(evaluated, createdIds));
      const verdicts = describeVerdict(evaluated, createdIds, found);
      return { verdicts, late: countLate(created, facts) };
    }
    facts = readFacts(organisationId, outcome.facts);
    remembered.facts.remember(organisationId, facts);
  }
  return null;
}

/** The result of the statement: the facts if they differ, and the ids that were free if not all. */
interface Outcome {
  readonly facts: string | null;
  readonly created: readonly string[] | null;
}

async function store(
  pool: Pool,
  { organisationId, subscriptionIds, now }: UsageBatch,
  facts: ReportableFacts,
  events: readonly UsageEvent[],
): Promise<Outcome> {
  const call = () =>
    callFunction<Outcome & Record<string, unknown>>(
      pool,
      "store_usage_events",
      usageLockClass,
      plainArray(bucketsOf(subscriptionIds)),
      organisationId,
      plainArray(subscriptionIds),
      facts.text,
      ...eventColumns(events),
      now,
    );
  // The statement is a transaction by itself.
  return repeatBrokenOff(() => inTransactionSpan("", call));
}

function createdOf(events: readonly UsageEvent[], ids: readonly string[]): readonly UsageEvent[] {
  const created = new Set(ids);
  return events.filter(({ eventId }) => created.has(eventId));
}
