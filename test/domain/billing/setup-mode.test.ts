/** The refusal of a switch of Setup Mode names what blocks it (SETUP-4). */
import { expect, test } from "vitest";
import { requireNothingInTheWay } from "../../../src/domain/billing/setup-mode.ts";

test("nothing under way allows a switch of Setup Mode", () => {
  expect(requireNothingInTheWay({ named: [], total: 0 })).toBeUndefined();
});

test("parked subscriptions come first in the refusal of a switch, with the advice to retry", () => {
  const named = [
    { kind: "amended", name: "invoice INV-0002" },
    { kind: "parked", name: "subscription a" },
    { kind: "parked", name: "subscription b" },
  ] as const;
  expect(() => requireNothingInTheWay({ named, total: 5 })).toThrow(
    "Setup Mode cannot be switched before this is done. " +
      "Due, and parked: subscription a, subscription b. " +
      "Being amended in the ledger: invoice INV-0002. 2 more of 5. " +
      "Retry what is parked, and try again then.",
  );
});

test("work that ends by itself refuses a switch with the advice to try again", () => {
  const named = [
    { kind: "ended", name: "subscription a" },
    { kind: "restored", name: "subscription b" },
  ] as const;
  expect(() => requireNothingInTheWay({ named, total: 2 })).toThrow(
    "Setup Mode cannot be switched before this is done. Being ended: subscription a. " +
      "Being restored, with documents that the ledger does not have yet: subscription b. " +
      "Try again once it is done.",
  );
});
