/** The name that somebody who wrote an unknown one probably meant. */
import { expect, test } from "vitest";
import { nearestOf } from "../../src/domain/nearest-name.ts";

const members = ["customer_code", "plan_code", "units", "price", "label", "billing_day"];

test.each([
  ["customerCode", "customer_code"],
  ["planCode", "plan_code"],
  ["unit", "units"],
  ["customer", "customer_code"],
  ["plan", "plan_code"],
  ["day", "billing_day"],
  ["billing_dya", "billing_day"],
  ["seats", null],
  ["u", null],
  ["", null],
  ["customer_code".repeat(10), null],
])("the member that %s probably means is %s", (name, nearest) => {
  expect(nearestOf(name, members)).toBe(nearest);
});
