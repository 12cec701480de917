/** Contacts that an import of all leaves out: suppliers without an invoice. CUSTOMER-1 */
import { expect, test } from "vitest";
import { isOnlySupplier } from "../../../../src/admin/services/customers/import-customers.ts";

test.each([
  [false, false, false, "a new one, with no document yet"],
  [true, false, false, "a customer"],
  [true, true, false, "a customer who is a supplier as well"],
  [false, true, true, "a supplier"],
])("isCustomer %s and isSupplier %s: left out is %s (%s)", (isCustomer, isSupplier, expected) => {
  expect(isOnlySupplier({ isCustomer, isSupplier })).toBe(expected);
});
