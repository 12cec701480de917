/**
 * One batch of an amendment: takes its job, sends it to the ledger and saves the outcome
 * (POSTING-7).
 */
import type {
  CreditAllocationInput,
  InvoiceAmendmentInput,
  WorkBatch,
} from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import { invalidationsOf } from "../../../domain/billing/ledger-validation.ts";
import type { AmendmentStore, OpenAmendments } from "../../../store/ledger-jobs/amendments.ts";
import { connectionPause } from "./ledger-call.ts";
import { type PostingDependencies, unconnectedPauseMs } from "./posting.ts";
import { requestAmendment } from "./request-amendment.ts";

/** The dependencies of a batch. */
export interface AmendmentParts extends Pick<PostingDependencies, "openLedger" | "callDeadlineMs"> {
  readonly openScope: OpenAmendments;
  /** Wakes the organisation's ledger workflow if an amendment leaves documents to be posted. */
  readonly wake: (organisationId: string) => Promise<boolean>;
  /** Starts the allocation of held credit, which waits during an amendment. */
  readonly startAllocation: (input: CreditAllocationInput) => Promise<boolean>;
}

/** The activities of the amendment workflow. */
export interface AmendmentActivities {
  amendBatch(input: InvoiceAmendmentInput): Promise<WorkBatch>;
}

/**
 * The lease of an amendment, in call deadlines. It takes at most two calls, and then its outcome is
 * saved.
 */
const leaseFactor = 3;

/**
 * Creates the activities over these dependencies. A retried batch finds what the first one left.
 */
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
  const { settlement, failures } = await requestAmendment(
    ledger,
    amendment,
    parts.callDeadlineMs,
    await scope.offer(),
  );
  crashPoint("amendment_answered");
  // The pause is saved before the outcome, so that no other worker calls the ledger in between.
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
 * Returns the batch's result as the database has it now, also if another worker was faster. It has
 * reasons only, because messages may hold names.
 */
async function describeBatch(scope: AmendmentStore, jobId: string): Promise<WorkBatch> {
  const state = await scope.look(jobId);
  if (state === null) {
    return {
      state: "done",
      outcome: "unknown",
      detail: "there is no such amendment",
      nextInMs: null,
    };
  }
  const { number, attempts, outcome, reason, nextInMs } = state;
  const why = reason === null || reason === outcome ? "" : `: ${reason}`;
  if (outcome !== null)
    return { state: "done", outcome, detail: `${number} ${outcome}${why}`, nextInMs: null };
  // An attempt that the ledger did not evaluate is not counted.
  const attempt = attempts === 0 ? "" : `, attempt ${attempts}`;
  return { state: "waiting", outcome, detail: `amending ${number}${attempt}${why}`, nextInMs };
}
