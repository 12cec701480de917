/**
 * A worker killed at every step of billing, the database lost under it, Temporal out of its reach:
 * each period once, and all of them.
 */
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect } from "vitest";
import { addDueSubscriptions } from "../../bench/support/due-subscriptions.ts";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { inTransaction } from "../../src/store/database/pool.ts";
import { openLine } from "../scenario/cut-line.ts";
import { countWaiting } from "../support/billing.ts";
import { billingCrashPoints } from "../support/crash-points.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { newestJob, setOrganisation, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { subscriptionPost, untilPosted } from "./ledger-documents.ts";
import { postUntilCreated } from "./processes.ts";

/** The due months after the first. */
const monthsDue = 3;

/**
 * A sandbox with three subscriptions since April, all in the ledger, and a clock that then stands
 * three months on.
 */
async function missedMonths(system: TestSystem): Promise<{
  readonly organisation: CreatedOrganisation;
  moveOn(): Promise<void>;
}> {
  const organisation = await system.organisation(
    { livemode: false, timezone: "UTC" },
    { test_clock: "2026-04-01T12:00:00Z" },
  );
  for (const name of ["one", "two", "three"]) {
    await postUntilCreated(system.baseUrl, subscriptionPost(organisation, name));
  }
  await untilPosted(system, organisation.organisationId);
  const testClock = new Date("2026-07-10T12:00:00Z");
  return {
    organisation,
    moveOn: () => setOrganisation(system.pool, organisation.organisationId, { testClock }),
  };
}

/**
 * Every month of every subscription has one invoice, in order, which is in the ledger once, and
 * nothing is parked.
 */
async function expectEachMonthOnce(
  system: TestSystem,
  { organisationId, tenantId }: CreatedOrganisation,
): Promise<void> {
  await untilPosted(system, organisationId);
  const { rows } = await system.pool.query(
    `SELECT s.parked_until, s.renewal_date, (SELECT array_agg(i.period_start::text ORDER BY i.seq)
      FROM invoices i
        WHERE i.organisation_id = $1 AND i.subscription_id = s.id
          AND i.ledger_invoice_id IS NOT NULL) AS starts
      FROM subscriptions s WHERE s.organisation_id = $1`,
    [organisationId],
  );
  const starts = ["2026-04-01", "2026-05-01", "2026-06-01", "2026-07-01"];
  expect(rows).toEqual(
    Array.from({ length: 3 }, () => ({ parked_until: null, renewal_date: "2026-08-01", starts })),
  );
  const ours = await tables(system.pool).invoice.findMany({
    where: { organisationId },
    orderBy: { number: "asc" },
  });
  const inLedger = await system.ledgerInvoices(tenantId);
  expect(inLedger).toEqual(ours.map(({ number }) => ({ number, status: "DRAFT" })));
  expect(inLedger).toHaveLength(3 * (1 + monthsDue));
}

describe("a billing worker killed at a step bills every period once:", () => {
  test.for(billingCrashPoints)("%s", async (point, { system, runs }) => {
    const { organisation, moveOn } = await missedMonths(system);
    await system.worker.stop();
    await moveOn();
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    await runs.start();
    await system.worker.exited();
    await system.worker.start();
    await runs.untilDone(organisation.organisationId);
    await expectEachMonthOnce(system, organisation);
  });
});

test("a worker that gets SIGTERM takes no new work and records the ledger's answer", async ({
  system,
}) => {
  await system.worker.stop();
  // Here it would get no signal.
  await system.worker.start({}, true);
  const { organisationId, tenantId, ...own } = await system.organisation();
  await system.fault({
    kind: "slow_before",
    match: "PUT /api.xro/2.0/Invoices",
    tenantId,
    delayMs: 1_000,
  });
  const created = postUntilCreated(
    system.baseUrl,
    subscriptionPost({ organisationId, tenantId, ...own }, "one"),
  );
  const state = async () => (await newestJob(system.pool, { organisationId }))?.state ?? "";
  // Or it is there already, if the machine was slow.
  await until("it is on its way to the ledger", async () =>
    ["sending", "uncertain", "done"].includes(await state()),
  );
  await system.worker.stop();
  // Whatever came of the call on a slow machine, it was written: by this worker, since there is no
  // other.
  expect(await state()).not.toBe("sending");
  expect(system.worker.output()).toMatch(/"msg":"stopped"/);
  await system.worker.start();
  await created;
  await untilPosted(system, organisationId);
  expect(await system.ledgerInvoices(tenantId)).toHaveLength(1);
});

test("the billing run waits for a database that is down when a renewal falls due", async ({
  system,
  runs,
}) => {
  const line = await openLine(system.databaseUrl);
  try {
    const { organisation, moveOn } = await missedMonths(system);
    await system.worker.stop();
    await system.worker.start({ DATABASE_URL: line.url });
    await line.cut();
    await moveOn();
    await runs.start();
    await until("the worker has noticed", async () =>
      system.worker.output().includes("could not be reached"),
    );
    expect(await countWaiting(system, organisation.organisationId)).toBe(3);
    await line.mend();
    await runs.untilDone(organisation.organisationId);
    await expectEachMonthOnce(system, organisation);
  } finally {
    await system.worker.stop();
    await line.cut();
    await system.worker.start();
  }
});

/** Several chunks of a billing run, so that connections are cut in the middle. */
const dueCount = 600;

test("the billing run bills each period once while its connections are cut", async ({
  system,
  runs,
}) => {
  const { organisationId } = await system.organisation({ timezone: "UTC" });
  const cut = async (more = "") => {
    const { rowCount } = await system.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'worker' ${more}`,
    );
    return rowCount ?? 0;
  };
  await inTransaction(system.pool, async (client) => {
    await client.query("SET LOCAL idle_in_transaction_session_timeout = 0");
    // The numbers of its invoices are waited for: however fast the worker is, the first cut meets
    // it in the middle.
    await client.query(
      `INSERT INTO document_counters AS d (organisation_id, kind, next) VALUES ($1, 'invoice', 1)
        ON CONFLICT (organisation_id, kind) DO UPDATE SET next = d.next`,
      [organisationId],
    );
    await addDueSubscriptions(system.pool, organisationId, dueCount);
    await runs.start();
    await until(
      "a connection is cut under it",
      async () => (await cut("AND wait_event_type = 'Lock'")) > 0,
    );
  });
  for (let left = 12; left > 0 && (await countWaiting(system, organisationId)) > 0; left--) {
    await cut();
    await wait(200);
  }
  await runs.untilDone(organisationId);
  const { rows } = await system.pool.query(
    `SELECT count(*)::int AS invoices, count(DISTINCT subscription_id)::int AS billed,
      count(DISTINCT number)::int AS numbers,
      (SELECT count(*)::int FROM subscriptions WHERE organisation_id = $1
        AND parked_attempts > 0) AS parked
    FROM invoices WHERE organisation_id = $1 AND type = 'renewal'`,
    [organisationId],
  );
  expect(rows).toEqual([{ invoices: dueCount, billed: dueCount, numbers: dueCount, parked: 0 }]);
});

test("the billing run bills once Temporal is back, and nothing before", async ({
  system,
  runs,
}) => {
  const { address } = system.temporal;
  const line = await openLine(`http://${address}`);
  try {
    const { organisation, moveOn } = await missedMonths(system);
    await system.worker.stop();
    await system.worker.start({ TEMPORAL_ADDRESS: new URL(line.url).host });
    await line.cut();
    await moveOn();
    await runs.start();
    await until("a run waits for a worker", async () => {
      const open = "WorkflowType = 'billingRun' AND ExecutionStatus = 'Running'";
      return (await runs.client.workflow.count(open)).count > 0;
    });
    expect(await countWaiting(system, organisation.organisationId)).toBe(3);
    await line.mend();
    await runs.untilDone(organisation.organisationId);
    await expectEachMonthOnce(system, organisation);
  } finally {
    await system.worker.stop();
    await line.cut();
    await system.worker.start();
  }
});
