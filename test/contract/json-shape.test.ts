/**
 * What the descriptors say about JSON: names, words of enums, nullability, and the HTTP side of a
 * method.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PlanTypeSchema } from "../../src/gen/proto/billing/v1/catalogue_pb.ts";
import { DocumentStatusSchema } from "../../src/gen/proto/billing/v1/common_pb.ts";
import { ListInvoicesRequestSchema } from "../../src/gen/proto/billing/v1/invoices_pb.ts";
import {
  CreateSubscriptionResponseSchema,
  SubscriptionSchema,
  SubscriptionService,
} from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import {
  UsageEventResultSchema,
  UsageEventSchema,
} from "../../src/gen/proto/billing/v1/usage_pb.ts";
import { Health } from "../../src/gen/proto/grpc/health/v1/health_pb.ts";
import {
  httpRoute,
  isCommaSeparated,
  jsonName,
  optionsOf,
  requestFields,
} from "../../src/transport/rest/json-shape.ts";
import { describedOperation } from "../../tools/openapi/described-operation.ts";
import { constant, enumJsonNames } from "../../tools/openapi/json-values.ts";
import { at, document } from "./answer-check.ts";

function field(message: DescMessage, name: string): DescField {
  const found = message.fields.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`${message} has no field ${name}`);
  return found;
}

test("an enum value is its name without prefix in lower case", () => {
  expect(enumJsonNames(PlanTypeSchema)).toEqual([
    "flat_fee",
    "per_unit",
    "tiered",
    "volume",
    "stairstep",
  ]);
  expect(enumJsonNames(DocumentStatusSchema)).toContain("not_in_external");
});

test("options of a field are distinguished", () => {
  expect(jsonName(field(SubscriptionSchema, "cancel_at_period_end"))).toBe("cancel_at_period_end");
  expect(optionsOf(field(SubscriptionSchema, "end_date")).nullable).toBe(true);
  expect(optionsOf(field(SubscriptionSchema, "start_date")).nullable).toBe(false);
  expect(optionsOf(field(SubscriptionSchema, "renewal_value")).decimal).toBe(true);
  expect(optionsOf(field(CreateSubscriptionResponseSchema, "subscription")).inline).toBe(true);
  expect(optionsOf(field(CreateSubscriptionResponseSchema, "invoice")).inline).toBe(false);
  expect(optionsOf(field(UsageEventResultSchema, "error")).omitEmpty).toBe(true);
  expect(optionsOf(field(UsageEventSchema, "quantity")).numberOrString).toBe(true);
  expect(constant(field(SubscriptionSchema, "object"))).toBe("subscription");
  expect(constant(field(SubscriptionSchema, "label"))).toBeNull();
  expect(isCommaSeparated(field(ListInvoicesRequestSchema, "status"))).toBe(true);
});

test("a nullable member has null among its types in the document, and no other has", () => {
  const properties = at(document, "components", "schemas", "Subscription", "properties") ?? {};
  for (const member of SubscriptionSchema.fields) {
    const type = at(properties, member.name)?.type;
    expect([member.name, Array.isArray(type) && type.includes("null")]).toEqual([
      member.name,
      optionsOf(member).nullable,
    ]);
  }
});

test("a request's fields travel in exactly one of path, body and query", () => {
  const route = httpRoute(SubscriptionService.method.changeUnits);
  expect(route).toEqual({
    verb: "POST",
    path: "/v1/subscriptions/{id}/units",
    pathParameters: ["id"],
    hasBody: true,
  });
  if (route === null) return;
  const fields = requestFields(SubscriptionService.method.changeUnits, route);
  expect(fields.path.map(jsonName)).toEqual(["id"]);
  expect(fields.query).toEqual([]);
  expect(fields.body.map(jsonName)).toEqual([
    "units",
    "prorate",
    "proration_behaviour",
    "effective_date",
    "document",
  ]);
});

test("a method of a third-party protocol is no operation", () => {
  expect(describedOperation(Health.method.check)).toBeNull();
});
