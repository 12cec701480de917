/** What makes two requests the same (IDEMPOTENCY-3). */
import { create, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  CreateSubscriptionRequestSchema,
  SubscriptionService,
} from "../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { fingerprintOf } from "../../../src/transport/rpc/idempotency.ts";
import { operationOf } from "../../../src/transport/rpc/operation.ts";
import { createSubscription } from "./gate/admission-fixture.ts";

const schema = CreateSubscriptionRequestSchema;
const changeUnits = operationOf(SubscriptionService.method.changeUnits);

function print(
  request: Parameters<typeof fingerprintOf>[1],
  operation = createSubscription,
): string {
  return Buffer.from(fingerprintOf(operation, request)).toString("hex");
}

describe("the fingerprint of a request", () => {
  const request = create(schema, { customerCode: "acme", planCode: "pro", units: 3 });

  test("is the same whatever the order of members and the protocol", () => {
    const json = fromJson(schema, { units: 3, planCode: "pro", customer_code: "acme" });
    const binary = fromBinary(schema, toBinary(schema, request));
    expect(print(json)).toBe(print(request));
    expect(print(binary)).toBe(print(request));
  });

  test("differs where a member, a path parameter or the operation differs", () => {
    const units = (id: string) =>
      create(SubscriptionService.method.changeUnits.input, { id, units: 3 });
    const prints = [
      print(request),
      print(create(schema, { customerCode: "acme", planCode: "pro", units: 4 })),
      print(create(schema, { customerCode: "acme", planCode: "pro" })),
      print(units("a"), changeUnits),
      print(units("b"), changeUnits),
      print(units("a"), { ...changeUnits, name: "billing.v1.SubscriptionService/EndSubscription" }),
    ];
    expect(new Set(prints).size).toBe(prints.length);
  });

  test("distinguishes a member sent as zero from one that was not sent", () => {
    expect(print(create(schema, { customerCode: "acme", planCode: "pro", units: 0 }))).not.toBe(
      print(create(schema, { customerCode: "acme", planCode: "pro" })),
    );
  });
});
