/**
 * The activity of a sandbox's test clock (CLOCK-1). Each batch moves the clock to the next instant
 * with something due, bills that in chunks, and repeats. Then it wakes the ledger workflow for the
 * issued documents.
 */
import { setTimeout as pause } from "node:timers/promises";
import type {
  ClockBatch,
  ClockProgressReport,
  OrganisationInput,
} from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import { chunkSize } from "../../../store/billing/billing-run.ts";
import type { ClockProgress, TestClockStore } from "../../../store/billing/test-clock.ts";
import { billChunk, type ChunkDependencies } from "./billing-run.ts";

/** The dependencies of a batch. */
interface TestClockDependencies extends ChunkDependencies {
  readonly store: TestClockStore;
}

/**
 * How long a batch continues with further instants. A result for each instant would cost the engine
 * and the worker as much as some instants do. It is shorter than the grace of a stopping worker,
 * and short enough to show progress.
 */
const batchMs = 2_000;

/** How long to wait at a time for a subscription that is locked elsewhere. */
const lockedMs = 20;

/** Creates the activities over these dependencies. */
export function createTestClockActivities(deps: TestClockDependencies) {
  return {
    advanceBatch: ({ organisationId }: OrganisationInput): Promise<ClockBatch> =>
      advanceBatch(deps, organisationId),
  };
}

/** The activities of the clock's workflow. */
export type TestClockActivities = ReturnType<typeof createTestClockActivities>;

/**
 * Advances from one due instant to the next, for a while. A retry continues from the clock's
 * position.
 */
async function advanceBatch(
  deps: TestClockDependencies,
  organisationId: string,
): Promise<ClockBatch> {
  const { store, wake } = deps;
  const endMs = performance.now() + batchMs;
  let hasIssued = false;
  // Once a batch: each wake-up during the advance would let the ledger workflow read all waiting
  // documents.
  const notifyLedger = async (): Promise<void> => {
    if (!hasIssued) return;
    await wake(organisationId);
    crashPoint("run_woken");
  };
  for (;;) {
    const move = await store.moveClock(organisationId);
    if (move.kind !== "moved") {
      crashPoint("clock_arrived");
      await notifyLedger();
      return {
        isThere: true,
        progress: move.kind === "arrived" ? reportProgress(move.progress) : null,
      };
    }
    crashPoint("clock_moved");
    hasIssued = (await billInstant(deps, organisationId, endMs)) || hasIssued;
    if (performance.now() < endMs) continue;
    await notifyLedger();
    return { isThere: false, progress: reportProgress(move.progress) };
  }
}

/**
 * Bills everything due at the clock's instant, or as much as the time allows. Returns whether
 * documents were issued.
 */
async function billInstant(
  deps: TestClockDependencies,
  organisationId: string,
  endMs: number,
): Promise<boolean> {
  let hasIssued = false;
  for (;;) {
    const chunk = await billChunk(deps, organisationId);
    hasIssued ||= chunk.issued > 0;
    if (chunk.claimed === 0) await pause(lockedMs);
    // The next move of the clock finds whether anything is left at this instant.
    if (chunk.claimed < chunkSize || performance.now() > endMs) return hasIssued;
  }
}

function reportProgress({ from, target, now, ...counts }: ClockProgress): ClockProgressReport {
  return {
    from: from.toISOString(),
    target: target.toISOString(),
    now: now.toISOString(),
    ...counts,
  };
}
