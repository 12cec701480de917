/**
 * The calls of a batch, many jobs in one, and the outcomes of each job that they carried.
 */
import type {
  LedgerAnswer,
  LedgerFailure,
  LedgerRefusalReason,
} from "../../../ledger/port/ledger.ts";
import type {
  PostingOutcome,
  UndoneOutcome,
} from "../../../store/ledger-jobs/document-outcomes.ts";
import {
  attemptOf,
  batchAttempts,
  type Carried,
  failureOutcome,
  refusalOutcome,
} from "./ledger-call.ts";

/** The most jobs that a batch sends singly. Each is a call of the ledger's budget. */
const maxSingleCalls = 5;

/**
 * Concurrent look-ups of a batch. The ledger accepts five calls at once, and other work continues
 * in the meantime.
 */
const maxLookUps = 2;

/**
 * How many objects one call looks up if each has its own address. They share the call's deadline.
 */
export const addressesAtOnce = 5;

/**
 * Groups the calls of a batch: most jobs share one call, of `maxBatchJobs` at most, and jobs with
 * many attempts get a call each. `later` did not fit.
 */
export function groupCalls<T extends Carried>(
  jobs: readonly T[],
  maxBatchJobs: number,
): { readonly calls: readonly (readonly T[])[]; readonly later: readonly T[] } {
  const batched = jobs.filter(({ attempts }) => attempts <= batchAttempts);
  const single = jobs.filter(({ attempts }) => attempts > batchAttempts);
  const calls = [
    ...chunksOf(batched, maxBatchJobs),
    ...single.slice(0, maxSingleCalls).map((one) => [one]),
  ];
  return { calls, later: single.slice(maxSingleCalls) };
}

function chunksOf<T>(all: readonly T[], most: number): readonly (readonly T[])[] {
  const starts = Array.from({ length: Math.ceil(all.length / most) }, (_, index) => index * most);
  return starts.map((start) => all.slice(start, start + most));
}

/**
 * Looks jobs up in calls of `atOnce`. What does not fit this batch stays uncertain and is looked up
 * in the next.
 */
export async function lookUpInCalls<T extends Carried>(
  jobs: readonly T[],
  atOnce: number,
  lookUp: (jobs: readonly T[]) => Promise<GroupOutcome>,
): Promise<GroupOutcome> {
  const taken = jobs.slice(0, maxLookUps * atOnce);
  const found = await Promise.all(chunksOf(taken, atOnce).map(lookUp));
  const reason = "looked up in the next batch";
  const outcomes = jobs.slice(maxLookUps * atOnce).map((job): UndoneOutcome => {
    return { ...attemptOf(job), kind: "uncertain", delayMs: 0, countsAsAttempt: false, reason };
  });
  return joinOutcomes([{ outcomes, failures: [] }, ...found]);
}

/**
 * Returns the outcomes of a call that creates an object for each job. The ledger refused those in
 * `taken` with its words, because their key is taken: by our own earlier request whose answer was
 * lost, or by another object. They are looked up.
 */
export function createdOutcomes<Job extends Carried, Created>(
  jobs: readonly Job[],
  answer: LedgerAnswer<readonly LedgerAnswer<Created>[]>,
  takenReason: LedgerRefusalReason,
  deadlineMs: number,
  done: (job: Job, created: Created) => PostingOutcome,
): GroupOutcome & { readonly taken: ReadonlyMap<Job, readonly string[]> } {
  const taken = new Map<Job, readonly string[]>();
  if (answer.kind !== "ok") {
    const isSingle = jobs.length === 1;
    const outcomes = jobs.map((job) => failureOutcome(job, answer, deadlineMs, isSingle));
    return { outcomes, failures: [answer], taken };
  }
  const outcomes = jobs.flatMap((job, index): readonly PostingOutcome[] => {
    const element = answer.value[index];
    if (element === undefined) throw new Error("the ledger's adapter left out an element");
    if (element.kind === "ok") return [done(job, element.value)];
    if (element.kind !== "refused") return [failureOutcome(job, element, deadlineMs, true)];
    if (element.reason !== takenReason) return [refusalOutcome(job, element)];
    taken.set(job, element.messages);
    return [];
  });
  return { outcomes, failures: [], taken };
}

/**
 * The result of calls: an outcome for each job, and the failures of whole calls, which may pause
 * the connection.
 */
export interface GroupOutcome {
  readonly outcomes: readonly PostingOutcome[];
  readonly failures: readonly LedgerFailure[];
}

/** Joins several results into one. */
export function joinOutcomes(outcomes: readonly GroupOutcome[]): GroupOutcome {
  return {
    outcomes: outcomes.flatMap(({ outcomes }) => outcomes),
    failures: outcomes.flatMap(({ failures }) => failures),
  };
}
