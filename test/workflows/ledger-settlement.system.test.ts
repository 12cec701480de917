/**
 * The ledger workflow's own promises on a real Temporal server: no wake-up lost, pauses kept,
 * histories of bounded length.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { ledgerWorkflowId, wakeSignal } from "../../workflows/contract.ts";
import { longestWaitMs } from "../../workflows/policies.ts";
import { until } from "../support/system.ts";
import { nothing, type SettlementForTest, settlementForTest } from "./settlement-for-test.ts";

let settlement: SettlementForTest;

beforeAll(async () => {
  settlement = await settlementForTest();
});

afterAll(() => settlement?.stop());

/** `lingerTime` of the policies. */
const lingerMs = 10_000;

async function statusOf(organisationId: string): Promise<string> {
  const { status } = await settlement.client.workflow
    .getHandle(ledgerWorkflowId(organisationId))
    .describe();
  return status.name;
}

describe.concurrent("the ledger workflow", () => {
  test("loses no wake-up that meets it as it completes", async () => {
    // Close together around the end, and some far from it for a machine on which the end comes
    // late.
    const dense = Array.from({ length: 40 }, (_, index) => index * 15 - 200);
    const around = [-6_000, -2_000, -1_000, -500, ...dense, 500, 750, 1_000, 2_000, 4_000];
    // The last one waits for the end, however late that comes.
    const offsets = [...around, Infinity];
    const isNewRun = await Promise.all(
      offsets.map(async (offset) => {
        const organisationId = randomUUID();
        const handle = settlement.client.workflow.getHandle(ledgerWorkflowId(organisationId));
        await settlement.add(organisationId);
        await until("it is settled", async () => settlement.waiting(organisationId) === 0);
        const { runId } = await handle.describe();
        const [begun = 0] = settlement.rounds(organisationId);
        if (offset === Infinity) {
          const isOver = async () => (await statusOf(organisationId)) === "COMPLETED";
          await until("it is over", isOver);
        } else await wait(begun + lingerMs + offset - performance.now());
        await settlement.add(organisationId);
        await until(
          "what came last is settled",
          async () => settlement.waiting(organisationId) === 0,
        );
        return (await handle.describe()).runId !== runId;
      }),
    );
    // Some were heard by the first run, some needed a new one: the moment of completion lies
    // between.
    expect(new Set(isNewRun)).toEqual(new Set([false, true]));
  });

  test("ends after ten seconds without work, after one batch", async () => {
    const organisationId = randomUUID();
    const asked = await settlement.add(organisationId);
    await until("it is over", async () => (await statusOf(organisationId)) === "COMPLETED");
    const begun = settlement.rounds(organisationId);
    expect(begun.length).toBeLessThanOrEqual(asked);
    expect(performance.now() - (begun.at(-1) ?? 0)).toBeGreaterThan(lingerMs - 100);
  });

  test("waits as long as a batch says, and a wake-up only adds one batch", async () => {
    const organisationId = randomUUID();
    const pauseMs = 4_000;
    const began = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<number>();
    settlement.decide(organisationId, async () => {
      const now = performance.now();
      began.resolve(now);
      const nextInMs = (await began.promise) + pauseMs - now;
      if (nextInMs > 0) return { ...nothing, waiting: 1, nextInMs, paused: "minute limit" };
      ended.resolve(now);
      return { ...nothing, settled: 1 };
    });
    const first = await settlement.add(organisationId);
    await began.promise;
    const asked = first + (await settlement.add(organisationId));
    expect((await ended.promise) - (await began.promise)).toBeGreaterThan(pauseMs - 50);
    // The first, the requested one, and the one after the pause, which a timer that fires early
    // repeats.
    expect(settlement.rounds(organisationId).length).toBeLessThanOrEqual(2 + asked);
  });

  test("runs as many concurrent batches as a slow ledger needs, until few jobs wait", async () => {
    const organisationId = randomUUID();
    let waiting = 1_000;
    let running = 0;
    let most = 0;
    const three = Promise.withResolvers<void>();
    settlement.decide(organisationId, async () => {
      const isFirst = waiting === 1_000 && running === 0;
      running += 1;
      most = Math.max(most, running);
      if (running === 3) three.resolve();
      // The first reports how many there are; none of the following ends before three run.
      if (!isFirst) await three.promise;
      await wait(50);
      running -= 1;
      const settled = Math.min(50, waiting);
      waiting -= settled;
      return { ...nothing, settled, waiting, nextInMs: waiting === 0 ? null : 0, atOnce: 3 };
    });
    const asked = await settlement.add(organisationId);
    await until("nothing waits", async () => waiting === 0);
    expect(most).toBe(3);
    expect(settlement.rounds(organisationId).length).toBeLessThanOrEqual(20 + 2 + asked);
  });

  test("ends at a pause longer than its wait, and the dispatcher starts it later", async () => {
    const organisationId = randomUUID();
    settlement.decide(organisationId, async () => ({
      ...nothing,
      waiting: 1,
      nextInMs: longestWaitMs + 1,
    }));
    const asked = await settlement.add(organisationId);
    await until("it is over", async () => (await statusOf(organisationId)) === "COMPLETED");
    expect(settlement.rounds(organisationId).length).toBeLessThanOrEqual(asked);
  });

  test("continues once the database is back", async () => {
    const organisationId = randomUUID();
    let failures = 3;
    settlement.decide(organisationId, async () => {
      failures -= 1;
      if (failures >= 0) throw new Error("the database is away");
      return { ...nothing, settled: 1 };
    });
    await settlement.add(organisationId);
    await until("the fourth try", async () => settlement.rounds(organisationId).length === 4);
  });
});

test("the ledger workflow continues in a new run once its history is long", async () => {
  const organisationId = randomUUID();
  const held = Promise.withResolvers<void>();
  settlement.decide(organisationId, async () => {
    await held.promise;
    return { ...nothing, settled: 1 };
  });
  await settlement.add(organisationId);
  const handle = settlement.client.workflow.getHandle(ledgerWorkflowId(organisationId));
  const first = await handle.describe();
  while ((await handle.describe()).historyLength <= inject("longHistory")) {
    await Promise.all(Array.from({ length: 250 }, () => handle.signal(wakeSignal)));
  }
  held.resolve();
  await until("a new run goes on", async () => {
    const { runId, status } = await handle.describe();
    return (
      runId !== first.runId &&
      status.name === "RUNNING" &&
      settlement.rounds(organisationId).length > 1
    );
  });
  // A wake-up of the new run is heard like any other.
  const before = settlement.rounds(organisationId).length;
  await settlement.add(organisationId);
  await until("it is heard", async () => settlement.rounds(organisationId).length > before);
});
