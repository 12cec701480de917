/**
 * Finds organisations with something due and bills a chunk of their subscriptions per transaction.
 * A subscription that cannot be billed is parked and delays no other (POSTING-8). SQL claims a
 * chunk with SKIP LOCKED and writes another instant to each row.
 */
import { setImmediate as otherWork } from "node:timers/promises";
import { nextDueDate } from "../../domain/billing/due-date.ts";
import { type DueDecision, type DueOptions, decideDue } from "../../domain/billing/renewal.ts";
import type { BillingState } from "../../domain/model/billing-state.ts";
import { binding } from "../database/bind.ts";
import { isTransient } from "../database/errors.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { loadStates } from "./billing-state.ts";
import { countDue, findDueOrganisations } from "./due-organisations.ts";
import {
  dayStarts,
  type LockedOrganisation,
  saveDue,
  shareOrganisation,
} from "./locked-subscription.ts";
import { park, storedReason } from "./parking.ts";
import { takeAmong, takeFree, takeInOrder } from "./take-due.ts";

/**
 * Subscriptions per transaction. A larger chunk would save little on round trips and commits, and
 * delay creations by its locked document numbers: now tens of milliseconds at most.
 */
export const chunkSize = 200;

// Up to this chunk size usage joins drafts in the ledger. A join costs two calls and blocks
// changes. Fifty new invoices cost one call. More joins would use up the ledger's daily calls.
const maxJoining = 25;

/** Decisions in a row. Between them the process does other work: a pause is milliseconds. */
const decidedAtOnce = 50;

/** How to bill a chunk. */
export interface ChunkOrder {
  /** Instant to bill at. Default: the organisation's clock. */
  readonly now?: Date | null;
  /** Most subscriptions to take. Default: `chunkSize`. */
  readonly size?: number;
  /** Decides what is due. Default: `decideDue`. */
  readonly decide?: (facts: BillingState, options: DueOptions) => DueDecision | null;
  /** Called when all is loaded and decided and nothing is written. */
  readonly onLoaded?: () => void;
  /** A test clock's own chunk. It bills only while the clock advances, and then no other does. */
  readonly isOfClock?: boolean;
  /** Called inside the transaction after all writes. */
  readonly onPerformed?: (client: Transaction, outcome: ChunkOutcome) => Promise<void>;
}

/** A subscription that was parked, and why. */
export interface Parked {
  readonly subscriptionId: string;
  readonly reason: string;
}

/** Counts of a chunk. `claimed` 0: none is left to bill now. `issued`: documents issued. */
export interface ChunkOutcome {
  readonly claimed: number;
  readonly performed: number;
  readonly issued: number;
  readonly parked: readonly Parked[];
}

/** The billing run's statements. */
export type BillingRunStore = ReturnType<typeof createBillingRun>;

/** Binds the statements to a pool. */
export function createBillingRun(pool: Pool) {
  const bound = binding(pool);
  return {
    findDueOrganisations: bound(findDueOrganisations),
    countDue: bound(countDue),
    billChunk: bound(billChunk),
  };
}

const nothing: ChunkOutcome = { claimed: 0, performed: 0, issued: 0, parked: [] };

/**
 * Bills a chunk in one transaction, of the earliest due, and skips locked rows. If it fails, each
 * subscription is billed singly. One that then fails is parked. Afterwards none is due as it was.
 */
export async function billChunk(
  pool: Pool,
  organisationId: string,
  order: ChunkOrder = {},
): Promise<ChunkOutcome> {
  let claimedIds: readonly string[] = [];
  const bill = (take: typeof takeFree) =>
    inTransaction(pool, async (client) => {
      claimedIds = [];
      const locked = await lock(client, organisationId, order);
      const { isOurs, now } = locked;
      claimedIds = isOurs ? await take(client, organisationId, now, order.size ?? chunkSize) : [];
      const outcome = await perform(client, locked, claimedIds, order);
      await order.onPerformed?.(client, outcome);
      return outcome;
    });
  try {
    // A test clock bills strictly by due instant.
    const outcome = order.isOfClock === true ? nothing : await bill(takeFree);
    return outcome.claimed > 0 ? outcome : await bill(takeInOrder);
  } catch (error) {
    if (claimedIds.length === 0) throw error;
    const outcomes: ChunkOutcome[] = [];
    const decide = order.decide ?? decideDue;
    // A large chunk counts as large for joining, also one by one.
    const options = { mayJoin: claimedIds.length <= maxJoining };
    const each = { ...order, decide: (facts: BillingState) => decide(facts, options) };
    for (const id of claimedIds) outcomes.push(await billSingle(pool, organisationId, id, each));
    return join(outcomes);
  }
}

const beginAlone = command({ name: "begin_alone", text: sql`SAVEPOINT alone` });
const undoAlone = command({ name: "undo_alone", text: sql`ROLLBACK TO SAVEPOINT alone` });
const checkConstraints = command({
  name: "check_constraints",
  text: sql`SET CONSTRAINTS ALL IMMEDIATE`,
});

/** Bills one subscription in its own transaction. An error parks it, unless it is transient. */
async function billSingle(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  order: ChunkOrder,
): Promise<ChunkOutcome> {
  return inTransaction(pool, async (client) => {
    const locked = await lock(client, organisationId, order);
    const { isOurs, now } = locked;
    const claimedIds = isOurs ? await takeAmong(client, organisationId, now, [subscriptionId]) : [];
    await beginAlone(client);
    try {
      const outcome = await perform(client, locked, claimedIds, order);
      // Deferred constraints fail here, while the error still belongs to this subscription.
      await checkConstraints(client);
      await order.onPerformed?.(client, outcome);
      return outcome;
    } catch (error) {
      if (isTransient(error)) throw error;
      await undoAlone(client);
      const reason = storedReason(error);
      const { databaseNow } = locked;
      await park(client, organisationId, subscriptionId, { reason, databaseNow });
      const outcome = {
        ...nothing,
        claimed: claimedIds.length,
        parked: [{ subscriptionId, reason }],
      };
      await order.onPerformed?.(client, outcome);
      return outcome;
    }
  });
}

/** Locks the organisation. `now` is the instant to bill at. `isOurs`: this order may bill it. */
async function lock(
  client: Transaction,
  organisationId: string,
  { now, isOfClock = false }: ChunkOrder,
) {
  const locked = await shareOrganisation(client, organisationId);
  return { ...locked, now: now ?? locked.now, isOurs: locked.isAdvancing === isOfClock };
}

async function perform(
  client: Transaction,
  { organisation, now }: LockedOrganisation,
  ids: readonly string[],
  { decide = decideDue, onLoaded }: ChunkOrder,
): Promise<ChunkOutcome> {
  if (ids.length === 0) return nothing;
  const loaded = await loadStates(client, organisation, { ids, now });
  const dues: DueDecision[] = [];
  const others: BillingState[] = [];
  const mayJoin = ids.length <= maxJoining;
  for (const [index, state] of loaded.entries()) {
    if (index > 0 && index % decidedAtOnce === 0) await otherWork();
    // An end began after this subscription was taken.
    if (state.running?.kind === "end_subscription") continue;
    const due = decide(state, { mayJoin });
    if (due === null) others.push(state);
    else dues.push(due);
  }
  onLoaded?.();
  await saveDue(client, organisation.id, dues, now);
  await moveOn(client, organisation.id, others, now);
  const issued = dues.reduce(
    (sum, { invoices, creditNotes }) => sum + invoices.length + creditNotes.length,
    0,
  );
  return { claimed: ids.length, performed: dues.length, issued, parked: [] };
}

/** A clock set back over midnight repeats a day. Work due by day is due again within this time. */
const setBackMs = 3_600_000;

const writeNextDue = command({
  name: "move_on",
  text: sql`
    UPDATE subscriptions s
    SET
      due_at = r.due_at,
      parked_until = NULL,
      parked_reason = NULL,
      parked_attempts = 0
    FROM jsonb_to_recordset($2) AS r (id uuid, due_at timestamptz)
    WHERE s.organisation_id = $1 AND s.id = r.id
  `,
});

/** Sets the next due instant of subscriptions for which nothing was due. */
async function moveOn(
  client: Transaction,
  organisationId: string,
  states: readonly BillingState[],
  now: Date,
): Promise<void> {
  if (states.length === 0) return;
  const startOf = dayStarts();
  const records = states.map((state) => {
    const dueAt = startOf(state.subscription.timezone, nextDueDate(state));
    const isPast = dueAt !== null && dueAt <= now;
    return {
      id: state.subscription.id,
      due_at: isPast ? new Date(now.getTime() + setBackMs) : dueAt,
    };
  });
  await writeNextDue(client, organisationId, JSON.stringify(records));
}

function join(outcomes: readonly ChunkOutcome[]): ChunkOutcome {
  const sum = (of: (outcome: ChunkOutcome) => number) =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  return {
    claimed: sum(({ claimed }) => claimed),
    performed: sum(({ performed }) => performed),
    issued: sum(({ issued }) => issued),
    parked: outcomes.flatMap(({ parked }) => parked),
  };
}
