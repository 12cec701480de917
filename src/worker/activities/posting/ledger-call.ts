/**
 * Turns the failure of a ledger call into the outcomes of the jobs that it carried. LEDGER-2,
 * POSTING-2.
 */
import type { AnsweredRequest } from "../../../domain/ledger/answered-request.ts";
import type { Ledger, LedgerCall, LedgerFailure } from "../../../ledger/port/ledger.ts";
import type { JobAttempt, UndoneOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";

/** The first pause after a failed attempt. Each further one doubles it. */
const firstDelayMs = 1_000;

/**
 * The longest pause between two attempts. A ledger that recovers is noticed within five minutes.
 */
const maxDelayMs = 5 * 60_000;

/** The pause of a connection that the ledger does not authorise. A person must act. */
const unauthorisedPauseMs = 60_000;

/** Returns the pause before the next attempt after `attempts` have failed. */
export function retryDelayMs(attempts: number): number {
  return Math.min(maxDelayMs, firstDelayMs * 2 ** Math.max(0, Math.min(attempts - 1, 20)));
}

/** A taken job that a call carried. */
export interface Carried {
  readonly id: string;
  readonly attempts: number;
}

/** Returns the job and the attempt that an outcome belongs to. */
export function attemptOf({ id, attempts }: Carried): JobAttempt {
  return { jobId: id, attempt: attempts };
}

/** Observes the requests of calls. `answerOf` adds the last one to an outcome: it decided. */
export function observed(call: LedgerCall) {
  const last: { answered?: AnsweredRequest } = {};
  const onAnswered = (answered: AnsweredRequest) => Object.assign(last, { answered });
  const answerOf = <O extends object>(outcome: O): O => ({ ...outcome, ...last });
  return { call: { ...call, onAnswered }, answerOf };
}

/** Returns the ledger with an observer of what amends an invoice and allocates credit. */
export function observedLedger(ledger: Ledger) {
  const {
    call: { onAnswered },
    answerOf,
  } = observed({ deadlineMs: 0, jobKeys: [] });
  const watch =
    <A extends readonly unknown[], R>(method: (call: LedgerCall, ...rest: A) => R) =>
    (call: LedgerCall, ...rest: A) =>
      method({ ...call, onAnswered }, ...rest);
  const watched: Ledger = {
    ...ledger,
    amendInvoice: watch(ledger.amendInvoice),
    allocateCredit: watch(ledger.allocateCredit),
    getInvoice: watch(ledger.getInvoice),
    getCreditNote: watch(ledger.getCreditNote),
    findInvoices: watch(ledger.findInvoices),
    findCreditNotes: watch(ledger.findCreditNotes),
  };
  return { ledger: watched, answerOf };
}

/**
 * After so many attempts a job is sent singly, so that a document which always fails does not hold
 * up others in its group. The first attempt and the look-up after a lost answer are two.
 */
export const batchAttempts = 2;

/** Returns the outcome of a job that is sent again after a pause. */
export function againOutcome(
  job: Carried,
  delayMs: number,
  countsAsAttempt: boolean,
  reason: string,
): UndoneOutcome & { readonly kind: "again" } {
  return { ...attemptOf(job), kind: "again", delayMs, countsAsAttempt, reason };
}

/** Returns the outcome that puts a job back at once, because it does not fit this batch. */
export function rescheduleOutcome(job: Carried): UndoneOutcome {
  return againOutcome(job, 0, false, "next batch");
}

/**
 * Returns the outcome of one job whose call failed. After `lookUpAfterMs` the first request can no
 * longer take effect. `rate_limited` and `unauthorised` use up no attempt. A lost answer is looked
 * up and never resent blindly (POSTING-2). A refusal of a whole call is final only for a document
 * that was alone in it. It is never final if the ledger has no such address.
 */
export function failureOutcome(
  job: Carried,
  failure: LedgerFailure,
  lookUpAfterMs: number,
  isSingle: boolean,
): UndoneOutcome {
  const attempt = attemptOf(job);
  const again = (delayMs: number, countsAsAttempt: boolean, reason: string) =>
    againOutcome(job, delayMs, countsAsAttempt, reason);
  switch (failure.kind) {
    case "refused": {
      const message = failure.messages.join(" ") || "Refused";
      if (isSingle && failure.reason !== "not_found") return refusalOutcome(job, failure);
      const reason = `the whole call was refused: ${message}`;
      return { ...again(retryDelayMs(job.attempts), true, reason), isRemembered: true };
    }
    case "rate_limited":
      return again(failure.retryAfterMs, false, reasonOf(failure));
    case "unauthorised":
      return again(unauthorisedPauseMs, false, `the ledger does not authorise us: ${failure.why}`);
    case "high_volume":
      return again(retryDelayMs(job.attempts), true, failure.message);
    case "unavailable": {
      const { isRemembered, outcome, cause: reason } = failure;
      const remembered = isRemembered === undefined ? {} : { isRemembered };
      return outcome === "unknown"
        ? { ...attempt, ...remembered, kind: "uncertain", delayMs: lookUpAfterMs, reason }
        : { ...again(retryDelayMs(job.attempts), true, reason), ...remembered };
    }
  }
}

/** Returns the outcome of the ledger's final refusal of one document. */
export function refusalOutcome(
  job: Carried,
  { reason, messages }: LedgerFailure & { kind: "refused" },
): UndoneOutcome {
  return { ...attemptOf(job), kind: "refused", reason, message: messages.join(" ") || "Refused" };
}

/**
 * Returns the outcome of a look-up that found nothing. The job is sent again at once after the
 * first lost answer, later with growing pauses.
 */
export function missingOutcome(job: Carried): UndoneOutcome {
  // Each time it was sent and then looked up: two attempts.
  const delayMs = job.attempts <= batchAttempts ? 0 : retryDelayMs(Math.ceil(job.attempts / 2));
  return againOutcome(job, delayMs, true, "not in the ledger: sent again");
}

/** Returns the longest pause that the failures put on the whole connection, or null. */
export function connectionPause(
  failures: readonly LedgerFailure[],
): { readonly pauseMs: number; readonly reason: string } | null {
  const pauses = failures.flatMap((failure) => {
    // The call budget of the service keeps a reserve for callers who wait (POSTING-6).
    if (failure.kind === "rate_limited" && failure.isOurs) return [];
    if (failure.kind === "rate_limited")
      return [{ pauseMs: failure.retryAfterMs, reason: `${failure.scope} limit` }];
    if (failure.kind === "unauthorised")
      return [{ pauseMs: unauthorisedPauseMs, reason: failure.why }];
    return [];
  });
  return pauses.reduce<(typeof pauses)[number] | null>(
    (longest, pause) => (longest === null || pause.pauseMs > longest.pauseMs ? pause : longest),
    null,
  );
}

/**
 * Returns how long the call budget of the service allows no call of this kind, or 0 if it was not
 * the cause. Work with a waiting caller wakes the workflow anyway.
 */
export function spentBudgetMs(failures: readonly LedgerFailure[]): number {
  const waits = failures.map((failure) =>
    failure.kind === "rate_limited" && failure.isOurs === true ? failure.retryAfterMs : 0,
  );
  return Math.max(0, ...waits);
}

/**
 * Returns the outcome of a job whose look-up failed. It stays uncertain, and nothing is sent before
 * a look-up succeeds. The ledger's own words are kept.
 */
export function failedLookupOutcome(job: Carried, failure: LedgerFailure): UndoneOutcome {
  const delayMs =
    failure.kind === "rate_limited" ? failure.retryAfterMs : retryDelayMs(job.attempts);
  return {
    ...attemptOf(job),
    kind: "uncertain",
    delayMs,
    reason: `look-up failed: ${causeOf(failure)}`,
  };
}

function causeOf(failure: LedgerFailure): string {
  switch (failure.kind) {
    case "refused":
      return `${failure.reason}: ${failure.messages.join(" ")}`;
    case "unauthorised":
      return `${failure.why}: ${failure.message}`;
    case "high_volume":
      return failure.message;
    default:
      return reasonOf(failure);
  }
}

/**
 * Returns why a call failed, without messages, which may hold names. A spent limit is the ledger's,
 * or the call budget of the service, which allowed no call.
 */
export function reasonOf(failure: LedgerFailure): string {
  switch (failure.kind) {
    case "refused":
      return `the read was refused: ${failure.reason}`;
    case "rate_limited":
      return failure.isOurs
        ? `our calls to the ledger are used up: ${failure.scope}`
        : `rate limit of the ledger: ${failure.scope}`;
    case "unauthorised":
      return `the ledger does not let us in: ${failure.why}`;
    case "high_volume":
      return "the ledger has too many records to answer";
    case "unavailable":
      return failure.cause;
  }
}
