/** A caller learns the outcome of its jobs, before and after it begins to wait for them. */
import type pg from "pg";
import { expect } from "vitest";
import {
  createOutcomes,
  outcomesChannel,
} from "../../../src/store/ledger-jobs/job-notifications.ts";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { addAmendment, seedInvoice } from "./amendment-builder.ts";

const test = databaseTest.extend("outcomes", perFile, async ({ database, pool }, { onCleanup }) => {
  const outcomes = createOutcomes(database.url, pool, () => undefined);
  onCleanup(() => stopInTime(() => outcomes.close()));
  return outcomes;
});

async function addJob(pool: pg.Pool) {
  const rows = await seedInvoice(pool);
  return { organisationId: rows.organisation, id: await addAmendment(pool, rows, {}) };
}

const finish = (pool: pg.Pool, id: string) =>
  pool.query(
    `WITH job AS (
        UPDATE ledger_jobs SET state = 'done', finished_at = now() WHERE id = $2 RETURNING id
      ) SELECT pg_notify($1, id::text) FROM job`,
    [outcomesChannel, id],
  );

test("a job that is done before its caller waits is done at once", async ({ pool, outcomes }) => {
  const { organisationId, id } = await addJob(pool);
  await finish(pool, id);
  expect(await outcomes.await(organisationId, [id], Date.now() + 60_000)).toEqual([
    { id, state: "done", reason: null, message: null },
  ]);
});

test("a job that is done while its caller waits is done", async ({ pool, outcomes }) => {
  const { organisationId, id } = await addJob(pool);
  const outcome = outcomes.await(organisationId, [id], Date.now() + 60_000);
  await finish(pool, id);
  expect(await outcome).toMatchObject([{ id, state: "done" }]);
});

test("a caller whose time is over learns that its job waits", async ({ pool, outcomes }) => {
  const { organisationId, id } = await addJob(pool);
  expect(await outcomes.await(organisationId, [id], Date.now())).toMatchObject([
    { id, state: "waiting" },
  ]);
});
