/** A new customer keeps the requested fields, and gets a code from its id if it has none. */
import { expect, it } from "vitest";
import { customerCodeOf, decideCustomer } from "../../../src/domain/customers/customer.ts";

const id = "0198c0de-1234-7abc-8def-0123456789ab";
const now = new Date("2026-06-10T12:00:00Z");
const request = {
  code: null,
  name: "Customer",
  companyName: null,
  firstName: "Ada",
  lastName: null,
  email: "ada@example.com",
  ledgerContactId: null,
};

it("the code is made of the id, so that a retry makes the same one", () => {
  expect(decideCustomer(id, request, now)).toEqual({
    ...request,
    id,
    code: "CUS-0123456789AB",
    status: "active",
    createdAt: now,
  });
  expect(customerCodeOf(id.toUpperCase())).toBe(customerCodeOf(id));
});

it("a code and an imported contact are kept as given", () => {
  const imported = decideCustomer(id, { ...request, code: "ada", ledgerContactId: "contact" }, now);
  expect(imported).toMatchObject({ code: "ada", ledgerContactId: "contact" });
});

it("a code is made of nothing but a UUID", () => {
  expect(() => customerCodeOf("x")).toThrow(/not a UUID/);
});
