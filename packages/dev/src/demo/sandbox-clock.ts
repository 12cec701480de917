/**
 * The clock of the first sandbox during its history, and its return to real time: at the end of the
 * history, or at the next start if one ended before.
 */
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { createChanges } from "../../../../src/store/admin/changes.ts";
import { createAdminClockStore, type TestClock } from "../../../../src/store/admin/test-clock.ts";
import { lockOrganisation } from "../../../../src/store/database/lock-order.ts";
import { inTransaction, type Pool } from "../../../../src/store/database/pool.ts";
import { db, loadClient } from "../../../../src/store/database/prisma/client.ts";

/** The advance renews five subscriptions twice. The rest is for a machine under load. */
const advanceLimitMs = 120_000;

const pollMs = 100;

/** Returns the organisation's clock. */
export async function readClock(pool: Pool, organisationId: string): Promise<TestClock> {
  const found = await createAdminClockStore(pool, createChanges(pool)).get(organisationId);
  if (found === null) throw new Error("the sandbox has gone");
  return found;
}

/** Returns the clock once it has reached its target. Throws after two minutes. */
export async function untilStanding(pool: Pool, organisationId: string): Promise<TestClock> {
  const end = performance.now() + advanceLimitMs;
  for (;;) {
    const clock = await readClock(pool, organisationId);
    if (clock.state !== "advancing") return clock;
    if (performance.now() > end) throw new Error("its clock is still on its way");
    await wait(pollMs);
  }
}

/**
 * Gives the sandbox real time, as one that was never advanced has. The clock stands near it after
 * the history, and never goes back: one that is on its way or ahead stays as it is.
 */
export async function showRealTime(pool: Pool, organisationId: string): Promise<void> {
  await loadClient(pool);
  await inTransaction(pool, async (tx) => {
    await lockOrganisation(tx, organisationId);
    const where = { organisationId };
    const running = await db(tx).clockAdvance.findFirst({ where: { ...where, finishedAt: null } });
    const behind = { id: organisationId, testClock: { lte: new Date() } };
    if (running !== null || (await db(tx).organisation.count({ where: behind })) === 0) return;
    await db(tx).clockAdvance.deleteMany({ where });
    await db(tx).organisation.update({ where: { id: organisationId }, data: { testClock: null } });
  });
}

/**
 * Gives real time to a sandbox whose history an earlier start did not finish, and returns whether
 * there was one. SQL, because it compares columns: only a history begins before its organisation.
 */
export async function finishHistory(databaseUrl: string): Promise<boolean> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  pool.on("error", () => undefined);
  try {
    const { rows } = await pool.query<{ readonly id: string }>(
      `SELECT o.id FROM organisations o LEFT JOIN clock_advances a ON a.organisation_id = o.id
        WHERE o.test_clock <= now() AND coalesce(a.started_from, o.test_clock) < o.created_at`,
    );
    for (const { id } of rows) {
      await untilStanding(pool, id);
      await showRealTime(pool, id);
    }
    return rows.length > 0;
  } finally {
    await pool.end();
  }
}
