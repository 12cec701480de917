/** The outcomes of the jobs that a failed call carried. */
import { describe, expect, test } from "vitest";
import type { LedgerFailure } from "../../../src/ledger/port/ledger.ts";
import { groupCalls } from "../../../src/worker/activities/posting/grouped-calls.ts";
import {
  connectionPause,
  failedLookupOutcome,
  failureOutcome,
  missingOutcome,
  retryDelayMs,
  spentBudgetMs,
} from "../../../src/worker/activities/posting/ledger-call.ts";

const operation = (attempts: number) => ({ id: `operation-${attempts}`, attempts });
const lost: LedgerFailure = { kind: "unavailable", outcome: "unknown", cause: "reset" };
const unsent: LedgerFailure = { kind: "unavailable", outcome: "not_sent", cause: "refused" };
const limited = (retryAfterMs: number): LedgerFailure => ({
  kind: "rate_limited",
  scope: "minute",
  retryAfterMs,
});
const out: LedgerFailure = { kind: "unauthorised", why: "disconnected", message: "gone" };
const refused = (reason: "validation" | "not_found"): LedgerFailure => ({
  kind: "refused",
  reason,
  messages: ["No."],
});

describe("a failure of a whole call", () => {
  test.each([
    ["a lost answer is looked up", lost, true, { kind: "uncertain", delayMs: 9 }],
    ["what was not sent is sent again", unsent, true, { kind: "again", countsAsAttempt: true }],
    [
      "a limit uses up no attempt",
      limited(7),
      true,
      { kind: "again", delayMs: 7, countsAsAttempt: false },
    ],
    ["a lost connection uses up no attempt", out, true, { kind: "again", countsAsAttempt: false }],
    [
      "a refusal is final for one alone",
      refused("validation"),
      true,
      { kind: "refused", reason: "validation" },
    ],
    [
      "a refusal is final for none of several",
      refused("validation"),
      false,
      { kind: "again", countsAsAttempt: true },
    ],
    [
      "an address that is not there is final for nobody",
      refused("not_found"),
      true,
      { kind: "again" },
    ],
  ])("%s", (_, failure, isAlone, expected) => {
    expect(failureOutcome(operation(1), failure, 9, isAlone)).toMatchObject({
      attempt: 1,
      ...expected,
    });
  });

  test("a failed look-up leaves the job uncertain", () => {
    for (const failure of [lost, unsent, limited(5), out, refused("validation")]) {
      expect(failedLookupOutcome(operation(3), failure).kind).toBe("uncertain");
    }
  });
});

test("every pause is a whole number of milliseconds, grows, and ends at five minutes", () => {
  const delays = Array.from({ length: 40 }, (_, index) => missingOutcome(operation(index + 1))).map(
    (outcome) => (outcome.kind === "again" ? outcome.delayMs : Number.NaN),
  );
  for (const [index, delayMs] of delays.entries()) {
    expect(Number.isInteger(delayMs)).toBe(true);
    expect(delayMs).toBeGreaterThanOrEqual(delays[index - 1] ?? 0);
    expect(delayMs).toBeLessThanOrEqual(300_000);
  }
  expect(delays[0]).toBe(0);
  expect(delays.at(-1)).toBe(300_000);
  expect([1, 2, 3].map(retryDelayMs)).toEqual([1_000, 2_000, 4_000]);
});

test("jobs that failed twice are sent alone, and only some in one batch", () => {
  const fresh = [operation(1), operation(2)];
  const troubled = [3, 4, 5, 6, 7, 8, 9].map(operation);
  const { calls, later } = groupCalls([...fresh, ...troubled], 50);
  expect(calls).toEqual([fresh, ...troubled.slice(0, 5).map((one) => [one])]);
  expect(later).toEqual(troubled.slice(5));
});

test("a call takes as many jobs together as the kind of ledger allows", () => {
  const fresh = [1, 2, 3, 4, 5].map(operation).map((one) => ({ ...one, attempts: 1 }));
  const { calls } = groupCalls(fresh, 2);
  expect(calls).toEqual([fresh.slice(0, 2), fresh.slice(2, 4), fresh.slice(4)]);
});

test("the longest pause of several failures pauses the connection", () => {
  expect(connectionPause([lost, limited(10), limited(30), refused("validation")])?.pauseMs).toBe(
    30,
  );
  expect(connectionPause([lost, unsent])).toBeNull();
});

test("a spent budget of our calls pauses nothing and returns when calls are free", () => {
  const spent = (retryAfterMs: number): LedgerFailure =>
    ({ ...limited(retryAfterMs), isOurs: true }) as LedgerFailure;
  expect(connectionPause([spent(30)])).toBeNull();
  expect(spentBudgetMs([spent(30), spent(10), limited(50), lost])).toBe(30);
  expect(spentBudgetMs([limited(50), out])).toBe(0);
});
