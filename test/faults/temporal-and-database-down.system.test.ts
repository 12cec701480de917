/**
 * Temporal unreachable or slow, no worker, and database connections cut under load: accepted work
 * is posted once. INVARIANT-9.
 */
import { expect } from "vitest";
import { inTransaction } from "../../src/store/database/pool.ts";
import { engineDeadlineMs } from "../../src/worker/temporal/start-work.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { freePort } from "../support/ports.ts";
import { startSlowProxy } from "../support/slow-proxy.ts";
import { until } from "../support/system.ts";
import {
  expectOneDocumentEach,
  scheduled,
  shownInvoice,
  subscriptionPost,
  synced,
} from "./ledger-documents.ts";
import { lateAnswerMs, postUntilCreated, promptAnswerMs, startApiProcess } from "./processes.ts";

test("a subscription is created without Temporal, and the dispatcher posts it", async ({
  system,
}) => {
  const organisation = await system.organisation();
  const blind = await startApiProcess(system, {
    TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
  });
  // The dispatcher could be there as soon as the answer.
  await system.worker.stop();
  try {
    const started = performance.now();
    const created = await postUntilCreated(blind.baseUrl, subscriptionPost(organisation, "first"));
    expect(performance.now() - started).toBeLessThan(promptAnswerMs);
    expect(created.json.invoice).toMatchObject(scheduled);
    await system.worker.start();
    await expectOneDocumentEach(system, organisation, 1);
    expect(await shownInvoice(system, organisation, created)).toMatchObject(synced);
  } finally {
    await blind.stop();
  }
});

test("a creation waits for its outcome while Temporal is only slow", async ({ system }) => {
  const [warm, slow] = [await system.organisation(), await system.organisation()];
  const proxy = await startSlowProxy(system.temporal.address);
  const patient = await startApiProcess(system, { TEMPORAL_ADDRESS: proxy.address });
  try {
    // The connection to Temporal exists before the delay begins.
    await postUntilCreated(patient.baseUrl, subscriptionPost(warm, "warm"));
    // The start gives up before Temporal gets it. The other organisation has no lingering batch.
    proxy.delay(engineDeadlineMs + 1_000);
    const created = await postUntilCreated(patient.baseUrl, subscriptionPost(slow, "slow"));
    expect(created.json.invoice).toMatchObject(synced);
    await expectOneDocumentEach(system, slow, 1);
  } finally {
    await patient.stop();
    await proxy.stop();
  }
});

test("a creation answers in time without a worker, and the next worker posts it", async ({
  system,
}) => {
  const organisation = await system.organisation();
  await system.worker.stop();
  const started = performance.now();
  const created = await postUntilCreated(system.baseUrl, subscriptionPost(organisation, "first"));
  expect(performance.now() - started).toBeLessThan(lateAnswerMs);
  expect(created.json.invoice).toMatchObject(scheduled);
  await system.worker.start();
  await expectOneDocumentEach(system, organisation, 1);
  expect(await shownInvoice(system, organisation, created)).toMatchObject(synced);
});

/** How often connections are cut at any line, and as often in the middle of a creation. */
const cutTimes = 8;

test("connections cut under load lose and double no accepted creation", async ({ system }) => {
  const organisation = await system.organisation();
  const load = { sent: 0, isOver: false };
  const created: string[] = [];
  const client = async (): Promise<void> => {
    while (!load.isOver) {
      const what = subscriptionPost(organisation, `key-${load.sent++}`);
      created.push((await postUntilCreated(system.baseUrl, what)).json.id);
    }
  };
  const cut = async (more = "") => {
    const { rowCount } = await system.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
        AND pid <> pg_backend_pid()
        AND application_name <> 'test' AND application_name <> 'demo-ledger' ${more}`,
    );
    return rowCount ?? 0;
  };
  const loaded = Promise.all(Array.from({ length: 12 }, client));
  try {
    for (let time = 0; time < cutTimes; time += 1) {
      const enough = created.length + 5;
      await until("more are created", async () => created.length >= enough);
      // At any line.
      await cut();
      await inTransaction(system.pool, async (tx) => {
        await tx.query("SET LOCAL idle_in_transaction_session_timeout = 0");
        await tx.query("SELECT 1 FROM document_counters WHERE organisation_id = $1 FOR UPDATE", [
          organisation.organisationId,
        ]);
        await until(
          "one is cut that waits for its number",
          async () => (await cut("AND wait_event_type = 'Lock'")) > 0,
        );
      });
    }
  } finally {
    load.isOver = true;
  }
  await loaded;
  expect(new Set(created).size).toBe(load.sent);
  await expectOneDocumentEach(system, organisation, load.sent);
});
