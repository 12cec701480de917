/**
 * Advances a sandbox's test clock from one due instant to the next until its target. What is due is
 * billed before the clock moves on, and counted in the same transaction (CLOCK-1). SQL where it
 * compares with the database's clock or writes it.
 */

import { columns } from "../../gen/columns.ts";
import { lockOrganisation } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { billChunk, type ChunkOrder, type ChunkOutcome } from "./billing-run.ts";
import { performable } from "./due-organisations.ts";

/** An advance and the counts so far. `now` is what the clock shows. */
export interface ClockProgress {
  readonly from: Date;
  readonly target: Date;
  readonly now: Date;
  readonly performed: number;
  readonly issued: number;
  readonly parked: number;
}

/**
 * `moved`: something is due at what the clock shows now. `arrived`: nothing is left on the way.
 * `stands`: the clock does not advance.
 */
type ClockMove =
  | { readonly kind: "moved" | "arrived"; readonly progress: ClockProgress }
  | { readonly kind: "stands" };

/** The statements of the test clock's workflow. */
export type TestClockStore = ReturnType<typeof createTestClock>;

/** Binds the statements to a pool. */
export function createTestClock(pool: Pool) {
  return {
    moveClock: (organisationId: string) => moveClock(pool, organisationId),
    /** Bills a chunk of what is due at what the clock shows. */
    billChunk: (organisationId: string, order: Pick<ChunkOrder, "onLoaded" | "decide"> = {}) =>
      billChunk(pool, organisationId, {
        ...order,
        isOfClock: true,
        onPerformed: (client, outcome) => countPerformed(client, organisationId, outcome),
      }),
  };
}

const writeClock = command({
  name: "move_clock",
  text: sql`
    WITH
      advance AS (
        UPDATE clock_advances
        SET
          moved_at = clock_timestamp(),
          finished_at = CASE WHEN $3 THEN clock_timestamp() END
        WHERE organisation_id = $1
      )
    UPDATE organisations
    SET test_clock = $2
    WHERE id = $1 AND test_clock IS DISTINCT FROM $2
  `,
});

/**
 * Moves an advancing clock to the earliest billable due instant, at most to its target. If nothing
 * is due, it moves to the target and the advance is over. It waits for running changes of the
 * organisation's subscriptions, so that no change sees two clocks. Work that was due earlier leaves
 * the clock where it is.
 */
async function moveClock(pool: Pool, organisationId: string): Promise<ClockMove> {
  return inTransaction(pool, async (client) => {
    // Separate statements, so that the next one sees the state under the organisation's lock.
    await lockOrganisation(client, organisationId);
    const advance = await db(client).clockAdvance.findFirst({
      where: { organisationId, finishedAt: null },
      include: { organisation: { select: { testClock: true } } },
    });
    if (advance === null) return { kind: "stands" };
    const { startedFrom: from, target, performed, issued, parked } = advance;
    const shown = advance.organisation.testClock ?? from;
    const due = await findNextDue(client, organisationId, target);
    const now = due === null ? target : due > shown ? due : shown;
    await writeClock(client, organisationId, now, due === null);
    return {
      kind: due === null ? "arrived" : "moved",
      progress: { from, target, now, performed, issued, parked },
    };
  });
}

const readNextDue = query({
  name: "find_next_due",
  text: sql`
    SELECT s.due_at
    FROM subscriptions s
    WHERE s.organisation_id = $1 AND s.due_at <= $2 AND ${performable}
    ORDER BY s.due_at
    LIMIT 1
  `,
  row: { dueAt: columns.subscription.dueAt.present() },
});

/**
 * The earliest instant up to `target` at which something billable is due. Null if there is none.
 */
async function findNextDue(
  client: Transaction,
  organisationId: string,
  target: Date,
): Promise<Date | null> {
  const [row] = await readNextDue(client, organisationId, target);
  return row?.dueAt ?? null;
}

const addCounts = command({
  name: "count_performed",
  text: sql`
    UPDATE clock_advances
    SET
      performed = performed + $2,
      issued = issued + $3,
      parked = parked + $4,
      moved_at = clock_timestamp()
    WHERE organisation_id = $1
  `,
});

/**
 * Adds a chunk's counts in the transaction that billed it, so that a crash cannot separate them.
 */
async function countPerformed(
  client: Transaction,
  organisationId: string,
  { performed, issued, parked }: ChunkOutcome,
): Promise<void> {
  await addCounts(client, organisationId, performed, issued, parked.length);
}

/** An organisation whose clock stopped on its way. Its workflow must be started. */
export interface StoppedClock {
  readonly kind: "clock";
  readonly organisationId: string;
}

const findStopped = query({
  name: "find_stopped_clocks",
  text: sql`
    SELECT organisation_id
    FROM clock_advances
    WHERE finished_at IS NULL AND moved_at < now() - $1 * interval '1 millisecond'
  `,
  row: pick(columns.clockAdvance, "organisationId"),
});

/**
 * Organisations whose clock has an unfinished advance and has not moved for `graceMs`. Their
 * workflow never started or was lost. The dispatcher starts it. It reads across organisations and
 * returns ids only.
 */
export async function findStoppedClocks(
  pool: Pool,
  graceMs: number,
): Promise<readonly StoppedClock[]> {
  const rows = await findStopped(pool, graceMs);
  return rows.map(({ organisationId }) => ({ kind: "clock", organisationId }));
}
