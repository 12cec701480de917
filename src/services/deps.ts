/**
 * What every service method works with: the caller's tenant, the posting of its documents, and the
 * repetition of its writes.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { EndSubscriptionInput, InvoiceAmendmentInput } from "../../workflows/contract.ts";
import { crashPoint } from "../crash-points.ts";
import type { Contradiction } from "../present/explanations.ts";
import { isDatabaseUnreachable } from "../store/database/errors.ts";
import type { JobOutcome, Outcomes } from "../store/ledger-jobs/job-notifications.ts";
import type { Store, Tenant } from "../store/tenant.ts";
import type { Call } from "../transport/rpc/caller.ts";

/** The dependencies of the services. */
export type Deps = ReturnType<typeof createDeps>;

/**
 * Creates the dependencies over the store and the work in Temporal. `onContradiction` reports a
 * document whose amounts do not follow from their facts.
 */
export function createDeps(
  store: Store,
  work: LedgerWork,
  onContradiction: (contradiction: Contradiction) => void,
) {
  return {
    onContradiction,
    /** Opens the data of the caller's organisation, as of the call. */
    tenant: ({ caller }: Call): Tenant => store.tenant(caller.organisationId, caller.now),
    /** Opens the posting of what the call commits. The deadline is counted from here. */
    posting: ({ caller }: Call): Posting => createPosting(work, caller.organisationId),
  };
}

/** How long a request waits for the ledger: 15 seconds (POSTING-4). */
const answerBudgetMs = 15_000;

/**
 * Starts work in Temporal. Each start resolves to false if it has not begun, and to true if it has
 * or may have: Temporal got it and was slow.
 */
export interface LedgerWork {
  /** Wakes the organisation's posting workflow. */
  wake(organisationId: string): Promise<boolean>;
  startAmendment(input: InvoiceAmendmentInput): Promise<boolean>;
  startTermination(input: EndSubscriptionInput): Promise<boolean>;
  readonly outcomes: Outcomes;
}

/**
 * The posting of what one request commits. It waits for the ledger's decision within the time
 * budget of the request (POSTING-4).
 */
export type Posting = ReturnType<typeof createPosting>;

/** Opens the posting of a request. */
export function createPosting(
  { wake, startAmendment, startTermination, outcomes }: LedgerWork,
  organisationId: string,
) {
  /** The request waits for the ledger until this instant at the latest. */
  const deadline = new Date(Date.now() + answerBudgetMs);
  const wakePosting = () => wake(organisationId);
  const awaitJobs = async (
    jobIds: readonly string[],
    start = wakePosting,
  ): Promise<readonly JobOutcome[]> => {
    if (jobIds.length === 0) return [];
    const isAwaited = await start();
    crashPoint("ledger_woken");
    const untilMs = isAwaited ? deadline.getTime() : Date.now();
    return outcomes.await(organisationId, jobIds, untilMs);
  };
  return {
    deadline,
    /** Wakes the posting workflow without waiting for any outcome. */
    wake: wakePosting,
    /** Starts the workflow of an amendment. */
    startAmendment: (input: Omit<InvoiceAmendmentInput, "organisationId">) =>
      startAmendment({ ...input, organisationId }),
    /** Starts the workflow of an end. */
    startTermination: (input: Omit<EndSubscriptionInput, "organisationId">) =>
      startTermination({ ...input, organisationId }),
    /**
     * Starts the work of jobs that this request has just committed, and waits. It returns when
     * every job is decided, when a job is known to be rescheduled past the deadline, or at the
     * deadline. If Temporal is unreachable it does not wait: committed jobs are posted later
     * (INVARIANT-9). If Temporal is only slow it waits, because the start may have begun.
     */
    await: awaitJobs,
    /**
     * Waits for jobs of an earlier try of the request, or of another one. Usually all are decided
     * long since, which one read shows.
     */
    awaitEarlier: async (jobIds: readonly string[]): Promise<void> => {
      if (jobIds.length === 0) return;
      const known = await outcomes.await(organisationId, jobIds, Date.now());
      if (known.some(({ state }) => state === "waiting")) await awaitJobs(jobIds);
    },
  };
}

/**
 * The pause before the next attempt. A database fail-over takes seconds, and many callers repeat at
 * once.
 */
const retryMs = 250;

/**
 * Runs a write, and repeats it until `deadline` if the connection to the database is lost.
 * The write finds what an earlier run has done by ids that are the same in each run, and does the
 * rest. Throws the last error if the outcome is unknown by then. The call refuses
 * `temporarily_unavailable` then (REQUEST-14).
 */
export async function untilKnown<T>(deadline: Date, write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      const isLate = Date.now() + retryMs >= deadline.getTime();
      if (isLate || !isDatabaseUnreachable(error)) throw error;
      await wait(retryMs);
    }
  }
}
