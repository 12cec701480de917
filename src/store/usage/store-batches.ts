/**
 * Stores batches of usage events in one transaction: it locks, loads the facts, evaluates, inserts
 * and describes. Each id is stored once for ever. Each event goes on the bill that is open while
 * its lock is held. Every transaction takes its locks in the same order, so that no two of them
 * deadlock (USAGE-11, INVARIANT-5).
 */
import { isOver } from "../../domain/billing/due-date.ts";
import {
  describeVerdict,
  type EvaluatedUsage,
  evaluateUsage,
  eventsToStore,
  lateUsageDueAt,
  type StoredUsage,
  type UsageEvent,
  type UsageVerdict,
} from "../../domain/usage/ingest.ts";
import { formatInstant, instantOf } from "../../domain/usage/parse.ts";
import { columns } from "../../gen/columns.ts";
import { shareOrganisation } from "../billing/locked-subscription.ts";
import { bucketsOf, lockToStore, tryLockToStore } from "../billing/usage-locks.ts";
import { columnSet } from "../database/column-set.ts";
import { isDatabaseError, uniqueViolation } from "../database/errors.ts";
import { isId } from "../database/ids.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { type EventIds, findDropped, insertEvents, loadStored } from "./event-rows.ts";
import { type LoadedSubscription, loadFacts } from "./ingest-facts.ts";
import { joinReports, type StoreUsage, type UsageReport } from "./join-reports.ts";

/** A batch of an organisation. `subscriptionIds` are those that its events name. */
interface UsageBatch extends UsageReport {
  readonly subscriptionIds: readonly string[];
}

/** A stored batch. `late` counts events that were created for a period that was over. */
interface StoredBatch {
  readonly verdicts: readonly UsageVerdict[];
  readonly late: number;
}

/**
 * An evaluated batch. `events` are stored where their ids are free. `finished` are subscriptions
 * that are over, with nothing due: their late usage must be billed separately (USAGE-10).
 */
interface EvaluatedBatch extends UsageBatch {
  readonly evaluated: readonly EvaluatedUsage[];
  readonly events: readonly UsageEvent[];
  readonly finished: readonly LoadedSubscription[];
  readonly subscriptions: ReadonlyMap<string, LoadedSubscription>;
  readonly hasDropped: boolean;
}

/** How many events of a batch have each verdict. `late`: created ones of a period that was over. */
export interface UsageCounts {
  readonly created: number;
  readonly duplicate: number;
  readonly rejected: number;
  readonly late: number;
}

/** Binds ingestion to a pool. `onStored` is called after each stored batch. */
export function createStoreUsage(
  pool: Pool,
  onStored: (counts: UsageCounts) => void = () => undefined,
): StoreUsage {
  const answer = ({ verdicts, late }: StoredBatch): readonly UsageVerdict[] => {
    const counts = { created: 0, duplicate: 0, rejected: 0, late };
    for (const { status } of verdicts) counts[status] += 1;
    onStored(counts);
    return verdicts;
  };
  return joinReports({
    together: async (reports) => {
      const stored = await storeFree(pool, reports.map(batchOf));
      return stored.map((one) => (one === null ? null : answer(one)));
    },
    alone: async (report) => answer(await storeWaiting(pool, batchOf(report))),
  });
}

function batchOf(report: UsageReport): UsageBatch {
  // An id that is no UUID names no subscription, and the database is not queried for it (USAGE-5).
  const named = report.reported.map(({ subscription }) => subscription.toLowerCase());
  return { ...report, subscriptionIds: [...new Set(named)].filter(isId) };
}

// Plans created while the tables were empty would scan grown tables.
const beginText = "BEGIN; SET LOCAL enable_seqscan = off";

/**
 * Stores batches, each of another organisation, and waits for no bill. The result of one that would
 * have to wait, or needs locked rows for late usage, is null, and nothing of it is stored.
 */
export async function storeFree(
  pool: Pool,
  batches: readonly UsageBatch[],
): Promise<readonly (StoredBatch | null)[]> {
  const work = async (tx: Transaction) => {
    const ids = batches.flatMap(({ subscriptionIds }) => subscriptionIds);
    const taken = await tryLockToStore(tx, ids);
    const isFree = ({ subscriptionIds }: UsageBatch) =>
      !bucketsOf(subscriptionIds).some((bucket) => taken.has(bucket));
    const evaluated = await evaluateBatches(tx, batches.filter(isFree));
    return storeEvaluated(
      tx,
      evaluated.filter(({ finished }) => finished.length === 0),
    );
  };
  const stored = await inTransaction(pool, work, beginText);
  return batches.map(({ organisationId }) => stored.get(organisationId) ?? null);
}

/** Stores a batch, waits for its bill, and locks the rows that late usage needs. */
async function storeWaiting(pool: Pool, batch: UsageBatch): Promise<StoredBatch> {
  const { organisationId, subscriptionIds } = batch;
  const locked = new Set<string>();
  const work = async (tx: Transaction) => {
    if (locked.size > 0) {
      // The organisation before its subscriptions. A settings switch locks it exclusively, and
      // writes all of them.
      await shareOrganisation(tx, organisationId);
      await lockSubscriptions(tx, organisationId, [...locked]);
    }
    await lockToStore(tx, subscriptionIds);
    const evaluated = await evaluateBatches(tx, [batch]);
    const unlocked = evaluated
      .flatMap(({ finished }) => finished)
      .filter(({ id }) => !locked.has(id));
    for (const { id } of unlocked) locked.add(id);
    // Rows are locked before buckets everywhere: once more, from the beginning.
    if (unlocked.length > 0) return null;
    return (await storeEvaluated(tx, evaluated)).get(organisationId) ?? null;
  };
  for (;;) {
    const stored = await inTransaction(pool, work, beginText).catch(onceMoreIfDropped);
    if (stored !== null) return stored;
  }
}

/** Null if an event with an id of the batch was dropped while the insert waited for it. */
function onceMoreIfDropped(error: unknown): null {
  if (isDatabaseError(error, uniqueViolation, "usage_events_not_dropped")) return null;
  throw error;
}

async function evaluateBatches(
  tx: Transaction,
  batches: readonly UsageBatch[],
): Promise<readonly EvaluatedBatch[]> {
  const facts = await loadFacts(tx, batches);
  return batches.map((batch) => {
    const own = facts.get(batch.organisationId);
    if (own === undefined) throw new Error(`organisation ${batch.organisationId} is gone`);
    const { hasDropped, ...known } = own;
    const now = instantOf(batch.now);
    const evaluated = batch.reported.map((one) => evaluateUsage(one, { ...known, now }));
    const events = eventsToStore(evaluated);
    const used = idsOf(events);
    const { subscriptions } = known;
    const isFinished = (one: LoadedSubscription) => one.isUndue && used.has(one.id) && isOver(one);
    const finished = [...subscriptions.values()].filter(isFinished);
    return { ...batch, evaluated, events, subscriptions, finished, hasDropped };
  });
}

/**
 * Stores the events whose ids are free. Returns the results by organisation.
 *
 * Ids of dropped events are looked up before the insert, if the organisation has some. They are
 * looked up again for ids under which nothing is found: a drop may move one at any moment.
 */
async function storeEvaluated(
  tx: Transaction,
  batches: readonly EvaluatedBatch[],
): Promise<ReadonlyMap<string, StoredBatch>> {
  const dropped = await findDropped(tx, batches.filter(({ hasDropped }) => hasDropped).map(named));
  const droppedOf = ({ organisationId }: UsageBatch) => dropped.get(organisationId) ?? none;
  const isKept = (batch: EvaluatedBatch) => (event: UsageEvent) =>
    !droppedOf(batch).has(event.eventId);
  const inserted = batches.map((batch) => ({
    ...batch,
    events: batch.events.filter(isKept(batch)),
  }));
  const created = await insertEvents(tx, inserted);
  const createdOf = ({ organisationId }: UsageBatch) => created.get(organisationId) ?? none;
  // A separate statement after the insert. One that began earlier would miss events that another
  // transaction stored meanwhile.
  const stored = await loadStored(
    tx,
    batches.map((batch) => without(named(batch), createdOf(batch), droppedOf(batch))),
  );
  const storedOf = ({ organisationId }: UsageBatch) => stored.get(organisationId) ?? new Map();
  const absent = batches.map((batch) =>
    without(named(batch), createdOf(batch), droppedOf(batch), storedOf(batch)),
  );
  const meanwhile = await findDropped(tx, absent);
  const results = new Map<string, StoredBatch>();
  for (const batch of batches) {
    const { organisationId, evaluated, subscriptions } = batch;
    const gone = [...droppedOf(batch), ...(meanwhile.get(organisationId) ?? none)];
    const found = new Map<string, StoredUsage>(storedOf(batch));
    for (const id of gone) found.set(id, "dropped");
    const verdicts = describeVerdict(evaluated, createdOf(batch), found);
    const events = batch.events.filter(({ eventId }) => createdOf(batch).has(eventId));
    await setDue(tx, batch, idsOf(events));
    const isLate = ({ subscriptionId, periodIndex }: UsageEvent) =>
      periodIndex < (subscriptions.get(subscriptionId)?.currentPeriod ?? 0);
    results.set(organisationId, { verdicts, late: events.filter(isLate).length });
  }
  return results;
}

const none: ReadonlySet<string> = new Set();

/** The ids that a batch names, each once. */
function named({ organisationId, evaluated }: EvaluatedBatch): EventIds {
  return { organisationId, eventIds: [...new Set(evaluated.map(({ eventId }) => eventId))] };
}

/** The ids that none of these has. */
function without(
  { organisationId, eventIds }: EventIds,
  ...known: readonly { has(id: string): boolean }[]
): EventIds {
  return { organisationId, eventIds: eventIds.filter((id) => !known.some((one) => one.has(id))) };
}

function idsOf(events: readonly UsageEvent[]): ReadonlySet<string> {
  return new Set(events.map(({ subscriptionId }) => subscriptionId));
}

const dueSet = columnSet(pick(columns.subscription, "id", "dueAt"), 2);

const scheduleLateUsage = command({
  name: "schedule_late_usage",
  text: sql`
    UPDATE subscriptions s
    SET due_at = r.due_at
    FROM ${dueSet.source(sql`r`)}
    WHERE s.organisation_id = $1 AND s.id = r.id AND s.due_at IS NULL
  `,
});

/** Marks late usage as due. The subscriptions' rows are locked, and nothing was due for them. */
async function setDue(
  tx: Transaction,
  { organisationId, finished, now }: EvaluatedBatch,
  used: ReadonlySet<string>,
): Promise<void> {
  const due = finished
    .filter(({ id }) => used.has(id))
    .map((one) => ({ id: one.id, dueAt: formatInstant(lateUsageDueAt(one, now)) }));
  if (due.length > 0) await scheduleLateUsage(tx, organisationId, ...dueSet.arrays(due));
}
