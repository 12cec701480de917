/** The demo ledger's arithmetic: rounded per line to two places, then summed. */
import { describe, expect, test } from "vitest";
import { documentAmountsOf, lineAmountsOf } from "../src/documents/document-amounts.ts";

const line = { quantity: "1", unitAmount: "10", percent: "20", taxAmount: null };

describe("a line", () => {
  test.each([
    ["Exclusive", "10.00", "2.00"],
    ["Inclusive", "10.00", "1.67"],
    ["NoTax", "10.00", "0.00"],
  ] as const)("%s", (types, lineAmount, taxAmount) => {
    expect(lineAmountsOf(line, types)).toEqual({ lineAmount, taxAmount });
  });

  test("is rounded half away from zero, also below it", () => {
    const rounded = (quantity: string) =>
      lineAmountsOf({ ...line, quantity, unitAmount: "0.01" }, "NoTax").lineAmount;
    expect([rounded("1.5"), rounded("-1.5"), rounded("1.4999")]).toEqual(["0.02", "-0.02", "0.01"]);
  });

  test("keeps a tax amount that was sent", () => {
    expect(lineAmountsOf({ ...line, taxAmount: "0.04" }, "Exclusive").taxAmount).toBe("0.04");
  });
});

describe("a document", () => {
  const lines = [
    { lineAmount: "0.13", taxAmount: "0.03" },
    { lineAmount: "0.13", taxAmount: "0.03" },
    { lineAmount: "-0.06", taxAmount: "-0.01" },
  ];

  test("adds its lines and puts the tax on top", () => {
    expect(documentAmountsOf(lines, "Exclusive")).toEqual({
      subTotal: "0.20",
      totalTax: "0.05",
      total: "0.25",
    });
  });

  test("takes the tax out of amounts that contain it", () => {
    expect(documentAmountsOf(lines, "Inclusive")).toEqual({
      subTotal: "0.15",
      totalTax: "0.05",
      total: "0.20",
    });
  });

  test("of no lines is nothing", () => {
    expect(documentAmountsOf([], "Exclusive")).toEqual({
      subTotal: "0.00",
      totalTax: "0.00",
      total: "0.00",
    });
  });
});
