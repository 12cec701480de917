/** The order inside a call, and what a call does with errors (REQUEST-1). */
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { OrganisationService } from "../../../src/gen/proto/billing/v1/organisation_pb.ts";
import {
  CreateSubscriptionRequestSchema,
  SubscriptionService,
} from "../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { textFormats } from "../../../src/services/text-formats.ts";
import { createCall } from "../../../src/transport/rpc/call.ts";
import type { Call } from "../../../src/transport/rpc/caller.ts";
import type { Idempotency } from "../../../src/transport/rpc/idempotency.ts";
import {
  bind,
  type Implementation,
  type ServiceBinding,
} from "../../../src/transport/rpc/implementation.ts";
import { observeCall } from "../../../src/transport/rpc/observe.ts";
import { createSubscription, listSubscriptions, passOf } from "./gate/admission-fixture.ts";

type Methods = Implementation<typeof SubscriptionService>;

const empty = Object.fromEntries(
  SubscriptionService.methods.map((method) => [method.localName, async () => ({})]),
) as unknown as Methods;

const { signal } = new AbortController();
const request = create(CreateSubscriptionRequestSchema, { customerCode: "acme", planCode: "pro" });
const wrong = create(CreateSubscriptionRequestSchema, { customerCode: "", planCode: "pro" });

function callWith(
  methods: Partial<Methods>,
  idempotency: Idempotency,
  others: readonly ServiceBinding[] = [],
) {
  return createCall({
    formats: textFormats,
    idempotency,
    observe: observeCall,
    implementations: [bind(SubscriptionService, { ...empty, ...methods }), ...others],
  });
}

/** Notes what was asked of it. */
function recording(): Idempotency & { readonly keys: string[] } {
  const keys: string[] = [];
  const run: Idempotency = async ({ idempotencyKey }, execute) => {
    keys.push(idempotencyKey);
    return { message: await execute(), replayed: false };
  };
  return Object.assign(run, { keys });
}

describe("a call", () => {
  test("runs the method with its caller, request id, key and signal", async () => {
    const calls: Call[] = [];
    const call = callWith(
      {
        createSubscription: async (_, given) => {
          calls.push(given);
          return {};
        },
      },
      recording(),
    );
    const pass = passOf(createSubscription, "order-1");
    const answer = await call(pass, request, { signal });
    expect(answer.replayed).toBe(false);
    expect(answer.message).toMatchObject({ $typeName: "billing.v1.CreateSubscriptionResponse" });
    const { operation, caller } = pass;
    const context = {
      caller,
      operation: operation.name,
      requestId: "request-1",
      idempotencyKey: "order-1",
      signal,
    };
    expect(calls).toEqual([context]);
  });

  test("refuses an invalid request before its key is touched", async () => {
    const idempotency = recording();
    const call = callWith({}, idempotency);
    await expect(
      call(passOf(createSubscription, "order-1"), wrong, { signal }),
    ).rejects.toMatchObject({
      code: "invalid_parameter",
      param: "customer_code",
    });
    expect(idempotency.keys).toEqual([]);
  });

  test("without a key does not touch idempotency", async () => {
    const idempotency = recording();
    await callWith({}, idempotency)(passOf(createSubscription), request, { signal });
    expect(idempotency.keys).toEqual([]);
  });

  test("of a read that lost the database decided nothing; of a write nobody knows", async () => {
    const lost = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const failing = () => Promise.reject(lost);
    const call = callWith({ createSubscription: failing, listSubscriptions: failing }, recording());
    const list = create(SubscriptionService.method.listSubscriptions.input);
    await expect(call(passOf(listSubscriptions), list, { signal })).rejects.toMatchObject({
      code: "temporarily_unavailable",
      cause: lost,
    });
    for (const key of [null, "order-1"])
      await expect(
        call(passOf(createSubscription, key), request, { signal }),
      ).rejects.toMatchObject({
        code: "temporarily_unavailable",
        message: expect.stringContaining("may have been done or not"),
        cause: lost,
      });
  });

  test("passes a method's refusal on as it is", async () => {
    const refusal = new Refusal("plan_not_active", "No", "plan_code");
    const call = callWith({ createSubscription: () => Promise.reject(refusal) }, recording());
    await expect(call(passOf(createSubscription, "order-1"), request, { signal })).rejects.toBe(
      refusal,
    );
  });
});

test("a method without an implementation stops the start", () => {
  expect(() =>
    createCall({
      formats: textFormats,
      idempotency: recording(),
      observe: observeCall,
      implementations: [bind(OrganisationService, {} as never)],
    }),
  ).toThrow(/no implementation/);
});
