/** The renewal value is what the next renewal bills, and zero if there will be none. */
import { describe, expect, it } from "vitest";
import { renewalValue, willRenew } from "../../../src/domain/billing/due-date.ts";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { Renewing } from "../../../src/domain/model/subscription.ts";
import { formatDecimal, parseDecimal } from "../../../src/domain/money/decimal.ts";
import { planOf, termsOf } from "../catalogue/catalogue.ts";

const renewing: Renewing = {
  status: "active",
  renewalDate: civilDate("2026-07-01"),
  endDate: null,
  cancelAtPeriodEnd: false,
};
const plan = planOf("per_unit", { price: parseDecimal("9.99") });

describe("the renewal value", () => {
  it.each([
    [{}, "26.9700"],
    [{ status: "pending" }, "26.9700"],
    [{ endDate: civilDate("2026-08-01") }, "26.9700"],
    [{ endDate: civilDate("2026-07-01") }, "0.0000"],
    [{ endDate: civilDate("2026-07-01"), cancelAtPeriodEnd: true }, "0.0000"],
    [{ cancelAtPeriodEnd: true }, "0.0000"],
    [{ status: "ended", endDate: civilDate("2026-06-10") }, "0.0000"],
    [{ status: "complete", endDate: civilDate("2026-07-01"), cancelAtPeriodEnd: true }, "0.0000"],
  ] as [Partial<Renewing>, string][])("of one that is %o is %s", (differs, value) => {
    const subscription = { ...renewing, ...termsOf(3, { discount: "10" }), ...differs };
    expect(formatDecimal(renewalValue(subscription, plan))).toBe(value);
    expect(willRenew(subscription)).toBe(value !== "0.0000");
  });

  it("follows the units and price that it has now", () => {
    const subscription = { ...renewing, ...termsOf(4, { price: "2.5" }) };
    expect(formatDecimal(renewalValue(subscription, plan))).toBe("10.0000");
  });
});
