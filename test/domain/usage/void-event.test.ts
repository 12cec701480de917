/** Which usage events can be voided (USAGE-13). */
import { expect, test } from "vitest";
import { requireVoidable } from "../../../src/domain/usage/void-event.ts";

const open = {
  voidedAt: null,
  voidReason: null,
  isBilled: false,
  invoice: null,
  creditNote: null,
} as const;

const billed = { ...open, isBilled: true } as const;

test("an event that no bill has taken can be voided", () => {
  expect(requireVoidable(open)).toBeUndefined();
});

test.each([
  ["on an invoice", { invoice: { number: "INV-0001" } }, "it is on invoice INV-0001"],
  ["on a credit note", { creditNote: { number: "CN-0001" } }, "it is on credit note CN-0001"],
  ["without a document", {}, "its bill was issued and its amount is zero"],
] as const)("an event that is billed %s cannot be voided", (_, documents, place) => {
  expect(() => requireVoidable({ ...billed, ...documents })).toThrow(
    `The event is billed already: ${place}.`,
  );
});

test("the refusal of an event that is voided already says when and why", () => {
  const voided = { ...open, voidedAt: new Date("2026-03-10T12:00:00Z"), voidReason: "A test" };
  expect(() => requireVoidable(voided)).toThrow(
    "The event was voided already, at 2026-03-10T12:00:00.000Z: A test",
  );
});
