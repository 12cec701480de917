/** How a retry brings a document to the ledger, and when it is refused (ADMIN-6). */
import { expect, test } from "vitest";
import {
  decideRetry,
  type RetriableDocument,
  requireNoneRunning,
} from "../../../src/domain/billing/retry-document.ts";

const failed: RetriableDocument = {
  state: "failed",
  status: "not_in_external",
  ledgerId: null,
  operation: "creation",
};

const nothing = "The document has no failed or pending ledger job: the ledger has it, or had it.";

test.each([
  "creation",
  "amendment",
  "allocation",
] as const)("a retry repeats a refused %s", (operation) => {
  expect(decideRetry({ ...failed, operation }, false)).toBe(operation);
});

test("a retry brings a waiting job forward", () => {
  expect(decideRetry({ ...failed, state: "waiting" }, false)).toBe("bring_forward");
});

test.each([
  "failed",
  "waiting",
] as const)("a retry of a %s job is refused in Setup Mode", (state) => {
  expect(() => decideRetry({ ...failed, state }, true)).toThrow(
    "The organisation is in Setup Mode: no document is posted.",
  );
});

test.each([
  ["a document in sync", { state: "synced" }],
  ["a document that drifts", { state: "drift", operation: null }],
  ["a document that the ledger has lost", { ledgerId: "id" }],
] as const)("a retry of %s is refused before Setup Mode is considered", (_, members) => {
  expect(() => decideRetry({ ...failed, ...members }, true)).toThrow(nothing);
});

test("an amendment is not retried while another job runs", () => {
  expect(() => requireNoneRunning("the subscription is being ended")).toThrow(
    "Another operation on this subscription is still running: the subscription is being ended.",
  );
  expect(requireNoneRunning(null)).toBeUndefined();
});
