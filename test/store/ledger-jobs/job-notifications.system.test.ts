/** A caller learns the outcome of its jobs, also if it watches them after the outcome came. */
import type pg from "pg";
import { expect } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import {
  createOutcomes,
  doneMark,
  type JobOutcome,
  type Outcomes,
  outcomesChannel,
} from "../../../src/store/ledger-jobs/job-notifications.ts";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";

const organisationId = newId();

const test = databaseTest.extend("outcomes", perFile, async ({ database, pool }, { onCleanup }) => {
  const outcomes = createOutcomes(database.url, pool, () => undefined);
  onCleanup(() => stopInTime(() => outcomes.close()));
  return outcomes;
});

const notifyDone = (pool: pg.Pool, id: string) =>
  pool.query("SELECT pg_notify($1, $2)", [outcomesChannel, `${doneMark}${id}`]);

/** The table has no such job, so only a notification can say that it is done. */
const outcomeOf = async (outcomes: Outcomes, id: string): Promise<readonly JobOutcome[]> =>
  outcomes.watch([id]).awaitOutcomes(organisationId, Date.now() + 60_000);

/** Returns once every notification so far has arrived. Notifications arrive in their order. */
async function arrived(pool: pg.Pool, outcomes: Outcomes): Promise<void> {
  for (;;) {
    const id = newId();
    const outcome = outcomeOf(outcomes, id);
    await notifyDone(pool, id);
    if ((await outcome).length > 0) return;
  }
}

test("a job that is watched after the notification of its outcome is done", async ({
  pool,
  outcomes,
}) => {
  await arrived(pool, outcomes);
  const id = newId();
  await notifyDone(pool, id);
  await arrived(pool, outcomes);
  expect(await outcomeOf(outcomes, id)).toEqual([
    { id, state: "done", reason: null, message: null },
  ]);
});
