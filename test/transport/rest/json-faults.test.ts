/** Every fault of a JSON body by its path, for the protocols that can name them (REQUEST-17). */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { CreateSubscriptionRequestSchema } from "../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { compileReader } from "../../../src/transport/rest/read-json.ts";
import { InvalidRequest } from "../../../src/transport/rpc/invalid-request.ts";

const read = compileReader(CreateSubscriptionRequestSchema);

/** The first fault's path, and the paths of all. */
function faultsOf(text: string): readonly [string | null, readonly string[]] {
  try {
    read(new TextEncoder().encode(text));
  } catch (error) {
    if (error instanceof InvalidRequest)
      return [error.param, error.allFaults().map(({ field }) => field)];
    if (error instanceof Refusal) return [error.param, []];
    throw error;
  }
  return [null, []];
}

test("a body names each member that cannot be read, in its order", () => {
  const text = `{"customer_code": 5, "plan_code" :"team", "units":"10",
    "no\\"ne": {"a":[1,{"b":"}\\"]"}],"c":null} ,"charges": [ {"quantity":1.5,"charge_code":"a"},
    [7], {"charge_code":true,"none":-1e5}], "label":{}, "units":3, "price":"1"}`;
  expect(faultsOf(text)).toEqual([
    "customer_code",
    [
      "customer_code",
      "units",
      'no"ne',
      "charges.0.quantity",
      "charges.1",
      "charges.2.charge_code",
      "charges.2.none",
      "label",
      "units",
    ],
  ]);
});

test("text that is no JSON has no fault with a path", () => {
  expect(faultsOf('{"units":"10","label":5')).toEqual([null, []]);
});

test("any values in place of others have a fault each, and none hides the next", () => {
  fc.assert(
    fc.property(fc.array(fc.json(), { minLength: 1, maxLength: 20 }), (values) => {
      const text = `{${values.map((value, n) => `"none${n}":${value}`).join(",")}}`;
      expect(faultsOf(text)[1]).toEqual(values.map((_, n) => `none${n}`));
    }),
  );
});

test("the faults of one body are a hundred at most", () => {
  const text = `{"charges":[${Array.from({ length: 50_000 }, () => "0").join(",")}],"none":1}`;
  expect(faultsOf(text)[1]).toEqual(Array.from({ length: 100 }, (_, n) => `charges.${n}`));
});
