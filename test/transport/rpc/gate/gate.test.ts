/** The order in which a request is checked before its body is read (REQUEST-1). */
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../../src/domain/refusal.ts";
import { EventService } from "../../../../src/gen/proto/billing/v1/events_pb.ts";
import { SubscriptionService } from "../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import type { Access, Admission } from "../../../../src/store/access/api-keys.ts";
import { generateApiKey, hashApiKey } from "../../../../src/transport/rpc/gate/api-key.ts";
import {
  createGate,
  type GateHeaders,
  type Pass,
} from "../../../../src/transport/rpc/gate/gate.ts";
import { type Operation, operationOf } from "../../../../src/transport/rpc/operation.ts";
import {
  accessOf,
  admitted,
  createSubscription,
  listSubscriptions,
  operationWith,
} from "./admission-fixture.ts";

const key = generateApiKey(true).value;
const good: GateHeaders = { authorization: `Bearer ${key}`, idempotencyKey: "order-1" };
const scopes = ["subscriptions:read", "subscriptions:write"];

const listEvents = operationOf(EventService.method.listEvents);

/** A request; what a test does not say is as it should be. */
interface Case {
  readonly operation?: Operation;
  readonly admission?: Admission;
  readonly access?: Access;
  readonly forbidden?: string | null;
  readonly headers?: GateHeaders;
}

interface Checked {
  readonly pass: Pass | null;
  readonly refusal: Refusal | null;
  readonly response: Record<string, string>;
}

async function check(given: Case): Promise<Checked> {
  const access = given.access ?? accessOf(given.admission ?? admitted(scopes));
  const gate = createGate({ access, permits: () => given.forbidden ?? null });
  const response: Record<string, string> = {};
  try {
    const pass = await gate(
      given.operation ?? createSubscription,
      given.headers ?? good,
      "request-1",
      (name, value) => {
        response[name] = value;
      },
    );
    return { pass, refusal: null, response };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { pass: null, refusal: error, response };
  }
}

const rateNames = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];

/** Each fault alone, in the order in which they are checked. */
const faults: readonly [code: string, fault: Case][] = [
  ["invalid_api_key", { admission: { kind: "unknown" } }],
  ["rate_limited", { admission: admitted(scopes, "limited") }],
  ["insufficient_scope", { admission: admitted(["invoices:read"]) }],
  ["insufficient_scope", { forbidden: "Not allowed here" }],
  ["idempotency_key_required", { headers: { authorization: good.authorization } }],
];

describe("the gate", () => {
  test("lets a good request pass with its caller, key and rate headers", async () => {
    const { pass, response } = await check({});
    expect(pass).toMatchObject({
      requestId: "request-1",
      idempotencyKey: "order-1",
      operation: createSubscription,
    });
    expect(pass?.caller.scopes.has("subscriptions:write")).toBe(true);
    expect(response).toEqual({
      "RateLimit-Limit": "120",
      "RateLimit-Remaining": "117",
      "RateLimit-Reset": "42",
    });
  });

  test.each(
    faults.flatMap(([code, fault], index) =>
      faults.slice(index + 1).map(([later, other]) => ({ code, fault, later, other })),
    ),
  )("answers $code before $later", async ({ code, fault, other }) => {
    const { refusal } = await check({ ...other, ...fault });
    expect(refusal?.code).toBe(code);
  });

  test.each(
    faults.map(([code, fault], index) => ({ code, fault, counted: index >= 1 })),
  )("shows the rate headers with $code from the rate on", async ({ code, fault, counted }) => {
    const { refusal, response } = await check(fault);
    expect(refusal?.code).toBe(code);
    expect(rateNames.every((name) => name in response)).toBe(counted);
  });

  test.each([
    [["invoices:read"], null],
    [["usage:write", "customers:read"], null],
    [["subscriptions:write"], "insufficient_scope"],
    [[], "insufficient_scope"],
  ])("lets a key with %j pass where one of several scopes suffices: %s", async (held, code) => {
    const { refusal } = await check({ operation: listEvents, admission: admitted(held) });
    expect(refusal?.code ?? null).toBe(code);
  });

  test("says with a 429 when to come back", async () => {
    const { refusal, response } = await check({ admission: admitted(scopes, "limited") });
    expect(refusal?.retryAfterSeconds).toBe(42);
    expect(response["RateLimit-Remaining"]).toBe("0");
  });

  test.each([
    undefined,
    null,
    "",
    "Bearer",
    "Bearer ",
    key,
    `Basic ${key}`,
    `Bearer ${key}x`,
    `Bearer ${key} ${key}`,
    [`Bearer ${key}`, `Bearer ${key}`],
  ])("refuses the authorization %j without asking the database", async (authorization) => {
    const access = accessOf(admitted(scopes));
    const { refusal, response } = await check({ access, headers: { ...good, authorization } });
    expect(refusal?.code).toBe("invalid_api_key");
    expect(access.asked).toHaveLength(0);
    expect(response["WWW-Authenticate"]).toBe("Bearer");
  });

  test.each([
    "Bearer",
    "bearer",
    "BEARER",
  ])("reads the scheme %s, and asks for the SHA-256 of the key", async (scheme) => {
    const access = accessOf(admitted(scopes));
    await check({ access, headers: { ...good, authorization: `${scheme} ${key}` } });
    expect(access.asked).toEqual([hashApiKey(key)]);
  });

  test.each([
    "",
    " ",
    "a b",
    "a, b",
    "é",
    "x".repeat(256),
    "tab\t",
    ["a", "b"],
    ["a"],
  ])("refuses the idempotency key %j as malformed", async (idempotencyKey) => {
    const { refusal } = await check({ headers: { ...good, idempotencyKey } });
    expect(refusal).toMatchObject({ code: "invalid_parameter", param: "Idempotency-Key" });
  });

  test.each([
    "!",
    "~",
    "a,b",
    "x".repeat(255),
  ])("takes the idempotency key %j", async (idempotencyKey) => {
    expect((await check({ headers: { ...good, idempotencyKey } })).pass?.idempotencyKey).toBe(
      idempotencyKey,
    );
  });

  test("ignores the idempotency key of a read, whatever it is", async () => {
    const { pass } = await check({
      operation: listSubscriptions,
      headers: { ...good, idempotencyKey: "a b" },
    });
    expect(pass?.idempotencyKey).toBeNull();
  });

  test("does without a key where it is optional", async () => {
    const operation = operationWith(SubscriptionService.method.createSubscription, {
      idempotencyKey: "optional",
    });
    const { pass } = await check({ operation, headers: { authorization: good.authorization } });
    expect(pass?.idempotencyKey).toBeNull();
  });

  test("asks for no scope where any valid key will do", async () => {
    const operation = operationWith(SubscriptionService.method.listSubscriptions, { scope: null });
    expect((await check({ operation, admission: admitted([]) })).pass).not.toBeNull();
  });

  test("is temporarily_unavailable without the database, and rethrows other errors", async () => {
    const failing = (error: Error): Access => ({ admit: () => Promise.reject(error) });
    const lost = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    expect((await check({ access: failing(lost) })).refusal).toMatchObject({
      code: "temporarily_unavailable",
      cause: lost,
    });
    await expect(check({ access: failing(new Error("a bug")) })).rejects.toThrow("a bug");
  });
});
