/**
 * Waits, within the time budget of a request, until the ledger has decided about what the request
 * committed (POSTING-4).
 */
import type { EndSubscriptionInput, InvoiceAmendmentInput } from "../../workflows/contract.ts";
import { crashPoint } from "../crash-points.ts";
import type { JobOutcome, Outcomes, Watch } from "../store/ledger-jobs/job-notifications.ts";

/** Wakes the organisation's posting workflow. Returns false if Temporal could not be reached. */
export type WakeLedger = (organisationId: string) => Promise<boolean>;

/** Starts the workflow of an amendment. Returns false if Temporal could not be reached. */
export type StartAmendment = (input: InvoiceAmendmentInput) => Promise<boolean>;

/** Starts the workflow of an end. Returns false if Temporal could not be reached. */
export type StartTermination = (input: EndSubscriptionInput) => Promise<boolean>;

/** The dependencies of a method that posts documents and awaits their outcome. */
export interface Settlement {
  readonly wake: WakeLedger;
  readonly startAmendment: StartAmendment;
  readonly startTermination: StartTermination;
  readonly outcomes: Outcomes;
}

/** How long a request waits for the ledger: 15 seconds (POSTING-4). */
export const answerBudgetMs = 15_000;

/**
 * Wakes the posting workflow and waits. It returns when every watched job is decided, when a job is
 * known to be rescheduled past `untilMs`, or at `untilMs`. If Temporal is unreachable it does not
 * wait: committed jobs are posted later (INVARIANT-9).
 */
export async function awaitPosting(
  { wake }: Settlement,
  organisationId: string,
  watch: Watch,
  untilMs: number,
): Promise<readonly JobOutcome[]> {
  return awaitWork(() => wake(organisationId), organisationId, watch, untilMs);
}

/**
 * Awaits any work like `awaitPosting`. `begin` starts it in Temporal and returns whether Temporal
 * was reached.
 */
export async function awaitWork(
  begin: () => Promise<boolean>,
  organisationId: string,
  watch: Watch,
  untilMs: number,
): Promise<readonly JobOutcome[]> {
  const begun = await begin();
  crashPoint("ledger_woken");
  return watch.settled(organisationId, begun ? untilMs : Date.now());
}
