/** Callers, admissions and passes without a database, for tests of the gate and of calls. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { SubscriptionService } from "../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import type { Access, Admission } from "../../../../src/store/access/api-keys.ts";
import type { Caller } from "../../../../src/transport/rpc/caller.ts";
import type { Pass } from "../../../../src/transport/rpc/gate/gate.ts";
import { type Operation, operationOf } from "../../../../src/transport/rpc/operation.ts";

/** Any organisation and key. */
export const organisationId = "0199a0b2-0000-7000-8000-000000000001";
export const apiKeyId = "0199a0b2-0000-7000-8000-000000000002";

/** The operation that needs an Idempotency-Key. */
export const createSubscription: Operation = operationOf(
  SubscriptionService.method.createSubscription,
);

/** A read: no Idempotency-Key. */
export const listSubscriptions: Operation = operationOf(
  SubscriptionService.method.listSubscriptions,
);

/** An admission of a key with these scopes. */
export function admitted(
  scopes: readonly string[],
  kind: "admitted" | "limited" = "admitted",
): Admission {
  const key = {
    apiKeyId,
    organisationId,
    scopes,
    livemode: true,
    canCreateLedgerContacts: false,
    usageAllowed: false,
    now: new Date("2026-03-01T00:00:00Z"),
  };
  return {
    kind,
    key,
    rate: { limit: 120, remaining: kind === "limited" ? 0 : 117, resetSeconds: 42 },
  };
}

/** Answers every key alike, and keeps the hashes that it was asked for. */
export function accessOf(admission: Admission): Access & { readonly asked: Uint8Array[] } {
  const asked: Uint8Array[] = [];
  return {
    asked,
    admit: async (keyHash) => {
      asked.push(keyHash);
      return admission;
    },
  };
}

/** A caller with every right that a test does not take away. */
export function callerOf(changes: Partial<Caller> = {}): Caller {
  return {
    apiKeyId,
    organisationId,
    scopes: new Set(["subscriptions:read", "subscriptions:write"]),
    livemode: true,
    canCreateLedgerContacts: false,
    usageAllowed: false,
    now: new Date("2026-03-01T00:00:00Z"),
    ...changes,
  };
}

/** What the gate gives for an operation. */
export function passOf(operation: Operation, idempotencyKey: string | null = null): Pass {
  return { operation, caller: callerOf(), requestId: "request-1", idempotencyKey };
}

/** An operation of any method, with rules of the test's own. */
export function operationWith(method: DescMethodUnary, changes: Partial<Operation>): Operation {
  return { ...operationOf(method), ...changes };
}
