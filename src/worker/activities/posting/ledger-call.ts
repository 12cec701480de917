/** What a failed call to a ledger means for the operations that it carried. Facts: facts-ledger sections 5.2 and 5.4. */
import type { LedgerFailure } from "../../../ledger/port/ledger.ts";
import type { Held, Settlement, UndoneOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";

/** The first pause after a failed attempt; each further one doubles it. */
const firstDelayMs = 1_000;

/** The longest pause between two attempts: a ledger that comes back is noticed within five minutes. */
const longestDelayMs = 5 * 60_000;

/** How long a connection that the ledger does not let in is left alone: a person must act. */
export const unauthorisedPauseMs = 60_000;

/** The pause before the next attempt after `attempts` have failed. */
export function retryDelayMs(attempts: number): number {
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.max(0, Math.min(attempts - 1, 20)));
}

/** A taken operation that a call carried. */
export interface Carried {
  readonly id: string;
  readonly attempts: number;
}

/** Which operation a settlement is of, and by which attempt. */
export function held({ id, attempts }: Carried): Held {
  return { jobId: id, attempt: attempts };
}

/**
 * After so many attempts an operation is sent alone: one document that the ledger always fails on must not keep others in
 * its group. The first attempt and the look-up after a lost answer are two.
 */
const togetherAttempts = 2;

/** How many operations of a round are sent alone at most: each is a call of the ledger's budget. */
const mostAlone = 5;

/** Look-ups of a round beside each other: the ledger takes five calls at once, and others go on meanwhile. */
const mostLookUps = 2;

/** How many are looked up in one call where each is an address of its own: they have its deadline together. */
export const addressesAtOnce = 5;

/** The calls of a round: most operations together in one, troubled ones each alone; `later` did not fit. */
export function groupCalls<T extends Carried>(
  operations: readonly T[],
): { readonly calls: readonly (readonly T[])[]; readonly later: readonly T[] } {
  const together = operations.filter(({ attempts }) => attempts <= togetherAttempts);
  const alone = operations.filter(({ attempts }) => attempts > togetherAttempts);
  const calls = [...(together.length === 0 ? [] : [together]), ...alone.slice(0, mostAlone).map((one) => [one])];
  return { calls, later: alone.slice(mostAlone) };
}

/** Back to where it was taken from, at once: this round has no room for it. */
export function rescheduleOutcome(operation: Carried): UndoneOutcome {
  return { ...held(operation), kind: "again", delayMs: 0, countsAsAttempt: false, reason: "next round" };
}

/**
 * The settlement of one operation whose call failed. `lookUpAfterMs`: when the first request can no longer take effect.
 * `rate_limited` and `unauthorised` use up no attempt; a lost answer is looked up, never sent again blindly. A refusal of
 * a whole call is final only for a document that was alone in it, and never where the ledger has no such address.
 */
export function failureOutcome(
  operation: Carried,
  failure: LedgerFailure,
  lookUpAfterMs: number,
  isAlone: boolean,
): UndoneOutcome {
  const own = held(operation);
  const again = (delayMs: number, countsAsAttempt: boolean, reason: string): UndoneOutcome => {
    return { ...own, kind: "again", delayMs, countsAsAttempt, reason };
  };
  switch (failure.kind) {
    case "refused": {
      const message = failure.messages.join(" ") || "Refused";
      if (isAlone && failure.reason !== "not_found") return refusalOutcome(operation, failure);
      const reason = `the whole call was refused: ${message}`;
      return { ...again(retryDelayMs(operation.attempts), true, reason), isRemembered: true };
    }
    case "rate_limited":
      return again(failure.retryAfterMs, false, limitReason(failure));
    case "unauthorised":
      return again(unauthorisedPauseMs, false, `the ledger does not let us in: ${failure.why}`);
    case "high_volume":
      return again(retryDelayMs(operation.attempts), true, failure.message);
    case "unavailable": {
      const remembered = failure.isRemembered === true ? ({ isRemembered: true } as const) : {};
      return failure.outcome === "unknown"
        ? { ...own, ...remembered, kind: "uncertain", delayMs: lookUpAfterMs, reason: failure.cause }
        : { ...again(retryDelayMs(operation.attempts), true, failure.cause), ...remembered };
    }
  }
}

/** Which limit was met: the ledger's own no, or our budget's, which allowed no call. */
export function limitReason({ scope, isOurs }: LedgerFailure & { readonly kind: "rate_limited" }): string {
  return isOurs ? `our calls to the ledger are used up: ${scope}` : `rate limit of the ledger: ${scope}`;
}

/** The ledger's final no to one document. */
export function refusalOutcome(
  operation: Carried,
  { reason, messages }: LedgerFailure & { kind: "refused" },
): UndoneOutcome {
  return { ...held(operation), kind: "refused", reason, message: messages.join(" ") || "Refused" };
}

/** Looked up and not there: sent again at once after the first lost answer, later with growing pauses. */
export function missingOutcome(operation: Carried): UndoneOutcome {
  // Each time it was sent and then looked up: two attempts.
  const delayMs = operation.attempts <= togetherAttempts ? 0 : retryDelayMs(Math.ceil(operation.attempts / 2));
  return {
    ...held(operation),
    kind: "again",
    delayMs,
    countsAsAttempt: true,
    reason: "not in the ledger: sent again",
  };
}

/**
 * How often a number may be refused as taken and then not be found: once a list may lag behind, twice no look-up will
 * find it.
 */
const mostTaken = 2;

/** How long a list may lag behind: a number that is taken and not found is looked up again after this. */
const lagMs = 60_000;

/**
 * The number is taken, and no document that has it is found: looked up once more when no list lags behind any longer, and
 * refused in the ledger's words when that comes to the same.
 */
export function settleTaken(
  operation: Carried & { readonly number: string; readonly number_taken: number },
  messages: readonly string[],
): UndoneOutcome {
  const words = messages.join(" ");
  const answered = { ...held(operation), isNumberTaken: true, isRemembered: true } as const;
  const reason = `taken and not found: ${words}`;
  if (operation.number_taken + 1 < mostTaken) return { ...answered, kind: "uncertain", delayMs: lagMs, reason };
  const message =
    `The ledger says: ${words} It shows no document with the number ${operation.number}: ` +
    "look for it there before this is tried again under another number.";
  return { ...answered, kind: "refused", reason: "duplicate_number", message };
}

/** Those that a round looks up, in calls of `atOnce`; `later` did not fit. */
export function groupLookUps<T>(
  operations: readonly T[],
  atOnce: number,
): { readonly calls: readonly (readonly T[])[]; readonly later: readonly T[] } {
  const starts = Array.from({ length: mostLookUps }, (_, index) => index * atOnce);
  const calls = starts.map((start) => operations.slice(start, start + atOnce)).filter(({ length }) => length > 0);
  return { calls, later: operations.slice(mostLookUps * atOnce) };
}

/** Still uncertain: this round has no room for its look-up. */
export function lookUpLater(operation: Carried): UndoneOutcome {
  const reason = "looked up in the next round";
  return { ...held(operation), kind: "uncertain", delayMs: 0, countsAsAttempt: false, reason };
}

/** The pause that failures put on the whole connection: the longest, or null. */
export function connectionPause(
  failures: readonly LedgerFailure[],
): { readonly pauseMs: number; readonly reason: string } | null {
  const pauses = failures.flatMap((failure) => {
    // Our own budget has calls left for what somebody waits for.
    if (failure.kind === "rate_limited" && failure.isOurs) return [];
    if (failure.kind === "rate_limited") return [{ pauseMs: failure.retryAfterMs, reason: `${failure.scope} limit` }];
    if (failure.kind === "unauthorised") return [{ pauseMs: unauthorisedPauseMs, reason: failure.why }];
    return [];
  });
  return pauses.reduce<(typeof pauses)[number] | null>(
    (longest, pause) => (longest === null || pause.pauseMs > longest.pauseMs ? pause : longest),
    null,
  );
}

/** How long our own budget allows no call of this kind; 0 where it was not what failed. What is awaited wakes the workflow all the same. */
export function spentBudgetMs(failures: readonly LedgerFailure[]): number {
  const waits = failures.map((failure) =>
    failure.kind === "rate_limited" && failure.isOurs === true ? failure.retryAfterMs : 0,
  );
  return Math.max(0, ...waits);
}

/**
 * The settlement of an operation whose look-up failed: it stays uncertain, and nothing is sent before a look-up succeeds.
 * The ledger's own words stay with it.
 */
export function failedLookupOutcome(operation: Carried, failure: LedgerFailure): UndoneOutcome {
  const delayMs = failure.kind === "rate_limited" ? failure.retryAfterMs : retryDelayMs(operation.attempts);
  return { ...held(operation), kind: "uncertain", delayMs, reason: `look-up failed: ${causeOf(failure)}` };
}

function causeOf(failure: LedgerFailure): string {
  switch (failure.kind) {
    case "refused":
      return `${failure.reason}: ${failure.messages.join(" ")}`;
    case "rate_limited":
      return limitReason(failure);
    case "unauthorised":
      return `${failure.why}: ${failure.message}`;
    case "high_volume":
      return failure.message;
    case "unavailable":
      return failure.cause;
  }
}

/** What calls came to: a settlement for each operation, and the failures of whole calls, which may pause the connection. */
export interface GroupOutcome {
  readonly settlements: readonly Settlement[];
  readonly failures: readonly LedgerFailure[];
}

/** Several outcomes as one. */
export function joinOutcomes(outcomes: readonly GroupOutcome[]): GroupOutcome {
  return {
    settlements: outcomes.flatMap(({ settlements }) => settlements),
    failures: outcomes.flatMap(({ failures }) => failures),
  };
}
