/** A caller learns the outcome of its jobs, also if it watches them after the outcome came. */
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import {
  createOutcomes,
  doneMark,
  type JobOutcome,
  type Outcomes,
  outcomesChannel,
} from "../../../src/store/ledger-jobs/job-notifications.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";

const organisationId = newId();

let database: FreshDatabase;
let pool: pg.Pool;
let outcomes: Outcomes;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 2);
  outcomes = createOutcomes(database.url, pool, () => undefined);
});

afterAll(async () => {
  await outcomes?.close();
  await pool?.end();
  await database?.drop();
});

const notifyDone = (id: string) =>
  pool.query("SELECT pg_notify($1, $2)", [outcomesChannel, `${doneMark}${id}`]);

/** The table has no such job, so only a notification can say that it is done. */
const outcomeOf = async (id: string): Promise<readonly JobOutcome[]> =>
  outcomes.watch([id]).awaitOutcomes(organisationId, Date.now() + 60_000);

/** Returns once every notification so far has arrived. Notifications arrive in their order. */
async function arrived(): Promise<void> {
  for (;;) {
    const id = newId();
    const outcome = outcomeOf(id);
    await notifyDone(id);
    if ((await outcome).length > 0) return;
  }
}

test("a job that is watched after the notification of its outcome is done", async () => {
  await arrived();
  const id = newId();
  await notifyDone(id);
  await arrived();
  expect(await outcomeOf(id)).toEqual([{ id, state: "done", reason: null, message: null }]);
});
