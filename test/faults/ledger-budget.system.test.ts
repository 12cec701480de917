/**
 * The service at a ledger with Xero's limits: it is never refused by a limit, whatever arrives at
 * once. When the budget of calls is spent, background work waits first. POSTING-6, XERO-7.
 */
import { describe, expect } from "vitest";
import { xeroLimits } from "../../packages/demo-ledger/src/api/limits.ts";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import { systemTest } from "../support/fixtures.ts";
import { addReadyDocuments } from "../support/ready-documents.ts";
import { newestJob, openJobs, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import {
  createSynced,
  expectOneDocumentEach,
  scheduled,
  subscriptionPost,
  synced,
  untilPosted,
} from "./ledger-documents.ts";
import { postUntilCreated, promptAnswerMs } from "./processes.ts";

const test = systemTest.extend("settings", perFile, {
  limits: xeroLimits,
  env: { LEDGER_CALL_SECONDS: "10" },
});

const create = (system: TestSystem, organisation: CreatedOrganisation, key: string) =>
  postUntilCreated(system.baseUrl, subscriptionPost(organisation, key));

/** Fills the organisation's minute with so many calls, evenly between two ages in seconds. */
async function spend(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
  count: number,
  from: number,
  to: number,
): Promise<void> {
  await system.pool.query(
    `INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until, granted_at)
      SELECT $1, array_agg(now() - ($3::float8 - n * ($3 - $4::float8) / $2::int) * interval
        '1 second'), '{}', '{}', now() - $4::float8 * interval '1 second'
      FROM generate_series(1, $2::int) n`,
    [organisationId, count, from, to],
  );
}

/** Lets a minute pass for all earlier calls, for the budget and for what it rescheduled. */
async function letMinutePass(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<void> {
  const texts = [
    `UPDATE ledger_budgets SET calls = ARRAY(SELECT made - interval '1 minute'
      FROM unnest(calls) AS made),
      granted_at = granted_at - interval '1 minute' WHERE organisation_id = $1`,
    "UPDATE ledger_jobs SET not_before = now() WHERE organisation_id = $1 AND state = 'ready'",
  ];
  for (const text of texts) await system.pool.query(text, [organisationId]);
}

async function waiting(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<number> {
  return openJobs(system.pool, organisationId);
}

async function pauseOf(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<unknown> {
  const connection = tables(system.pool).ledgerConnection;
  return (await connection.findFirst({ where: { organisationId } }))?.pausedUntil;
}

describe("a hundred concurrent creations", () => {
  test("are posted without a call refused by a limit", async ({ system }) => {
    const organisation = await system.organisation();
    const began = performance.now();
    const posts = Array.from({ length: 100 }, (_, index) =>
      subscriptionPost(organisation, `key-${index}`),
    );
    await Promise.all(posts.map((what) => createSynced(system, what)));
    await expectOneDocumentEach(system, organisation, 100);
    const { taken, turnedAway } = await system.ledgerCalls(organisation.tenantId);
    expect(turnedAway).toBe(0);
    // A machine that takes longer than half of a minute for them has more calls than one minute's.
    expect(taken).toBeLessThan(Math.max(60, 30 + (performance.now() - began) / 1_000));
  });

  test("are batched in few calls if half of the minute is spent", async ({ system }) => {
    const organisation = await system.organisation();
    const { taken: before } = await system.ledgerCalls(organisation.tenantId);
    await spend(system, organisation, 31, 20, 1);
    const began = performance.now();
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => create(system, organisation, `key-${index}`)),
    );
    await expectOneDocumentEach(system, organisation, 100);
    const { taken, turnedAway } = await system.ledgerCalls(organisation.tenantId);
    expect(turnedAway).toBe(0);
    // A machine that takes long for as many requests sends them in as many more calls as it has
    // time for.
    expect(taken - before).toBeLessThanOrEqual(Math.max(15, (performance.now() - began) / 1_000));
  });
});

test("background posting waits for the budget while a caller's document is posted", async ({
  system,
}) => {
  const organisation = await system.organisation();
  const { taken: before } = await system.ledgerCalls(organisation.tenantId);
  // Nothing of it is over before a slow machine has come to what follows.
  await spend(system, organisation, 58, 30, 16);
  await addReadyDocuments(system.pool, organisation, 120);
  const { organisationId } = organisation;
  const budgeted = { organisationId, reason: { startsWith: "our calls " } };
  await until("the budget was asked for the first of them", () => newestJob(system.pool, budgeted));
  expect(await waiting(system, organisation)).toBe(120);
  expect(await pauseOf(system, organisation)).toBeNull();
  const began = performance.now();
  expect((await create(system, organisation, "first")).json.invoice).toMatchObject(synced);
  expect(performance.now() - began).toBeLessThan(promptAnswerMs);
  // Its call had space for others, which were posted with it.
  expect((await system.ledgerCalls(organisation.tenantId)).taken - before).toBe(1);
  expect(await waiting(system, organisation)).toBe(120 + 1 - 50);
  await letMinutePass(system, organisation);
  await untilPosted(system, organisation.organisationId);
  expect(await pauseOf(system, organisation)).toBeNull();
  const { taken, turnedAway } = await system.ledgerCalls(organisation.tenantId);
  expect(turnedAway).toBe(0);
  // Two calls are reserved. A batch that came when the minute had passed for only some of them
  // sends only these.
  expect(taken - before).toBeLessThanOrEqual(1 + 2 + 2);
});

test("a slow ledger gets several concurrent calls and each document once", async ({ system }) => {
  const organisation = await system.organisation();
  const { tenantId, organisationId } = organisation;
  const slow = {
    kind: "slow_before",
    match: "PUT /api.xro/2.0/Invoices",
    delayMs: 2_500,
    times: 1_000,
  };
  await system.fault({ ...slow, tenantId });
  await addReadyDocuments(system.pool, organisation, 300);
  await until("several calls are on their way at once", async () => {
    const text =
      "SELECT 1 FROM ledger_budgets WHERE organisation_id = $1 AND cardinality(flights) > 1";
    return (await system.pool.query(text, [organisationId])).rows.length > 0;
  });
  await untilPosted(system, organisationId);
  expect(await system.ledgerInvoices(tenantId)).toHaveLength(300);
  expect((await system.ledgerCalls(tenantId)).turnedAway).toBe(0);
});

test("a caller without a call in time is answered at once, and posting continues", async ({
  system,
}) => {
  const organisation = await system.organisation();
  const { taken: before } = await system.ledgerCalls(organisation.tenantId);
  await spend(system, organisation, 60, 20, 8);
  const began = performance.now();
  expect((await create(system, organisation, "first")).json.invoice).toMatchObject(scheduled);
  expect(performance.now() - began).toBeLessThan(promptAnswerMs);
  expect(await pauseOf(system, organisation)).toBeNull();
  expect((await system.ledgerCalls(organisation.tenantId)).taken).toBe(before);
  await letMinutePass(system, organisation);
  await expectOneDocumentEach(system, organisation, 1);
});
