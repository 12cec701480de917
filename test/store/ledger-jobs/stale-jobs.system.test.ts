/**
 * What the dispatcher is told to start beside work of a kind that it does not know: while versions are exchanged, a newer
 * one may leave that.
 */
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findStaleJobs } from "../../../src/store/ledger-jobs/stale-jobs.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { raiseInvoice } from "../../worker/activities/issue-credit.ts";
import { addParty } from "./credit-party.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 4);
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

test("operations of kinds that nobody here knows are told of once each look, and keep no other from being started", async () => {
  const parties = await Promise.all([addParty(pool), addParty(pool)]);
  for (const { organisationId, subscriptionId } of parties) {
    await raiseInvoice(pool, organisationId, subscriptionId, "10");
    await raiseInvoice(pool, organisationId, subscriptionId, "20");
  }
  await pool.query(
    `ALTER TABLE ledger_jobs DROP CONSTRAINT ledger_jobs_kind, DROP CONSTRAINT ledger_jobs_object;
      UPDATE ledger_jobs SET kind = 'from_a_newer_version' WHERE id IN (SELECT DISTINCT ON (organisation_id) id FROM ledger_jobs)`,
  );
  const unknown: string[] = [];
  const found = await findStaleJobs(pool, -1_000, (kind) => unknown.push(kind));
  const postings = parties.map(({ organisationId }) => ({ kind: "posting", organisationId }));
  expect(found).toHaveLength(2);
  expect(found).toEqual(expect.arrayContaining(postings));
  expect(unknown).toEqual(["from_a_newer_version"]);
});
