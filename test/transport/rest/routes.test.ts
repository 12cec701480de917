/** Exact paths lead to their operation, and nothing else does (REQUEST-2). */
import { describe, expect, test } from "vitest";
import { compileRoutes } from "../../../src/transport/rest/routes.ts";
import { operations } from "../http/port-fixture.ts";

const find = compileRoutes(operations);
const id = "6f1ed002-ab59-5d6e-9e0f-1c7a3f0d9b11";

describe("every path of the specification leads to its operation", () => {
  test.each([
    ["GET", "/v1/organisation", "billing.v1.OrganisationService/GetOrganisation", []],
    ["GET", "/v1/customers", "billing.v1.CustomerService/ListCustomers", []],
    ["POST", "/v1/customers", "billing.v1.CustomerService/CreateCustomer", []],
    ["GET", "/v1/plans", "billing.v1.PlanService/ListPlans", []],
    ["GET", `/v1/plans/${id}`, "billing.v1.PlanService/GetPlan", [id]],
    ["GET", "/v1/charges", "billing.v1.ChargeService/ListCharges", []],
    ["GET", "/v1/subscriptions", "billing.v1.SubscriptionService/ListSubscriptions", []],
    ["POST", "/v1/subscriptions", "billing.v1.SubscriptionService/CreateSubscription", []],
    ["POST", `/v1/subscriptions/${id}/units`, "billing.v1.SubscriptionService/ChangeUnits", [id]],
    ["POST", `/v1/subscriptions/${id}/end`, "billing.v1.SubscriptionService/EndSubscription", [id]],
    [
      "POST",
      `/v1/subscriptions/${id}/restore`,
      "billing.v1.SubscriptionService/RestoreSubscription",
      [id],
    ],
    [
      "POST",
      "/v1/subscriptions/preview",
      "billing.v1.SubscriptionService/PreviewCreateSubscription",
      [],
    ],
    [
      "POST",
      `/v1/subscriptions/${id}/units/preview`,
      "billing.v1.SubscriptionService/PreviewChangeUnits",
      [id],
    ],
    ["GET", "/v1/invoices", "billing.v1.InvoiceService/ListInvoices", []],
    ["POST", "/v1/usage_events", "billing.v1.UsageService/ReportUsage", []],
  ])("%s %s", (verb, path, name, parameters) => {
    const match = find(verb, path);
    expect(match?.route.operation.name).toBe(name);
    expect(match?.parameters).toEqual(parameters);
  });
});

describe("a path that is not exactly one of them is none", () => {
  test.each([
    ["GET", ""],
    ["GET", "/"],
    ["GET", "/v1"],
    ["GET", "/v1/"],
    ["GET", "/v1/organisation/"],
    ["GET", "//v1/organisation"],
    ["GET", "/v1//organisation"],
    ["GET", "/v1/Organisation"],
    ["GET", "/v1/%6frganisation"],
    ["GET", "/v1/organisation;a=b"],
    ["GET", "/v1/plans/"],
    ["GET", `/v1/plans/${id}/`],
    ["GET", `/v1/plans/${id}/units`],
    ["GET", "/v2/organisation"],
    ["GET", "v1/organisation"],
    ["HEAD", "/v1/organisation"],
    ["OPTIONS", "/v1/organisation"],
    ["PUT", "/v1/customers"],
    ["PATCH", `/v1/subscriptions/${id}`],
    ["DELETE", `/v1/subscriptions/${id}`],
    ["get", "/v1/organisation"],
    ["POST", `/v1/subscriptions//units`],
    ["GET", "/v1/__proto__"],
  ])("%s %s", (verb, path) => {
    expect(find(verb, path)).toBeNull();
  });
});

test("a word of one path is a parameter's value where only another path has the verb", () => {
  const get = find("GET", "/v1/subscriptions/preview");
  expect(get?.route.operation.name).toBe("billing.v1.SubscriptionService/GetSubscription");
  expect(get?.parameters).toEqual(["preview"]);
  const units = find("POST", "/v1/subscriptions/preview/units");
  expect(units?.route.operation.name).toBe("billing.v1.SubscriptionService/ChangeUnits");
  expect(units?.parameters).toEqual(["preview"]);
});

test("a parameter is percent-decoded once; what cannot be decoded stays as it was sent", () => {
  const parameterOf = (word: string) => find("GET", `/v1/plans/${word}`)?.parameters[0];
  expect(parameterOf("a%2Fb%2525")).toBe("a/b%25");
  expect(parameterOf("%zz")).toBe("%zz");
  expect(parameterOf("%00")).toBe("%00");
});

test("two operations on one path are refused at the start", () => {
  expect(() => compileRoutes([...operations, ...operations])).toThrow(/two operations/);
});
