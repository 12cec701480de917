/**
 * What the billing run does: starts the billing of organisations that have something due, and performs it in rounds of chunks, telling
 * the ledger workflow of the documents that it leaves. architecture §5.
 */
import type { BillingRound, DuePage, DuePageInput } from "../../../../workflows/contract.ts";
import { checkpoint } from "../../../crash-points.ts";
import type { BillingRunStore, Parked } from "../../../store/billing/billing-run.ts";

/** What the run needs. */
export interface BillingParts {
  readonly store: BillingRunStore;
  /** Starts the organisation's billing workflow, or leaves the one that runs to itself; false where Temporal was not reached. */
  readonly startBilling: (organisationId: string) => Promise<boolean>;
  /** Wakes the organisation's ledger workflow; false where Temporal was not reached, and the dispatcher will. */
  readonly wake: (organisationId: string) => Promise<boolean>;
  /** Told of each subscription that was set aside. */
  readonly onParked: (organisationId: string, parked: Parked) => void;
}

/** An organisation to bill. */
export interface BillingOrder {
  readonly organisationId: string;
}

/** The activities of the billing workflows. */
export interface BillingActivities {
  startDue(input: DuePageInput): Promise<DuePage>;
  /** How many subscriptions of the organisation are due. */
  countDue(order: BillingOrder): Promise<number>;
  billRound(order: BillingOrder): Promise<BillingRound>;
}

/** Organisations on a page: started within seconds, so that the activity stays short. */
const pageSize = 500;

/** Starts under way at once: the engine answers several in the time that one takes. */
const startsAtOnce = 16;

/**
 * How long a round goes on with further chunks: only then the engine is told, which costs it and the worker as much as a chunk does.
 * Short against what a worker's end waits for.
 */
const roundMs = 2_000;

/** The activities over these parts. */
export function createBilling(parts: BillingParts): BillingActivities {
  return {
    startDue: ({ after }) => startDue(parts, after),
    countDue: async ({ organisationId }) => (await parts.store.countDue(organisationId)).due,
    billRound: ({ organisationId }) => billRound(parts, organisationId),
  };
}

async function startDue({ store, startBilling }: BillingParts, after: string | null): Promise<DuePage> {
  const page = await store.findDueOrganisations(after, pageSize);
  const waiting = page.values();
  let started = 0;
  // One queue for all of them: each takes the next organisation when its last one is started.
  const starter = async (): Promise<void> => {
    for (const organisationId of waiting) if (await startBilling(organisationId)) started += 1;
  };
  await Promise.all(Array.from({ length: startsAtOnce }, starter));
  return { found: page.length, started, next: page.length < pageSize ? null : (page.at(-1) ?? null) };
}

/** Chunks, one after the other, for a while. A repetition finds what the first one left. */
async function billRound({ store, wake, onParked }: BillingParts, organisationId: string): Promise<BillingRound> {
  const endMs = performance.now() + roundMs;
  let done = 0;
  let setAside = 0;
  let raisedSinceWake = 0;
  let hasWoken = false;
  const tellLedger = async (): Promise<void> => {
    await wake(organisationId);
    checkpoint("run_woken");
    raisedSinceWake = 0;
    hasWoken = true;
  };
  for (;;) {
    const chunk = await store.billChunk(organisationId, { onLoaded: () => checkpoint("chunk_loaded") });
    if (chunk.taken > 0) checkpoint("chunk_saved");
    done += chunk.taken;
    setAside += chunk.parked.length;
    for (const parked of chunk.parked) onParked(organisationId, parked);
    raisedSinceWake += chunk.raised;
    // At once, so that the first documents go out while further chunks are performed; those find the workflow at work.
    if (raisedSinceWake > 0 && !hasWoken) await tellLedger();
    const isMore = chunk.taken > 0;
    if (isMore && performance.now() < endMs) continue;
    if (raisedSinceWake > 0) await tellLedger();
    return { done, setAside, isMore };
  }
}
