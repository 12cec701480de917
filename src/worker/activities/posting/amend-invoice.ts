/** One round of an amendment: takes it, asks the ledger for it, saves what came of it. */
import type { CreditAllocationInput, InvoiceAmendmentInput, WorkBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import { invalidationsOf } from "../../../domain/billing/ledger-validation.ts";
import type { AmendmentScope, OpenAmendments } from "../../../store/ledger-jobs/amendments.ts";
import { connectionPause } from "./ledger-call.ts";
import { type PostingDependencies, unconnectedPauseMs } from "./posting.ts";
import { askForAmendment } from "./request-amendment.ts";

/** What a round needs. */
export interface AmendmentParts extends Pick<PostingDependencies, "openLedger" | "callDeadlineMs"> {
  readonly openScope: OpenAmendments;
  /** Wakes the organisation's ledger workflow, where an amendment leaves documents to be made. */
  readonly wake: (organisationId: string) => Promise<boolean>;
  /** Starts putting held credit on invoices, which waits while one is amended. */
  readonly startAllocation: (input: CreditAllocationInput) => Promise<boolean>;
}

/** The activities of the amending workflow. */
export interface AmendmentActivities {
  amendBatch(input: InvoiceAmendmentInput): Promise<WorkBatch>;
}

/**
 * How much longer than a call's deadline an amendment is held: it takes two calls at most, and the outcome is to be
 * saved.
 */
const leaseFactor = 3;

/** The activities over these parts. A round that is repeated finds what the first one left. */
export function createAmendment(parts: AmendmentParts): AmendmentActivities {
  return { amendBatch: (input) => amendBatch(parts, input) };
}

async function amendBatch(
  parts: AmendmentParts,
  { organisationId, subscriptionId, jobId }: InvoiceAmendmentInput,
): Promise<WorkBatch> {
  const scope = parts.openScope(organisationId);
  const connected = await scope.connection();
  if (connected === null || connected.pausedMs > 0) {
    const reason = connected?.pausedReason ?? "no ledger is connected";
    await scope.reschedule(jobId, connected?.pausedMs ?? unconnectedPauseMs, reason);
    return describeBatch(scope, jobId);
  }
  const amendment = await scope.take(jobId, leaseFactor * parts.callDeadlineMs);
  if (amendment === null) return describeBatch(scope, jobId);
  crashPoint("amendment_taken");
  const ledger = parts.openLedger(organisationId, connected.connection);
  const { settlement, failures } = await askForAmendment(ledger, amendment, parts.callDeadlineMs, await scope.offer());
  crashPoint("amendment_answered");
  // Before anybody is told of it: nobody else is to ask meanwhile.
  const pause = connectionPause(failures);
  if (pause !== null) await scope.pause(pause.pauseMs, pause.reason);
  const isCreditPlanned = await scope.settle(amendment, settlement);
  crashPoint("amendment_saved");
  if (settlement.kind === "refused") await scope.doubt(invalidationsOf(settlement.reason));
  if (settlement.kind === "closed") await parts.wake(organisationId);
  if (isCreditPlanned) await parts.startAllocation({ organisationId, subscriptionId });
  return describeBatch(scope, jobId);
}

/**
 * The round as the database has it now: also where another one was faster. Reasons only: messages may name somebody.
 */
async function describeBatch(scope: AmendmentScope, jobId: string): Promise<WorkBatch> {
  const state = await scope.look(jobId);
  if (state === null) {
    return { state: "settled", outcome: "unknown", detail: "there is no such amendment", nextInMs: null };
  }
  const { number, attempts, outcome, reason, nextInMs } = state;
  const why = reason === null || reason === outcome ? "" : `: ${reason}`;
  if (outcome !== null) return { state: "settled", outcome, detail: `${number} ${outcome}${why}`, nextInMs: null };
  // An attempt that the ledger did not judge is not counted.
  const attempt = attempts === 0 ? "" : `, attempt ${attempts}`;
  return { state: "waiting", outcome, detail: `amending ${number}${attempt}${why}`, nextInMs };
}
