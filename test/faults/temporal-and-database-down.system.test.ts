/**
 * Temporal unreachable or slow, no worker, and database connections cut under load: accepted work
 * is posted once. INVARIANT-9.
 */
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import { engineDeadlineMs } from "../../src/worker/temporal/ledger-work.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { freePort } from "../support/ports.ts";
import { startSlowProxy } from "../support/slow-proxy.ts";
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
    // The start gives up before Temporal gets it. The other organisation has no standing batch.
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

test("connections cut under load lose and double no accepted creation", async ({ system }) => {
  const organisation = await system.organisation();
  const names = Array.from({ length: 120 }, (_, index) => `key-${index}`);
  const created: string[] = [];
  const client = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      const answer = await postUntilCreated(system.baseUrl, subscriptionPost(organisation, name));
      created.push(answer.json.id);
    }
  };
  const load = { isOver: false };
  const loaded = Promise.all(Array.from({ length: 12 }, client)).finally(() => {
    load.isOver = true;
  });
  let cuts = 0;
  // With growing gaps: on a busy machine a request takes longer than the first gap.
  for (let gapMs = 300; !load.isOver; gapMs *= 1.1) {
    const { rowCount } = await system.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
        AND pid <> pg_backend_pid()
        AND application_name <> 'test' AND application_name <> 'demo-ledger'`,
    );
    cuts += rowCount ?? 0;
    await Promise.race([loaded, wait(gapMs)]);
  }
  await loaded;
  expect(cuts).toBeGreaterThan(10);
  expect(new Set(created).size).toBe(120);
  await expectOneDocumentEach(system, organisation, 120);
});
