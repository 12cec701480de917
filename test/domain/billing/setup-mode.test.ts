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
    { kind: "unsent", name: "invoice INV-0001" },
    { kind: "credited", name: "credit note CN-0001" },
  ] as const;
  expect(() => requireNothingInTheWay({ named, total: 3 })).toThrow(
    "Setup Mode cannot be switched before this is done. Being ended: subscription a. " +
      "Still to be sent to the ledger: invoice INV-0001. " +
      "With credit that is being allocated in the ledger: credit note CN-0001. " +
      "Try again once it is done.",
  );
});
