/** The stale jobs that the dispatcher starts. A newer version may leave unknown kinds. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { createAmendments } from "../../../src/store/ledger-jobs/amendments/amendments.ts";
import { readWaiting } from "../../../src/store/ledger-jobs/jobs.ts";
import { findStaleJobs } from "../../../src/store/ledger-jobs/stale-jobs.ts";
import { writtenByTest } from "../../support/explained-documents.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { issueInvoice } from "../../worker/activities/issue-credit.ts";
import { another } from "../constraints/rows.ts";
import { addAmendment, addLine, seedInvoice } from "./amendment-builder.ts";
import { addParty } from "./credit-party.ts";

// First, because it counts the jobs of all organisations.
test("jobs of unknown kinds are reported once, and all others are found", async ({ pool }) => {
  const parties = await Promise.all([addParty(pool), addParty(pool)]);
  for (const { organisationId, subscriptionId } of parties) {
    await issueInvoice(pool, organisationId, subscriptionId, "10");
    await issueInvoice(pool, organisationId, subscriptionId, "20");
  }
  await pool.query(
    `ALTER TABLE ledger_jobs DROP CONSTRAINT ledger_jobs_kind, DROP CONSTRAINT ledger_jobs_object;
      UPDATE ledger_jobs SET kind = 'from_a_newer_version' WHERE id IN (
        SELECT DISTINCT ON (organisation_id) id FROM ledger_jobs)`,
  );
  const unknown: string[] = [];
  const found = await findStaleJobs(pool, -1_000, (kind) => unknown.push(kind));
  const postings = parties.map(({ organisationId }) => ({ kind: "posting", organisationId }));
  expect(found).toHaveLength(2);
  expect(found).toEqual(expect.arrayContaining(postings));
  expect(unknown).toEqual(["from_a_newer_version"]);
});

test("a stale job is found for its workflow, and posting counts only posting jobs", async ({
  pool,
}) => {
  const rows = await seedInvoice(pool);
  await addLine(pool, rows);
  const jobId = await addAmendment(pool, rows, {});
  const { organisation: organisationId, subscription: subscriptionId, invoice: invoiceId } = rows;
  const graceMs = -1_000;
  const found = async () =>
    (await findStaleJobs(pool, graceMs)).filter((work) => work.organisationId === organisationId);
  expect(await readWaiting(pool, organisationId)).toEqual({ waiting: 0, nextInMs: null });
  expect(await found()).toEqual([
    { kind: "amendment", organisationId, subscriptionId, invoiceId, jobId },
  ]);

  await pool.query(another("ledger_jobs", jobId, { kind: "create_invoice", joins: false }));
  expect((await readWaiting(pool, organisationId)).waiting).toBe(1);
  const byKind = (await found()).map(({ kind }) => kind);
  expect(byKind.toSorted()).toEqual(["amendment", "posting"]);

  await createAmendments(
    pool,
    createEncryption(randomBytes(32)),
  )(organisationId).take(jobId, 60_000);
  expect(await found()).toEqual([{ kind: "posting", organisationId }]);
  await pool.query(
    "UPDATE ledger_jobs SET lease_until = now() - interval '1 second' WHERE id = $1",
    [jobId],
  );
  expect((await found()).map(({ kind }) => kind).toSorted()).toEqual(["amendment", "posting"]);
  await writtenByTest(pool);
});
