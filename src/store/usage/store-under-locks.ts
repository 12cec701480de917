/**
 * Stores a batch of usage events in one transaction that locks before it reads. It also locks the
 * rows of finished subscriptions, whose late usage becomes due. Every batch takes the same steps in
 * the same order, so that no two batches deadlock (USAGE-11).
 *
 * SQL: it locks, and writes hundreds of rows from arrays of text.
 */
import { describeVerdict, lateUsageDueAt, type UsageEvent } from "../../domain/usage/ingest.ts";
import { formatInstant, type Instant } from "../../domain/usage/parse.ts";
import type { UsageEvent as UsageEventRow } from "../../gen/prisma/client.ts";
import { shareOrganisation } from "../billing/locked-subscription.ts";
import { lockToStore } from "../billing/usage-locks.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { countLate, evaluateBatch, type StoredBatch, type UsageBatch } from "./batch.ts";
import { eventColumns, idsToFind, loadStored, plainArray } from "./event-rows.ts";
import { type LoadedSubscription, loadFacts, type MeterCatalogue } from "./ingest-facts.ts";

/** A batch, and the subscriptions whose rows are locked. */
interface LockedBatch extends UsageBatch {
  readonly locked: ReadonlySet<string>;
}

/**
 * An attempt's outcome: the stored batch, or the rows that must be locked before another attempt.
 * In the second case nothing was stored.
 */
type Outcome =
  | { readonly kind: "stored"; readonly stored: StoredBatch }
  | { readonly kind: "unlocked"; readonly ids: readonly string[] };

/** Stores the batch, and locks the rows that it needs. */
export async function storeUnderLocks(
  pool: Pool,
  catalogue: MeterCatalogue,
  batch: UsageBatch,
): Promise<StoredBatch> {
  let locked: ReadonlySet<string> = new Set();
  for (;;) {
    const attempt = { ...batch, locked };
    const outcome = await inTransaction(
      pool,
      (tx) => tryBatch(tx, catalogue, attempt),
      begin(attempt),
    );
    if (outcome.kind === "stored") return outcome.stored;
    locked = new Set([...locked, ...outcome.ids]);
  }
}

// Plans created while the tables were empty would scan grown tables.
const beginText = "BEGIN; SET LOCAL enable_seqscan = off";

/**
 * Rows are locked before buckets everywhere. If rows must be locked, the buckets are locked later.
 */
function begin({ subscriptionIds, locked }: LockedBatch): string {
  return locked.size > 0 ? beginText : `${beginText}; ${lockToStore(subscriptionIds)}`;
}

async function tryBatch(
  tx: Transaction,
  catalogue: MeterCatalogue,
  batch: LockedBatch,
): Promise<Outcome> {
  const { organisationId, subscriptionIds, now, locked } = batch;
  if (locked.size > 0) {
    // The organisation before its subscriptions. A settings switch locks it exclusively, and writes
    // all of them (INVARIANT-5).
    await shareOrganisation(tx, organisationId);
    await lockSubscriptions(tx, organisationId, [...locked]);
    await tx.query(lockToStore(subscriptionIds));
  }
  const facts = await loadFacts(tx, organisationId, subscriptionIds);
  const { evaluated, events, lateSubscriptions } = await evaluateBatch(tx, catalogue, batch, facts);
  const unlocked = lateSubscriptions.filter(({ id }) => !locked.has(id)).map(({ id }) => id);
  if (unlocked.length > 0) return { kind: "unlocked", ids: unlocked };
  const created = await insertEvents(tx, organisationId, events, now);
  const found = await loadStored(tx, organisationId, idsToFind(evaluated, created));
  const createdEvents = events.filter(({ eventId }) => created.has(eventId));
  const used = new Set(createdEvents.map(({ subscriptionId }) => subscriptionId));
  const due = lateSubscriptions.filter(({ id }) => used.has(id));
  await setDue(tx, organisationId, due, now);
  const verdicts = describeVerdict(evaluated, created, found);
  return { kind: "stored", stored: { verdicts, late: countLate(createdEvents, facts) } };
}

// In the order of the ids, so that two batches with equal ids never deadlock. DO NOTHING waits for
// a concurrent insert of the same id.
const insertText = `INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id,
    period_index, bill, quantity, occurred_at, created_at)
  SELECT $1, r.event_id, r.subscription_id, r.meter_id, r.period_index, r.bill, r.quantity,
    r.occurred_at, $9
  FROM unnest($2::text[], $3::uuid[], $4::uuid[], $5::int[], $6::int[], $7::numeric[],
      $8::timestamptz[])
    AS r(event_id, subscription_id, meter_id, period_index, bill, quantity, occurred_at)
  ORDER BY r.event_id COLLATE "C"
  ON CONFLICT (organisation_id, event_id) DO NOTHING RETURNING event_id AS "eventId"`;

/** Inserts the events whose ids are free. Returns the ids that were free. */
async function insertEvents(
  tx: Transaction,
  organisationId: string,
  events: readonly UsageEvent[],
  now: Date,
): Promise<ReadonlySet<string>> {
  if (events.length === 0) return new Set();
  const [ids, ...details] = eventColumns(events);
  const subscriptions = plainArray(events.map(({ subscriptionId }) => subscriptionId));
  const meters = plainArray(events.map(({ meterId }) => meterId));
  const { rows } = await tx.query<Pick<UsageEventRow, "eventId">>({
    name: "insert_usage_events",
    text: insertText,
    values: [organisationId, ids, subscriptions, meters, ...details, now],
  });
  return new Set(rows.map(({ eventId }) => eventId));
}

/** Marks late usage as due. The subscriptions' rows are locked, and nothing was due for them. */
async function setDue(
  tx: Transaction,
  organisationId: string,
  subscriptions: readonly LoadedSubscription[],
  now: Date,
): Promise<void> {
  if (subscriptions.length === 0) return;
  const dueAt = (subscription: LoadedSubscription): Instant => lateUsageDueAt(subscription, now);
  await tx.query({
    name: "schedule_late_usage",
    text: `UPDATE subscriptions s SET due_at = r.due_at
      FROM unnest($2::uuid[], $3::timestamptz[]) AS r(id, due_at)
      WHERE s.organisation_id = $1 AND s.id = r.id AND s.due_at IS NULL`,
    values: [
      organisationId,
      plainArray(subscriptions.map(({ id }) => id)),
      plainArray(subscriptions.map((one) => formatInstant(dueAt(one)))),
    ],
  });
}
