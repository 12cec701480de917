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
import { invalidationsOf } from "../../../domain/ledger/validation.ts";
import type {
  AmendmentStore,
  OpenAmendments,
} from "../../../store/ledger-jobs/amendments/amendments.ts";
import { connectionPause, observedLedger } from "./ledger-call.ts";
import { type PostingDependencies, unconnectedPauseMs } from "./post-group.ts";
import { requestAmendment } from "./request-amendment.ts";

/** The dependencies of a batch. */
interface AmendmentParts extends Pick<PostingDependencies, "openLedger" | "callDeadlineMs"> {
  readonly openStore: OpenAmendments;
  /** Wakes the organisation's ledger workflow if an amendment leaves documents to be posted. */
  readonly wake: (organisationId: string) => Promise<boolean>;
  /** Starts the allocation of held credit, which waits during an amendment. */
  readonly startAllocation: (input: CreditAllocationInput) => Promise<boolean>;
}

/**
 * The lease of an amendment, in call deadlines. It takes at most two calls, and then its outcome is
 * saved.
 */
const leaseFactor = 3;

/**
 * Creates the activities over these dependencies. A retried batch finds what the first one left.
 */
export function createAmendment(parts: AmendmentParts) {
  return { amendBatch: (input: InvoiceAmendmentInput) => amendBatch(parts, input) };
}

/** The activities of the amendment workflow. */
export type AmendmentActivities = ReturnType<typeof createAmendment>;

async function amendBatch(
  parts: AmendmentParts,
  { organisationId, subscriptionId, jobId }: InvoiceAmendmentInput,
): Promise<WorkBatch> {
  const store = parts.openStore(organisationId);
  const connected = await store.connection();
  if (connected === null || connected.pausedMs > 0) {
    const reason = connected?.pausedReason ?? "no ledger is connected";
    await store.reschedule(jobId, connected?.pausedMs ?? unconnectedPauseMs, reason);
    return describeBatch(store, jobId);
  }
  const amendment = await store.take(jobId, leaseFactor * parts.callDeadlineMs);
  if (amendment === null) return describeBatch(store, jobId);
  crashPoint("amendment_taken");
  const { ledger, answerOf } = observedLedger(
    parts.openLedger(organisationId, connected.connection),
  );
  const { outcome, failures } = await requestAmendment(
    ledger,
    amendment,
    parts.callDeadlineMs,
    await store.referenceData(),
  );
  crashPoint("amendment_answered");
  // The pause is saved before the outcome, so that no other worker calls the ledger in between.
  const pause = connectionPause(failures);
  if (pause !== null) await store.pause(pause.pauseMs, pause.reason);
  const isCreditPlanned = await store.record(amendment, answerOf(outcome));
  crashPoint("amendment_saved");
  if (outcome.kind === "refused") await store.invalidate(invalidationsOf(outcome.reason));
  if (outcome.kind === "closed") await parts.wake(organisationId);
  if (isCreditPlanned) await parts.startAllocation({ organisationId, subscriptionId });
  return describeBatch(store, jobId);
}

/**
 * Returns the batch's result as the database has it now, also if another worker was faster. It has
 * reasons only, because messages may hold names.
 */
async function describeBatch(store: AmendmentStore, jobId: string): Promise<WorkBatch> {
  const state = await store.read(jobId);
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
