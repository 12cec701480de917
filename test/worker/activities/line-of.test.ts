/** A line as it is sent to the ledger. */
import { describe, expect, test } from "vitest";
import { lineOf } from "../../../src/worker/activities/posting/document-lines.ts";

const line = {
  id: "a-line",
  kind: "plan",
  name: "Team",
  description: "9 × 10.0000",
  units: 9,
  unitPrice: "10.0000",
  amount: "90.0000",
  revenueAccount: "200",
  taxType: null,
} as const;

describe("a line", () => {
  test("has units and price if their product is the amount", () => {
    expect(lineOf(line, 4_000)).toMatchObject({
      quantity: "9",
      unitAmount: "10.0000",
      amount: "90.0000",
    });
  });

  test("with a discount or free units is one amount with the arithmetic as text", () => {
    const discounted = { ...line, description: "9 × 10.0000, less 7 %", amount: "83.7000" };
    expect(lineOf(discounted, 4_000)).toEqual({
      description: "Team: 9 × 10.0000, less 7 %",
      quantity: "1",
      unitAmount: "83.7000",
      amount: "83.7000",
      accountCode: "200",
      taxType: null,
    });
  });
});
