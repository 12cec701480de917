/**
 * The activities of the billing run. They start the billing of organisations with something due,
 * and perform it in batches of chunks. After documents were issued they wake the ledger workflow.
 * PERIOD-4, POSTING-8.
 */
import type {
  BillingBatch,
  DuePage,
  DuePageInput,
  OrganisationInput,
} from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import type { BillingRunStore, Parked } from "../../../store/billing/billing-run.ts";
import { pageSize, startPage } from "../start-page.ts";

/** The dependencies of billing in chunks. */
export interface ChunkDependencies {
  readonly store: Pick<BillingRunStore, "billChunk">;
  /**
   * Wakes the organisation's ledger workflow. False if Temporal was not reached. Then the
   * dispatcher wakes it.
   */
  readonly wake: (organisationId: string) => Promise<boolean>;
  /** Called for each subscription that was parked. */
  readonly onParked: (organisationId: string, parked: Parked) => void;
}

interface BillingDependencies extends ChunkDependencies {
  readonly store: BillingRunStore;
  /**
   * Starts the organisation's billing workflow, or leaves a running one alone. False if Temporal
   * was not reached.
   */
  readonly startBilling: (organisationId: string) => Promise<boolean>;
}

/**
 * How long a batch continues with further chunks. A result for each chunk would cost the engine and
 * the worker as much as the chunk. It is shorter than the grace of a stopping worker.
 */
const batchMs = 2_000;

/** Creates the activities over these dependencies. */
export function createBilling(deps: BillingDependencies) {
  return {
    startDue: async ({ after }: DuePageInput): Promise<DuePage> =>
      startPage(await deps.store.findDueOrganisations(after, pageSize), deps.startBilling),
    /** Returns how many subscriptions of the organisation are due. */
    countDue: async ({ organisationId }: OrganisationInput): Promise<number> =>
      (await deps.store.countDue(organisationId)).due,
    billBatch: ({ organisationId }: OrganisationInput): Promise<BillingBatch> =>
      billBatch(deps, organisationId),
  };
}

/** The activities of the billing workflows. */
export type BillingActivities = ReturnType<typeof createBilling>;

/** Bills chunks one after the other, for a while. A retry finds what the first attempt left. */
async function billBatch(deps: BillingDependencies, organisationId: string): Promise<BillingBatch> {
  const endMs = performance.now() + batchMs;
  let done = 0;
  let parked = 0;
  let issued = 0;
  let issuedSinceWake = 0;
  let hasWoken = false;
  const notifyLedger = async (): Promise<void> => {
    await deps.wake(organisationId);
    crashPoint("run_woken");
    issuedSinceWake = 0;
    hasWoken = true;
  };
  for (;;) {
    const chunk = await billChunk(deps, organisationId);
    done += chunk.claimed;
    parked += chunk.parked.length;
    issued += chunk.issued;
    issuedSinceWake += chunk.issued;
    // Wakes at once, so that the first documents are posted while further chunks are billed. Later
    // chunks find the workflow running.
    if (issuedSinceWake > 0 && !hasWoken) await notifyLedger();
    const isMore = chunk.claimed > 0;
    if (isMore && performance.now() < endMs) continue;
    if (issuedSinceWake > 0) await notifyLedger();
    return { done, parked, issued, isMore };
  }
}

/** Bills one chunk of what is due. */
export async function billChunk({ store, onParked }: ChunkDependencies, organisationId: string) {
  const chunk = await store.billChunk(organisationId, {
    onLoaded: () => crashPoint("chunk_loaded"),
  });
  if (chunk.claimed > 0) crashPoint("chunk_saved");
  for (const parked of chunk.parked) onParked(organisationId, parked);
  return chunk;
}
