/**
 * What the billing run does in the database: which organisations have something due, and a chunk of one organisation's subscriptions
 * performed in one transaction. One that cannot be performed is set aside with its reason, so that it holds up no other.
 */
import pg from "pg";
import {
  type DueDecision,
  type DueFacts,
  type DueOptions,
  decideDue,
  nextDueDate,
} from "../../domain/billing/renewal.ts";
import type { OrganisationSettings } from "../../domain/subscriptions/organisation-settings.ts";
import { type OrganisationRow, organisationColumns, readOrganisation } from "../access/organisation-settings.ts";
import { statementName } from "../database/page.ts";
import { inTransaction } from "../database/pool.ts";
import type { Client } from "../documents/issue-documents.ts";
import { type LoadedState, loadStates } from "./billing-state.ts";
import { dayStarts, writeDue } from "./locked-subscription.ts";

/**
 * How many subscriptions a transaction performs: enough that its round trips and its commit cost each of them next to nothing, and
 * few enough that a creation waits some tens of milliseconds at most for the organisation's document numbers, which it holds.
 */
export const chunkSize = 200;

/**
 * In a chunk of more than this usage joins no drafts that the ledger has: changing one is two calls of its own, where new invoices go fifty
 * to a call, so that a ledger's day of calls would be gone, and each of these subscriptions closed to changes meanwhile. decisions §6.
 */
const mostJoining = 25;

/** The first pause of one that was set aside; each further one doubles it. */
const firstPauseMs = 60_000;

/** The longest pause: a mended cause is noticed within the hour, also where nobody asks for it. */
const longestPauseMs = 60 * 60_000;

/** The longest reason that is kept: an error's message, not its whole context. */
const reasonLimit = 500;

/** How a chunk is performed. */
export interface ChunkOrder {
  /** The instant of the organisation's clock to perform at; its clock's own if null or left out. */
  readonly now?: Date | null;
  /** How many at most; `chunkSize` if left out. */
  readonly size?: number;
  /** What decides what is due. */
  readonly decide?: (facts: DueFacts, options: DueOptions) => DueDecision | null;
  /** Called when everything is loaded and decided, and nothing is written. */
  readonly onLoaded?: () => void;
  /** Whether it is the test clock's on its way: while that advances nobody else performs anything, and it not after it. */
  readonly isOfClock?: boolean;
  /** Called inside the transaction once everything is written. */
  readonly onPerformed?: (client: Client, outcome: ChunkOutcome) => Promise<void>;
}

/** One that was set aside. */
export interface Parked {
  readonly subscriptionId: string;
  readonly reason: string;
}

/**
 * What a chunk came to: how many it took (0: nothing is left that could be performed now), for how many something was performed, how
 * many documents that raised, and what it set aside.
 */
export interface ChunkOutcome {
  readonly taken: number;
  readonly performed: number;
  readonly raised: number;
  readonly parked: readonly Parked[];
}

/** What the billing run asks of the database. */
export interface BillingRunStore {
  findDueOrganisations(after: string | null, limit: number): Promise<readonly string[]>;
  countDue(organisationId: string): Promise<BillingCounts>;
  billChunk(organisationId: string, order?: ChunkOrder): Promise<ChunkOutcome>;
}

/** The store over a pool. */
export function createBillingRun(pool: pg.Pool): BillingRunStore {
  return {
    findDueOrganisations: (after, limit) => findDueOrganisations(pool, after, limit),
    countDue: (organisationId) => countDue(pool, organisationId),
    billChunk: (organisationId, order) => billChunk(pool, organisationId, order),
  };
}

const nothing: ChunkOutcome = { taken: 0, performed: 0, raised: 0, parked: [] };

/** What of the due subscriptions `s` can be performed now. One whose end is on its way is left to that end. */
export const performable = `(s.parked_until IS NULL OR s.parked_until <= now()) AND NOT EXISTS (
    SELECT 1 FROM ledger_jobs e WHERE e.organisation_id = s.organisation_id AND e.subscription_id = s.id
      AND e.kind = 'end_subscription' AND e.state IN ('ready', 'sending', 'uncertain'))`;

// One whose test clock advances is left to that: it performs what is due at each instant on the way.
const advancing = `EXISTS (SELECT 1 FROM clock_advances a WHERE a.organisation_id = o.id AND a.finished_at IS NULL)`;

/**
 * Up to `limit` organisations that have something due by their own clocks, by rising id from the one after `after` on. Looks over all
 * organisations: it carries ids only.
 */
export async function findDueOrganisations(
  pool: pg.Pool,
  after: string | null,
  limit: number,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: "find_due_organisations",
    text: `SELECT o.id FROM organisations o
      WHERE ($1::uuid IS NULL OR o.id > $1) AND NOT ${advancing} AND EXISTS (SELECT 1 FROM subscriptions s
        WHERE s.organisation_id = o.id AND s.due_at <= coalesce(o.test_clock, now()) AND ${performable})
      ORDER BY o.id LIMIT $2`,
    values: [after, limit],
  });
  return rows.map(({ id }) => id);
}

/** What an organisation has to be performed now, and what is set aside. */
export interface BillingCounts {
  readonly due: number;
  readonly parked: number;
}

/** How many subscriptions of the organisation are due by its clock and can be performed, and how many are set aside. */
export async function countDue(pool: pg.Pool, organisationId: string): Promise<BillingCounts> {
  const { rows } = await pool.query<BillingCounts>({
    name: "count_due",
    text: `SELECT (SELECT count(*)::int FROM subscriptions s WHERE s.organisation_id = o.id
          AND s.due_at <= coalesce(o.test_clock, now()) AND ${performable}) AS due,
        (SELECT count(*)::int FROM subscriptions s WHERE s.organisation_id = o.id AND s.parked_until IS NOT NULL) AS parked
      FROM organisations o WHERE o.id = $1`,
    values: [organisationId],
  });
  return rows[0] ?? { due: 0, parked: 0 };
}

/**
 * Performs a chunk of what is due, earliest first, all in one transaction: what another one has locked is left to that. Where the
 * chunk fails it is done again one by one, and what fails alone is set aside. Afterwards nothing that was taken is due as it was.
 */
export async function billChunk(pool: pg.Pool, organisationId: string, order: ChunkOrder = {}): Promise<ChunkOutcome> {
  let taken: readonly string[] = [];
  try {
    return await inTransaction(pool, async (client) => {
      taken = [];
      const held = await hold(client, organisationId, order);
      taken = await takeDue(client, held, null, order.size ?? chunkSize);
      const outcome = await perform(client, held, taken, order);
      await order.onPerformed?.(client, outcome);
      return outcome;
    });
  } catch (error) {
    if (taken.length === 0) throw error;
    const outcomes: ChunkOutcome[] = [];
    const decide = order.decide ?? decideDue;
    // Many stay many, also one by one.
    const options = { mayJoin: taken.length <= mostJoining };
    const each = { ...order, decide: (facts: DueFacts) => decide(facts, options) };
    for (const id of taken) outcomes.push(await billAlone(pool, organisationId, id, each));
    return join(outcomes);
  }
}

/** One subscription in a transaction of its own. What goes wrong with it there is its own fault: as long as the database answers. */
async function billAlone(
  pool: pg.Pool,
  organisationId: string,
  subscriptionId: string,
  order: ChunkOrder,
): Promise<ChunkOutcome> {
  return inTransaction(pool, async (client) => {
    const held = await hold(client, organisationId, order);
    const taken = await takeDue(client, held, [subscriptionId], 1);
    await client.query("SAVEPOINT alone");
    try {
      const outcome = await perform(client, held, taken, order);
      // What the database judges at the end of a transaction is judged now, while it can still be told whose it is.
      await client.query("SET CONSTRAINTS ALL IMMEDIATE");
      await order.onPerformed?.(client, outcome);
      return outcome;
    } catch (error) {
      if (isPassing(error)) throw error;
      await client.query("ROLLBACK TO SAVEPOINT alone");
      const reason = (error instanceof Error ? error.message : String(error)).slice(0, reasonLimit);
      await park(client, organisationId, subscriptionId, reason);
      const outcome = { ...nothing, taken: taken.length, parked: [{ subscriptionId, reason }] };
      await order.onPerformed?.(client, outcome);
      return outcome;
    }
  });
}

/**
 * A fault of the moment, not of the subscription: a deadlock or conflict (SQLSTATE class 40), no room (53), a state of something else
 * (55), a break from outside (57). The round is repeated. Not a statement that takes too long alone (57014): it would so each time.
 */
function isPassing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(40|53|55|57(?!014))/.test(error.code ?? "");
}

/** The organisation as it is judged until the transaction ends, the instant of its clock, and whether it is this order's to bill. */
interface Held {
  readonly organisation: OrganisationSettings;
  readonly now: Date;
  readonly isOurs: boolean;
}

async function hold(client: Client, organisationId: string, { now = null, isOfClock }: ChunkOrder): Promise<Held> {
  const { rows } = await client.query<OrganisationRow & { now: Date; is_advancing: boolean }>({
    name: "hold_organisation_and_clock",
    text: `SELECT ${organisationColumns}, coalesce($2, o.test_clock, now()) AS now, ${advancing} AS is_advancing
      FROM organisations o WHERE o.id = $1 FOR SHARE OF o`,
    values: [organisationId, now],
  });
  const row = rows[0];
  if (row === undefined) throw new Error(`organisation ${organisationId} is gone`);
  return { organisation: readOrganisation(row), now: row.now, isOurs: row.is_advancing === (isOfClock ?? false) };
}

const takeText = `SELECT s.id FROM subscriptions s
  WHERE s.organisation_id = $1 AND s.due_at <= $2 AND ($4::uuid[] IS NULL OR s.id = ANY ($4)) AND ${performable}
  ORDER BY s.due_at, s.id LIMIT $3 FOR NO KEY UPDATE OF s SKIP LOCKED`;

async function takeDue(
  client: Client,
  { organisation, now, isOurs }: Held,
  among: readonly string[] | null,
  limit: number,
): Promise<readonly string[]> {
  if (!isOurs) return [];
  const values = [organisation.id, now, limit, among];
  const { rows } = await client.query<{ id: string }>({ name: statementName(takeText), text: takeText, values });
  return rows.map(({ id }) => id);
}

async function perform(
  client: Client,
  { organisation, now }: Held,
  ids: readonly string[],
  { decide = decideDue, onLoaded }: ChunkOrder,
): Promise<ChunkOutcome> {
  if (ids.length === 0) return nothing;
  const loaded = await loadStates(client, organisation, { ids, now });
  const dues: DueDecision[] = [];
  const others: LoadedState[] = [];
  const mayJoin = ids.length <= mostJoining;
  for (const one of loaded) {
    // An end that has begun since it was taken.
    if (one.state.running?.kind === "end_subscription") continue;
    const due = decide(one.state, { mayJoin });
    if (due === null) others.push(one);
    else dues.push(due);
  }
  onLoaded?.();
  await writeDue(client, organisation.id, dues, now);
  await moveOn(client, organisation.id, others, now);
  const raised = dues.reduce((sum, { invoices, creditNotes }) => sum + invoices.length + creditNotes.length, 0);
  return { taken: ids.length, performed: dues.length, raised, parked: [] };
}

/**
 * Clocks that are set back over midnight show the day before once more: what was due by the day is so again within this time.
 */
const setBackMs = 3_600_000;

const moveOnText = `UPDATE subscriptions s SET due_at = r.due_at, parked_until = NULL, parked_reason = NULL, parked_attempts = 0
  FROM jsonb_to_recordset($2) AS r(id uuid, due_at timestamptz) WHERE s.organisation_id = $1 AND s.id = r.id`;

/** Those for which nothing was due are due when something is. */
async function moveOn(
  client: Client,
  organisationId: string,
  loaded: readonly LoadedState[],
  now: Date,
): Promise<void> {
  if (loaded.length === 0) return;
  const startOf = dayStarts();
  const records = loaded.map(({ state }) => {
    const dueAt = startOf(state.subscription.timezone, nextDueDate(state));
    const isPast = dueAt !== null && dueAt <= now;
    return { id: state.subscription.id, due_at: isPast ? new Date(now.getTime() + setBackMs) : dueAt };
  });
  await client.query({ name: "move_on", text: moveOnText, values: [organisationId, JSON.stringify(records)] });
}

const parkText = `UPDATE subscriptions s SET parked_reason = $3, parked_attempts = s.parked_attempts + 1,
    parked_until = now() + least(${longestPauseMs}, ${firstPauseMs} * 2 ^ least(s.parked_attempts, 20)) * interval '1 millisecond'
  WHERE s.organisation_id = $1 AND s.id = $2`;

async function park(client: Client, organisationId: string, subscriptionId: string, reason: string): Promise<void> {
  await client.query({ name: "park_subscription", text: parkText, values: [organisationId, subscriptionId, reason] });
}

function join(outcomes: readonly ChunkOutcome[]): ChunkOutcome {
  const sum = (of: (outcome: ChunkOutcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
  return {
    taken: sum(({ taken }) => taken),
    performed: sum(({ performed }) => performed),
    raised: sum(({ raised }) => raised),
    parked: outcomes.flatMap(({ parked }) => parked),
  };
}
