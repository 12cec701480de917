/** The numbers under which contacts are created in the ledger. */
import { expect, test } from "vitest";
import { contactNumber } from "../../../src/worker/activities/posting/post-contacts.ts";

test("a code that fits is the contact's number", () => {
  expect(contactNumber("ACME", 50)).toBe("ACME");
  expect(contactNumber("x".repeat(50), 50)).toBe("x".repeat(50));
});

test("a longer code is cut to fifty characters and stays unique", () => {
  const [one, other] = [`${"x".repeat(99)}1`, `${"x".repeat(99)}2`].map((code) =>
    contactNumber(code, 50),
  );
  expect(one).toHaveLength(50);
  expect(one).not.toBe(other);
  expect(contactNumber(`${"x".repeat(99)}1`, 50)).toBe(one);
});
