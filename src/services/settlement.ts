/** Waiting, within an answer's budget, for the ledger to decide on what a request has committed. */
import type { EndSubscriptionInput, InvoiceAmendmentInput } from "../../workflows/contract.ts";
import { crashPoint } from "../crash-points.ts";
import type { JobOutcome, Outcomes, Watch } from "../store/ledger-jobs/job-notifications.ts";

/** Wakes the organisation's ledger workflow; false where Temporal could not be reached. */
export type WakeLedger = (organisationId: string) => Promise<boolean>;

/** Starts the workflow of an amendment; false where Temporal could not be reached. */
export type StartAmendment = (input: InvoiceAmendmentInput) => Promise<boolean>;

/** Starts the workflow of an end; false where Temporal could not be reached. */
export type StartTermination = (input: EndSubscriptionInput) => Promise<boolean>;

/** What a method needs to have its documents settled. */
export interface Settlement {
  readonly wake: WakeLedger;
  readonly startAmendment: StartAmendment;
  readonly startTermination: StartTermination;
  readonly outcomes: Outcomes;
}

/** How long an answer waits for the ledger. decisions §6: up to 15 seconds. */
export const answerBudgetMs = 15_000;

/**
 * Wakes the ledger workflow and waits until every watched operation is decided, is known to be put off past `untilMs`, or
 * `untilMs` has come. With Temporal out of reach nothing is waited for: what is committed is settled later by itself.
 */
export async function awaitPosting(
  { wake }: Settlement,
  organisationId: string,
  watch: Watch,
  untilMs: number,
): Promise<readonly JobOutcome[]> {
  return awaitWork(() => wake(organisationId), organisationId, watch, untilMs);
}

/** The same for any work: `begin` has Temporal begin it, and says whether Temporal could be reached. */
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
