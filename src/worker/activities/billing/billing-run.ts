/**
 * What the billing run does: starts the billing of organisations that have something due, and performs it in rounds of chunks, telling
 * the ledger workflow of the documents that it leaves. architecture §5.
 */
import type { BillingBatch, DuePage, DuePageInput } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
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
  billBatch(order: BillingOrder): Promise<BillingBatch>;
}

/** Organisations on a page: started within seconds, so that the activity stays short. */
const pageSize = 500;

/** Starts under way at once: the engine answers several in the time that one takes. */
const startsAtOnce = 16;

/**
 * How long a round goes on with further chunks: only then the engine is told, which costs it and the worker as much as a chunk does.
 * Short against what a worker's end waits for.
 */
const batchMs = 2_000;

/** The activities over these parts. */
export function createBilling(parts: BillingParts): BillingActivities {
  return {
    startDue: ({ after }) => startDue(parts, after),
    countDue: async ({ organisationId }) => (await parts.store.countDue(organisationId)).due,
    billBatch: ({ organisationId }) => billBatch(parts, organisationId),
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
async function billBatch({ store, wake, onParked }: BillingParts, organisationId: string): Promise<BillingBatch> {
  const endMs = performance.now() + batchMs;
  let done = 0;
  let setAside = 0;
  let issuedSinceWake = 0;
  let hasWoken = false;
  const notifyLedger = async (): Promise<void> => {
    await wake(organisationId);
    crashPoint("run_woken");
    issuedSinceWake = 0;
    hasWoken = true;
  };
  for (;;) {
    const chunk = await store.billChunk(organisationId, { onLoaded: () => crashPoint("chunk_loaded") });
    if (chunk.taken > 0) crashPoint("chunk_saved");
    done += chunk.taken;
    setAside += chunk.parked.length;
    for (const parked of chunk.parked) onParked(organisationId, parked);
    issuedSinceWake += chunk.raised;
    // At once, so that the first documents go out while further chunks are performed; those find the workflow at work.
    if (issuedSinceWake > 0 && !hasWoken) await notifyLedger();
    const isMore = chunk.taken > 0;
    if (isMore && performance.now() < endMs) continue;
    if (issuedSinceWake > 0) await notifyLedger();
    return { done, setAside, isMore };
  }
}
