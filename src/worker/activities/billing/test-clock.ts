/**
 * What the workflow of a sandbox's test clock does, in rounds: moves the clock to the next instant at which something
 * is due, performs that chunk by chunk, and so on; the ledger workflow is told of the documents and follows. decisions
 * §4 "Sandbox".
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClockProgressReport, ClockBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import { chunkSize, type Parked } from "../../../store/billing/billing-run.ts";
import type { ClockProgress, TestClockStore } from "../../../store/billing/test-clock.ts";

/** What a round needs. */
export interface TestClockParts {
  readonly store: TestClockStore;
  /** Wakes the organisation's ledger workflow; false where Temporal was not reached, and the dispatcher will. */
  readonly wake: (organisationId: string) => Promise<boolean>;
  /** Told of each subscription that was set aside. */
  readonly onParked: (organisationId: string, parked: Parked) => void;
}

/** Whose clock it is. */
export interface ClockOrder {
  readonly organisationId: string;
}

/** The activities of the clock's workflow. */
export interface TestClockActivities {
  advanceBatch(order: ClockOrder): Promise<ClockBatch>;
}

/**
 * How long a round goes on with further instants: only then the engine is told, which costs it and the worker as much
 * as some of them do. Short against what a worker's end waits for, and often enough for whoever looks at the progress.
 */
const batchMs = 2_000;

/** How long a subscription that somebody else has locked is waited for at a time. */
const lockedMs = 20;

/** The activities over these parts. */
export function createTestClockActivities(parts: TestClockParts): TestClockActivities {
  return { advanceBatch: ({ organisationId }) => advanceBatch(parts, organisationId) };
}

/** From one due instant to the next, for a while. A repetition goes on from where the clock is. */
async function advanceBatch(parts: TestClockParts, organisationId: string): Promise<ClockBatch> {
  const { store, wake } = parts;
  const endMs = performance.now() + batchMs;
  let hasIssued = false;
  // Once a round: while the clock is on its way every wake-up has the ledger workflow look through all that waits.
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
      return { isThere: true, progress: move.kind === "arrived" ? reportProgress(move.progress) : null };
    }
    crashPoint("clock_moved");
    hasIssued = (await billInstant(parts, organisationId, endMs)) || hasIssued;
    if (performance.now() < endMs) continue;
    await notifyLedger();
    return { isThere: false, progress: reportProgress(move.progress) };
  }
}

/** Everything that is due at what the clock shows, or as much as there is time for; whether it raised documents. */
async function billInstant(
  { store, onParked }: TestClockParts,
  organisationId: string,
  endMs: number,
): Promise<boolean> {
  let hasIssued = false;
  for (;;) {
    const chunk = await store.billChunk(organisationId, { onLoaded: () => crashPoint("chunk_loaded") });
    if (chunk.taken > 0) crashPoint("chunk_saved");
    for (const parked of chunk.parked) onParked(organisationId, parked);
    hasIssued ||= chunk.raised > 0;
    if (chunk.taken === 0) await pause(lockedMs);
    // Whether anything is left there, the next move of the clock will see.
    if (chunk.taken < chunkSize || performance.now() > endMs) return hasIssued;
  }
}

function reportProgress({ from, target, now, ...counts }: ClockProgress): ClockProgressReport {
  return { from: from.toISOString(), target: target.toISOString(), now: now.toISOString(), ...counts };
}
