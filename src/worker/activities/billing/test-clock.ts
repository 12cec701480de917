/**
 * What the workflow of a sandbox's test clock does, in rounds: moves the clock to the next instant at which something
 * is due, performs that chunk by chunk, and so on; the ledger workflow is told of the documents and follows. decisions
 * §4 "Sandbox".
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClockProgressTold, ClockRound } from "../../../../workflows/contract.ts";
import { checkpoint } from "../../../crash-points.ts";
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
  advanceRound(order: ClockOrder): Promise<ClockRound>;
}

/**
 * How long a round goes on with further instants: only then the engine is told, which costs it and the worker as much
 * as some of them do. Short against what a worker's end waits for, and often enough for whoever looks at the progress.
 */
const roundMs = 2_000;

/** How long a subscription that somebody else has locked is waited for at a time. */
const lockedMs = 20;

/** The activities over these parts. */
export function createTestClockActivities(parts: TestClockParts): TestClockActivities {
  return { advanceRound: ({ organisationId }) => advanceRound(parts, organisationId) };
}

/** From one due instant to the next, for a while. A repetition goes on from where the clock is. */
async function advanceRound(parts: TestClockParts, organisationId: string): Promise<ClockRound> {
  const { store, wake } = parts;
  const endMs = performance.now() + roundMs;
  let hasRaised = false;
  // Once a round: while the clock is on its way every wake-up has the ledger workflow look through all that waits.
  const tellLedger = async (): Promise<void> => {
    if (!hasRaised) return;
    await wake(organisationId);
    checkpoint("run_woken");
  };
  for (;;) {
    const move = await store.moveClock(organisationId);
    if (move.kind !== "moved") {
      checkpoint("clock_arrived");
      await tellLedger();
      return { isThere: true, progress: move.kind === "arrived" ? tellProgress(move.progress) : null };
    }
    checkpoint("clock_moved");
    hasRaised = (await billInstant(parts, organisationId, endMs)) || hasRaised;
    if (performance.now() < endMs) continue;
    await tellLedger();
    return { isThere: false, progress: tellProgress(move.progress) };
  }
}

/** Everything that is due at what the clock shows, or as much as there is time for; whether it raised documents. */
async function billInstant(
  { store, onParked }: TestClockParts,
  organisationId: string,
  endMs: number,
): Promise<boolean> {
  let hasRaised = false;
  for (;;) {
    const chunk = await store.billChunk(organisationId, { onLoaded: () => checkpoint("chunk_loaded") });
    if (chunk.taken > 0) checkpoint("chunk_saved");
    for (const parked of chunk.parked) onParked(organisationId, parked);
    hasRaised ||= chunk.raised > 0;
    if (chunk.taken === 0) await pause(lockedMs);
    // Whether anything is left there, the next move of the clock will see.
    if (chunk.taken < chunkSize || performance.now() > endMs) return hasRaised;
  }
}

function tellProgress({ from, target, now, ...counts }: ClockProgress): ClockProgressTold {
  return { from: from.toISOString(), target: target.toISOString(), now: now.toISOString(), ...counts };
}
