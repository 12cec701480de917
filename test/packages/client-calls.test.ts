/** The calls of the client: keys, repeats, pauses, errors and pages, against a scripted server. */
import type { DescMethod } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  type BillingError,
  type ClientOptions,
  createBillingClient,
  isBillingError,
  type Retry,
} from "../../packages/client/src/index.ts";
import { methods } from "../contract/methods.ts";
import { allow } from "../support/slowness.ts";
import {
  type Answer,
  noAnswer,
  proxyError,
  refusal,
  scriptedService,
  silence,
  success,
} from "./scripted-service.ts";

const order = { customerCode: "ACME", planCode: "team", units: 12 };
const created = success({ subscription: { id: "s-1" }, invoice: { total: "12.0000" } });
/** Comes back at once. */
const busy = refusal("rate_limited", "resource_exhausted", "0");

async function clientOf(script: readonly Answer[], options: Partial<ClientOptions> = {}) {
  const { baseUrl, received } = await scriptedService(...script);
  const retries: Retry[] = [];
  const onRetry = (retry: Retry) => void retries.push(retry);
  const client = createBillingClient({ baseUrl, apiKey: "sk_live_1", onRetry, ...options });
  return { client, received, retries };
}

/** The error of a call that must fail. */
async function errorOf(call: Promise<unknown>): Promise<BillingError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!isBillingError(error)) throw new Error(`the call did not fail: ${error}`);
  return error;
}

test("the client has every method of the public contract under its own name", async () => {
  const { client } = await clientOf([created]);
  const names = methods.map((method: DescMethod) => method.localName);
  expect(names).toContain("createSubscription");
  expect(Object.keys(client)).toEqual(expect.arrayContaining(names));
});

describe("a call that writes", () => {
  test("sends the API key, and the same random key and body in every attempt", async () => {
    const { client, received } = await clientOf([busy, busy, created]);
    const { subscription } = await client.createSubscription(order);
    expect(subscription?.id).toBe("s-1");
    expect(received).toHaveLength(3);
    expect(received[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(received[0]?.authorization).toBe("Bearer sk_live_1");
    for (const each of received) expect(each).toEqual(received[0]);
    await client.createSubscription(order);
    expect(received.at(-1)?.key).not.toBe(received[0]?.key);
  });

  test("sends the body of its beginning, also if the caller changes the request", async () => {
    const request = { ...order };
    const { client, received } = await clientOf([busy, created], {
      onRetry: () => {
        request.units = 99;
      },
    });
    await client.createSubscription(request);
    expect(received.map(({ body }) => body)).toEqual([order, order]);
  });

  test("sends the key that the caller names", async () => {
    const { client, received } = await clientOf([created]);
    await client.createSubscription(order, { idempotencyKey: "order-1881" });
    expect(received[0]?.key).toBe("order-1881");
  });

  test("has its key in the error, so that it can be repeated later", async () => {
    const { client, received } = await clientOf([proxyError(503)], { retries: 0 });
    const error = await errorOf(client.createSubscription(order));
    expect(error).toMatchObject({ idempotencyKey: received[0]?.key, mayRepeat: true });
  });
});

test("a call that only reads has no key, and is repeated as well", async () => {
  const { client, received } = await clientOf([noAnswer, success({ organisation: { id: "o" } })]);
  expect((await client.getOrganisation()).organisation?.id).toBe("o");
  expect(received.map(({ key }) => key)).toEqual([undefined, undefined]);
});

describe("a failed attempt", () => {
  test.each([
    ["rate_limited", refusal("rate_limited", "resource_exhausted")],
    ["internal_error", refusal("internal_error", "internal")],
    ["ledger_unavailable", refusal("ledger_unavailable", "unavailable")],
    ["temporarily_unavailable", refusal("temporarily_unavailable", "unavailable")],
    ["request_in_progress", refusal("request_in_progress", "aborted")],
    ["connection_failed", noAnswer],
    ["unexpected_answer", proxyError(408)],
    ["unexpected_answer", proxyError(429)],
    ["unexpected_answer", proxyError(500)],
    ["unexpected_answer", proxyError(502)],
  ])("is repeated after %s", async (code, answer) => {
    const { client, received, retries } = await clientOf([answer, created]);
    await client.createSubscription(order);
    expect(received).toHaveLength(2);
    expect(retries).toMatchObject([{ method: "createSubscription", attempt: 1, error: { code } }]);
  });

  test("is repeated after a time without an answer", async () => {
    const { client, retries } = await clientOf([silence, created], { timeoutMs: allow(200) });
    await client.createSubscription(order);
    expect(retries).toMatchObject([{ error: { code: "timeout" } }]);
  });

  test.each([
    ["invalid_parameter", refusal("invalid_parameter", "invalid_argument")],
    ["idempotency_conflict", refusal("idempotency_conflict", "aborted")],
    ["invalid_state", refusal("invalid_state", "failed_precondition")],
    ["invalid_api_key", refusal("invalid_api_key", "unauthenticated")],
    ["unexpected_answer", proxyError(404)],
    ["unexpected_answer", proxyError(200)],
  ])("is not repeated after %s", async (code, answer) => {
    const { client, received } = await clientOf([answer, created]);
    expect(await errorOf(client.createSubscription(order))).toMatchObject({ code });
    expect(received).toHaveLength(1);
  });

  test("is repeated as often as the settings say, after growing pauses", async () => {
    const answer = refusal("temporarily_unavailable", "unavailable");
    const { client, received, retries } = await clientOf([answer], { retries: 2 });
    const error = await errorOf(client.createSubscription(order));
    expect(error.code).toBe("temporarily_unavailable");
    expect(received).toHaveLength(3);
    const [first = 0, second = 0] = retries.map(({ pauseMs }) => pauseMs);
    expect([first >= 250, first <= 500, second >= 500, second <= 1_000]).toEqual(
      Array(4).fill(true),
    );
  });

  test("is repeated after Retry-After at the earliest", async () => {
    const answer = refusal("rate_limited", "resource_exhausted", "1");
    const { client, retries } = await clientOf([answer, created]);
    await client.createSubscription(order);
    expect(retries[0]?.pauseMs).toBeGreaterThan(1_000);
    expect(retries[0]?.error.retryAfterMs).toBe(1_000);
  });

  test("is not repeated once the caller has aborted the call, also in a pause", async () => {
    const stop = new AbortController();
    const { client, received } = await clientOf([refusal("rate_limited", "x", "3600")], {
      onRetry: () => stop.abort(),
    });
    const error = await errorOf(client.createSubscription(order, { signal: stop.signal }));
    expect([error.code, received.length]).toEqual(["rate_limited", 1]);
    const later = await errorOf(client.getOrganisation({}, { signal: stop.signal }));
    expect([later.code, received.length]).toEqual(["aborted", 1]);
  });
});

test("an error has the members of the service's answer", async () => {
  const { client } = await clientOf([refusal("units_unchanged", "invalid_argument")]);
  const error = await errorOf(client.changeUnits({ id: "s", units: 1 }));
  expect(error).toMatchObject({
    name: "BillingError",
    message: "no",
    code: "units_unchanged",
    type: "conflict",
    param: "units",
    requestId: "req-1",
    mayRepeat: false,
  });
  expect(isBillingError(error, "units_unchanged")).toBe(true);
  expect(isBillingError(error, "invalid_state")).toBe(false);
  expect(isBillingError(new Error("units_unchanged"))).toBe(false);
});

describe("a list", () => {
  const page = (hasMore: boolean, ...ids: string[]) =>
    success({ data: ids.map((id) => ({ id })), hasMore });

  test("is iterated page after page, each after the last object of the one before", async () => {
    const { client, received } = await clientOf([page(true, "c", "b"), page(false, "a")]);
    const ids: string[] = [];
    for await (const { id } of client.listInvoices({ customer: "k", limit: 2 })) ids.push(id);
    expect(ids).toEqual(["c", "b", "a"]);
    expect(received.map(({ body }) => body)).toEqual([
      { customer: "k", limit: 2 },
      { customer: "k", limit: 2, startingAfter: "b" },
    ]);
  });

  test("reads no page that the iteration does not reach", async () => {
    const { client, received } = await clientOf([page(true, "c", "b"), page(false, "a")]);
    const list = client.listInvoices();
    expect(received).toHaveLength(0);
    for await (const { id } of list) if (id === "b") break;
    expect(received).toHaveLength(1);
  });

  test("has its first page alone, and whole pages", async () => {
    const { client } = await clientOf([page(true, "b"), page(true, "b"), page(false, "a")]);
    expect(await client.listPlans().page()).toMatchObject({ data: [{ id: "b" }], hasMore: true });
    const sizes: number[] = [];
    for await (const { data } of client.listPlans().pages()) sizes.push(data.length);
    expect(sizes).toEqual([1, 1]);
  });
});

test("a client without an address or a key is refused at once", () => {
  expect(() => createBillingClient({ baseUrl: "nowhere", apiKey: "sk" })).toThrow(/baseUrl/);
  expect(() => createBillingClient({ baseUrl: "http://x", apiKey: "" })).toThrow(/apiKey/);
});
