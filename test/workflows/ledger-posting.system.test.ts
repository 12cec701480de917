/**
 * The guarantees of the ledger workflow on a real Temporal server: no wake-up is lost, pauses are
 * respected, and histories have a bounded length.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, inject } from "vitest";
import { ledgerWorkflowId, wakeSignal } from "../../workflows/contract.ts";
import { maxWaitMs } from "../../workflows/policies.ts";
import { until } from "../support/system.ts";
import { nothing, type PostingFixture, postingTest as test } from "./posting-fixture.ts";

/** `lingerTime` of the policies. */
const lingerMs = 10_000;

async function statusOf(fixture: PostingFixture, organisationId: string): Promise<string> {
  const { status } = await fixture.client.workflow
    .getHandle(ledgerWorkflowId(organisationId))
    .describe();
  return status.name;
}

describe.concurrent("the ledger workflow", () => {
  test("loses no wake-up that meets it as it completes", async ({ fixture }) => {
    // Dense around the end, and some far from it for a machine on which the end comes late. Which
    // of them the first run still receives, the machine decides.
    const dense = Array.from({ length: 40 }, (_, index) => index * 15 - 200);
    const offsets = [-6_000, -2_000, -1_000, -500, ...dense, 500, 750, 1_000, 2_000, 4_000, 8_000];
    await Promise.all(
      offsets.map(async (offset) => {
        const organisationId = randomUUID();
        await fixture.add(organisationId);
        await until("it is posted", async () => fixture.waiting(organisationId) === 0);
        const [begun = 0] = fixture.batches(organisationId);
        await wait(begun + lingerMs + offset - performance.now());
        await fixture.add(organisationId);
        await until("what came last is posted", async () => fixture.waiting(organisationId) === 0);
      }),
    );
  });

  test("has a new run for a wake-up after it has completed", async ({ fixture }) => {
    const organisationId = randomUUID();
    const handle = fixture.client.workflow.getHandle(ledgerWorkflowId(organisationId));
    await fixture.add(organisationId);
    await until(
      "it is over",
      async () => (await statusOf(fixture, organisationId)) === "COMPLETED",
    );
    const { runId } = await handle.describe();
    await fixture.add(organisationId);
    await until("what came last is posted", async () => fixture.waiting(organisationId) === 0);
    expect((await handle.describe()).runId).not.toBe(runId);
  });

  test("ends after ten seconds without work and one batch", async ({ fixture }) => {
    const organisationId = randomUUID();
    const asked = await fixture.add(organisationId);
    await until(
      "it is over",
      async () => (await statusOf(fixture, organisationId)) === "COMPLETED",
    );
    const begun = fixture.batches(organisationId);
    expect(begun.length).toBeLessThanOrEqual(asked);
    expect(performance.now() - (begun.at(-1) ?? 0)).toBeGreaterThan(lingerMs - 100);
  });

  test("waits as long as a batch says, and a wake-up meanwhile runs one more batch", async ({
    fixture,
  }) => {
    const organisationId = randomUUID();
    const pauseMs = 4_000;
    const began = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<number>();
    fixture.decide(organisationId, async () => {
      const now = performance.now();
      began.resolve(now);
      const nextInMs = (await began.promise) + pauseMs - now;
      if (nextInMs > 0) return { ...nothing, waiting: 1, nextInMs, paused: "minute limit" };
      ended.resolve(now);
      return { ...nothing, posted: 1 };
    });
    const first = await fixture.add(organisationId);
    await began.promise;
    const asked = first + (await fixture.add(organisationId));
    expect((await ended.promise) - (await began.promise)).toBeGreaterThan(pauseMs - 50);
    // The first, the one of the wake-up, and the one after the pause. A timer that fires early
    // causes a second one after it.
    expect(fixture.batches(organisationId).length).toBeLessThanOrEqual(2 + asked);
  });

  test("runs concurrent batches while a slow ledger has many documents waiting", async ({
    fixture,
  }) => {
    const organisationId = randomUUID();
    let waiting = 1_000;
    let running = 0;
    let most = 0;
    const three = Promise.withResolvers<void>();
    fixture.decide(organisationId, async () => {
      const isFirst = waiting === 1_000 && running === 0;
      running += 1;
      most = Math.max(most, running);
      if (running === 3) three.resolve();
      // The first returns how many wait. None of the later ones ends before three are running.
      if (!isFirst) await three.promise;
      await wait(50);
      running -= 1;
      const posted = Math.min(50, waiting);
      waiting -= posted;
      return { ...nothing, posted, waiting, nextInMs: waiting === 0 ? null : 0, atOnce: 3 };
    });
    const asked = await fixture.add(organisationId);
    await until("nothing waits", async () => waiting === 0);
    expect(most).toBe(3);
    expect(fixture.batches(organisationId).length).toBeLessThanOrEqual(20 + 2 + asked);
  });

  test("ends at a pause longer than its wait, and the dispatcher starts it later", async ({
    fixture,
  }) => {
    const organisationId = randomUUID();
    fixture.decide(organisationId, async () => ({
      ...nothing,
      waiting: 1,
      nextInMs: maxWaitMs + 1,
    }));
    const asked = await fixture.add(organisationId);
    await until(
      "it is over",
      async () => (await statusOf(fixture, organisationId)) === "COMPLETED",
    );
    expect(fixture.batches(organisationId).length).toBeLessThanOrEqual(asked);
  });

  test("continues once the database is back", async ({ fixture }) => {
    const organisationId = randomUUID();
    let failures = 3;
    fixture.decide(organisationId, async () => {
      failures -= 1;
      if (failures >= 0) throw new Error("the database is away");
      return { ...nothing, posted: 1 };
    });
    await fixture.add(organisationId);
    await until("the fourth try", async () => fixture.batches(organisationId).length === 4);
  });
});

test("the ledger workflow continues in a new run once its history is long", async ({ fixture }) => {
  const organisationId = randomUUID();
  const held = Promise.withResolvers<void>();
  fixture.decide(organisationId, async () => {
    await held.promise;
    return { ...nothing, posted: 1 };
  });
  await fixture.add(organisationId);
  const handle = fixture.client.workflow.getHandle(ledgerWorkflowId(organisationId));
  const first = await handle.describe();
  while ((await handle.describe()).historyLength <= inject("longHistory")) {
    await Promise.all(Array.from({ length: 250 }, () => handle.signal(wakeSignal)));
  }
  held.resolve();
  await until("a new run continues", async () => {
    const { runId, status } = await handle.describe();
    return (
      runId !== first.runId &&
      status.name === "RUNNING" &&
      fixture.batches(organisationId).length > 1
    );
  });
  // A wake-up of the new run is received like any other.
  const before = fixture.batches(organisationId).length;
  await fixture.add(organisationId);
  await until(
    "the wake-up starts a batch",
    async () => fixture.batches(organisationId).length > before,
  );
});
