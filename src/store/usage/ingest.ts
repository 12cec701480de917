/**
 * Stores a batch of usage events in one transaction. Each id is stored once for ever. Each event
 * goes on the bill that is open while its lock is held. Every batch takes the same steps in the
 * same order, so that no two batches deadlock (USAGE-11).
 *
 * SQL: the hot path. It locks, and writes and reads hundreds of rows from arrays of text.
 */
import {
  describeVerdict,
  type EvaluatedUsage,
  evaluateUsage,
  eventsToStore,
  isOver,
  lateUsageDueAt,
  type ReportedUsage,
  type UsageDetails,
  type UsageEvent,
  type UsageVerdict,
} from "../../domain/usage/ingest.ts";
import { formatInstant, type Instant, instantOf, type Quantity } from "../../domain/usage/parse.ts";
import type { UsageEvent as UsageEventRow } from "../../gen/prisma/client.ts";
import { holdOrganisation } from "../billing/locked-subscription.ts";
import { lockToStore } from "../billing/usage-locks.ts";
import { isId } from "../database/ids.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import {
  createMeterCatalogue,
  type LoadedSubscription,
  loadReportable,
  type MeterCatalogue,
  microseconds,
} from "./ingest-facts.ts";

/**
 * Stores a batch for an organisation, `now` by its clock. Returns one verdict for each event, in
 * order.
 */
export type StoreUsage = (
  organisationId: string,
  reported: readonly ReportedUsage[],
  now: Date,
) => Promise<readonly UsageVerdict[]>;

/** How many events of a batch have each verdict. `late`: created ones of a period that was over. */
export interface UsageCounts {
  readonly created: number;
  readonly duplicate: number;
  readonly rejected: number;
  readonly late: number;
}

/** A batch under way. `locked`: subscriptions whose rows are locked. */
interface Batch {
  readonly organisationId: string;
  readonly reported: readonly ReportedUsage[];
  readonly subscriptionIds: readonly string[];
  readonly now: Date;
  readonly locked: ReadonlySet<string>;
}

/**
 * An attempt's outcome: verdicts, or the rows that must be locked before another attempt. In the
 * second case nothing was stored.
 */
type BatchOutcome =
  | {
      readonly kind: "stored";
      readonly verdicts: readonly UsageVerdict[];
      readonly late: number;
    }
  | { readonly kind: "unlocked"; readonly ids: readonly string[] };

/** Binds ingestion to a pool. It caches meters. `onStored` is called after each stored batch. */
export function createStoreUsage(
  pool: Pool,
  onStored: (counts: UsageCounts) => void = () => undefined,
): StoreUsage {
  const catalogue = createMeterCatalogue();
  return async (organisationId, reported, now) => {
    // An id that is no UUID names no subscription, and the database is not queried for it
    // (USAGE-5).
    const named = reported.map(({ subscription }) => subscription.toLowerCase()).filter(isId);
    const subscriptionIds = [...new Set(named)];
    let locked: ReadonlySet<string> = new Set();
    for (;;) {
      const batch = { organisationId, reported, subscriptionIds, now, locked };
      const outcome = await inTransaction(
        pool,
        (tx) => tryBatch(tx, catalogue, batch),
        begin(batch),
      );
      if (outcome.kind === "stored") {
        onStored(countsOf(outcome.verdicts, outcome.late));
        return outcome.verdicts;
      }
      locked = new Set([...locked, ...outcome.ids]);
    }
  };
}

function countsOf(verdicts: readonly UsageVerdict[], late: number): UsageCounts {
  const counts = { created: 0, duplicate: 0, rejected: 0, late };
  for (const { status } of verdicts) counts[status] += 1;
  return counts;
}

// Plans created while the tables were empty would scan grown tables.
const beginText = "BEGIN; SET LOCAL enable_seqscan = off";

/**
 * Rows are locked before buckets everywhere. If rows must be locked, the buckets are locked later.
 */
function begin({ subscriptionIds, locked }: Batch): string {
  return locked.size > 0 ? beginText : `${beginText}; ${lockToStore(subscriptionIds)}`;
}

async function tryBatch(
  tx: Transaction,
  catalogue: MeterCatalogue,
  batch: Batch,
): Promise<BatchOutcome> {
  const { organisationId, reported, subscriptionIds, now, locked } = batch;
  if (locked.size > 0) {
    // The organisation before its subscriptions. A settings switch locks it exclusively, and writes
    // all of them (INVARIANT-5).
    await holdOrganisation(tx, organisationId);
    await lockSubscriptions(tx, organisationId, [...locked]);
    await tx.query(lockToStore(subscriptionIds));
  }
  const loaded = await loadReportable(tx, organisationId, subscriptionIds);
  const { subscriptions } = loaded;
  const meters = await catalogue.meters(tx, organisationId, loaded.catalogueVersion);
  const facts = { ...meters, subscriptions, now: instantOf(now) };
  const evaluated = reported.map((one) => evaluateUsage(one, facts));
  const events = eventsToStore(evaluated);
  const late = lateSubscriptions(events, subscriptions);
  const unlocked = late.filter(({ id }) => !locked.has(id)).map(({ id }) => id);
  if (unlocked.length > 0) return { kind: "unlocked", ids: unlocked };
  const created = await insertEvents(tx, organisationId, events, now);
  const stored = await loadStored(tx, organisationId, idsToFind(evaluated, created));
  const createdEvents = events.filter(({ eventId }) => created.has(eventId));
  const used = new Set(createdEvents.map(({ subscriptionId }) => subscriptionId));
  await setDue(
    tx,
    organisationId,
    late.filter(({ id }) => used.has(id)),
    now,
  );
  const isLate = ({ subscriptionId, periodIndex }: UsageEvent) =>
    periodIndex < (subscriptions.get(subscriptionId)?.currentPeriod ?? 0);
  return {
    kind: "stored",
    verdicts: describeVerdict(evaluated, created, stored),
    late: createdEvents.filter(isLate).length,
  };
}

/**
 * Finished subscriptions with nothing due. Their late usage must be billed separately (USAGE-10).
 */
function lateSubscriptions(
  events: readonly UsageEvent[],
  subscriptions: ReadonlyMap<string, LoadedSubscription>,
): readonly LoadedSubscription[] {
  const late = new Set<LoadedSubscription>();
  for (const { subscriptionId } of events) {
    const subscription = subscriptions.get(subscriptionId);
    if (subscription?.isUndue && isOver(subscription)) late.add(subscription);
  }
  return [...late];
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
  const { rows } = await tx.query<Pick<UsageEventRow, "eventId">>({
    name: "insert_usage_events",
    text: insertText,
    values: [
      organisationId,
      textArray(events.map(({ eventId }) => eventId)),
      plainArray(events.map(({ subscriptionId }) => subscriptionId)),
      plainArray(events.map(({ meterId }) => meterId)),
      plainArray(events.map(({ periodIndex }) => periodIndex)),
      plainArray(events.map(({ bill }) => bill)),
      plainArray(events.map(({ quantity }) => quantity)),
      plainArray(events.map(({ occurredAt }) => formatInstant(occurredAt))),
      now,
    ],
  });
  return new Set(rows.map(({ eventId }) => eventId));
}

/**
 * The ids that an earlier batch may have stored: events not inserted now, and events that the state
 * would reject (USAGE-3).
 */
function idsToFind(
  evaluated: readonly EvaluatedUsage[],
  created: ReadonlySet<string>,
): readonly string[] {
  return [...new Set(evaluated.map(({ eventId }) => eventId))].filter(
    (eventId) => !created.has(eventId),
  );
}

// One text for all rows, as for the subscriptions. It has the places of the ids, because an id may
// contain any character.
const storedText = `SELECT string_agg(concat_ws(' ', r.place, e.columns), ',') AS events
  FROM unnest($2::text[]) WITH ORDINALITY AS r(event_id, place) CROSS JOIN LATERAL (
    SELECT concat_ws(' ', u.subscription_id, u.meter_id, u.quantity,
      ${microseconds("u.occurred_at")}) AS columns
    FROM usage_events u WHERE u.organisation_id = $1 AND u.event_id = r.event_id LIMIT 1) e`;

/**
 * A separate statement after the insert. One that began earlier would miss events that another
 * batch stored meanwhile.
 */
async function loadStored(
  tx: Transaction,
  organisationId: string,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, UsageDetails>> {
  if (eventIds.length === 0) return new Map();
  const { rows } = await tx.query<{ events: string | null }>({
    name: "load_stored_usage",
    text: storedText,
    values: [organisationId, textArray(eventIds)],
  });
  const events = rows[0]?.events ?? "";
  if (events === "") return new Map();
  return new Map(
    events.split(",").map((one): [string, UsageDetails] => {
      const [place, subscriptionId = "", meterId = "", quantity, occurredAt = ""] = one.split(" ");
      const details = {
        subscriptionId,
        meterId,
        quantity: quantity as Quantity,
        occurredAt: BigInt(occurredAt),
      };
      return [eventIds[Number(place) - 1] ?? "", details];
    }),
  );
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

/**
 * A PostgreSQL array literal of values that need no escaping. It is ten times as fast as the
 * driver's array.
 */
function plainArray(values: readonly (string | number)[]): string {
  return `{${values.join(",")}}`;
}

function textArray(values: readonly string[]): string {
  let text = "";
  for (const value of values)
    text += `,"${/["\\]/.test(value) ? value.replace(/["\\]/g, "\\$&") : value}"`;
  return `{${text.slice(1)}}`;
}
