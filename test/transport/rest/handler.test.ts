/**
 * REST requests are checked in order and answered with the contract's status, headers and body
 * (REQUEST-1).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import type { Answer } from "../http/port-fixture.ts";
import { startPort, type TestPort } from "../http/port-fixture.ts";

const id = "6f1ed002-ab59-5d6e-9e0f-1c7a3f0d9b11";
const subscription = {
  id,
  object: "subscription",
  status: 2,
  interval: { unit: "month", count: 1 },
};
const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let port: TestPort;
/** What the operations of the port do; each test may say another. */
let answer: Answer;

beforeAll(async () => {
  port = await startPort((...call) => answer(...call));
});
afterAll(() => port.stop({ graceMs: 1_000 }));
beforeEach(() => {
  port.calls.length = 0;
  answer = () => ({ subscription });
});

interface ErrorBody {
  readonly type?: string;
  readonly code?: string;
  readonly param?: string;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

async function send(path: string, { method = "GET", headers = {}, body }: Sent = {}) {
  const all = { authorization: "Bearer sk_test_1", ...headers };
  const response = await fetch(port.base + path, {
    method,
    headers: all,
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const json: { error?: ErrorBody } = text === "" ? {} : JSON.parse(text);
  return { status: response.status, headers: response.headers, json, error: json.error ?? {} };
}

const post = (
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) =>
  send(path, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });

test("a success has its operation's status, the gate's headers and a valid body", async () => {
  const { status, headers, json } = await post(
    "/v1/subscriptions",
    '{"customer_code":"A","plan_code":"p"}',
  );
  expect(status).toBe(201);
  expect(json).toMatchObject({ id, status: "active", invoice: null });
  expect(headers.get("request-id")).toMatch(uuid7);
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("ratelimit-limit")).toBe("120");
  expect(headers.has("idempotent-replayed")).toBe(false);
  expect(headers.has("x-powered-by")).toBe(false);
});

test("a replay says so", async () => {
  const { headers } = await post("/v1/subscriptions", "{}", { "idempotency-key": "again" });
  expect(headers.get("idempotent-replayed")).toBe("true");
});

test("path, query and body arrive in one message; /api is the same path", async () => {
  await post(`/api/v1/subscriptions/${id}/units`, '{"units":12}').then(({ status }) =>
    expect(status).toBe(500),
  );
  await send("/api/v1/subscriptions?limit=5");
  expect(port.calls.map(({ request }) => request)).toMatchObject([{ id, units: 12 }, { limit: 5 }]);
});

test("a partial success has the operation's status for it", async () => {
  const results = [{ eventId: "a", status: 1 }];
  answer = () => ({ object: "usage_event_batch", created: 1, results });
  expect((await post("/v1/usage_events", '{"events":[]}')).status).toBe(200);
  answer = () => ({ object: "usage_event_batch", rejected: 1, results });
  expect((await post("/v1/usage_events", '{"events":[]}')).status).toBe(207);
});

test("a refusal of the operation has its status, its members and Retry-After", async () => {
  answer = () => {
    throw new Refusal("request_in_progress", "Still running", null, 2);
  };
  const { status, headers, error } = await post("/v1/subscriptions", "{}");
  expect(status).toBe(409);
  expect(headers.get("retry-after")).toBe("2");
  expect(error).toEqual({
    type: "conflict",
    code: "request_in_progress",
    message: "Still running",
    request_id: headers.get("request-id"),
  });
});

test("an unexpected error or an invalid answer is internal_error without details", async () => {
  answer = () => {
    throw new Error("password is hunter2");
  };
  const thrown = await post("/v1/subscriptions", "{}");
  answer = () => ({ subscription: {} });
  const broken = await post("/v1/subscriptions", "{}");
  for (const { status, error } of [thrown, broken]) {
    expect(status).toBe(500);
    expect(error).toMatchObject({ type: "api_error", code: "internal_error" });
    expect(JSON.stringify(error)).not.toContain("hunter2");
  }
});

describe("the first failure in the order of checks answers", () => {
  const noKey = { authorization: "" };
  test("an unknown path needs no key and is not counted", async () => {
    for (const path of [
      "/v1/nothing",
      "/v1/organisation/",
      "/",
      "/api/v2/organisation",
      "/api/api/v1/organisation",
    ]) {
      const { status, headers, error } = await send(path, { headers: noKey });
      expect([status, error.code, error.type]).toEqual([404, "unknown_endpoint", "not_found"]);
      expect(headers.get("request-id")).toMatch(uuid7);
      expect(headers.has("ratelimit-limit")).toBe(false);
    }
  });

  test("HEAD and OPTIONS are unknown endpoints", async () => {
    expect((await send("/v1/organisation", { method: "HEAD" })).status).toBe(404);
    expect((await send("/v1/organisation", { method: "OPTIONS" })).error.code).toBe(
      "unknown_endpoint",
    );
  });

  test("the key is checked before body and query", async () => {
    const sent = await post("/v1/subscriptions?x=1", "not json", {
      ...noKey,
      "content-type": "text/plain",
    });
    expect([sent.status, sent.error.code]).toEqual([401, "invalid_api_key"]);
  });

  test("a body over 1 MiB is refused before its type; one of exactly 1 MiB is read", async () => {
    const body = (length: number) => `{"label":"${"x".repeat(length - 12)}"}`;
    const over = await post("/v1/subscriptions", body(1_048_577), { "content-type": "text/plain" });
    expect([over.status, over.error.type, over.error.code]).toEqual([
      413,
      "invalid_request_error",
      "request_too_large",
    ]);
    expect(over.headers.get("request-id")).toMatch(uuid7);
    expect((await post("/v1/subscriptions", body(1_048_576))).status).toBe(201);
  });

  test("a parameter in the query of a POST is unknown", async () => {
    const { status, error } = await post("/v1/subscriptions?limit=5", "{}");
    expect([status, error.code, error.param]).toEqual([422, "invalid_parameter", "limit"]);
  });

  test("nothing that is refused reaches an operation", async () => {
    await post("/v1/subscriptions", '{"units":"5"}');
    await post("/v1/subscriptions", "{}", { authorization: "Bearer x" });
    expect(port.calls).toEqual([]);
  });
});

describe("the content of a body", () => {
  test.each([
    "application/json",
    "Application/JSON",
    "application/json;charset=utf-8",
    'application/json; charset="UTF-8"',
    "application/json ; charset=UTF-8",
  ])("%s is taken", async (type) => {
    expect((await post("/v1/subscriptions", "{}", { "content-type": type })).status).toBe(201);
  });

  test.each([
    "text/plain",
    "application/json; charset=latin1",
    "application/json; charset=utf-8; charset=utf-16",
    "application/jsonp",
    "application/problem+json",
    "application/x-www-form-urlencoded",
  ])("%s is refused", async (type) => {
    const { status, error } = await post("/v1/subscriptions", "{}", { "content-type": type });
    expect([status, error.code, error.param]).toEqual([422, "invalid_parameter", undefined]);
  });

  test("a body without a type is refused, and one with an encoding", async () => {
    const untyped = await send("/v1/subscriptions", {
      method: "POST",
      body: new TextEncoder().encode("{}"),
    });
    expect(untyped.error.code).toBe("invalid_parameter");
    expect((await post("/v1/subscriptions", "{}", { "content-encoding": "identity" })).status).toBe(
      422,
    );
  });

  test("a body of any size arrives whole, over new connections and kept ones", async () => {
    for (const length of [0, 1, 1_000, 16_384, 65_535, 65_536, 100_000, 500_000, 1_000_000]) {
      await post("/v1/subscriptions", JSON.stringify({ label: "é".repeat(length / 2) }));
      expect(port.calls.pop()?.request).toMatchObject({ label: "é".repeat(length / 2) });
    }
  });

  test("an absent body is an empty object only where the operation says so", async () => {
    const headers = { "content-type": "application/json" };
    expect((await send(`/v1/subscriptions/${id}/restore`, { method: "POST" })).status).toBe(200);
    expect((await send("/v1/subscriptions", { method: "POST", headers })).error.code).toBe(
      "invalid_parameter",
    );
    expect((await post(`/v1/subscriptions/${id}/restore`, "[]")).status).toBe(422);
    expect((await post(`/v1/subscriptions/${id}/restore`, '{"id":"x"}')).error.param).toBe("id");
  });

  test("a fault of the body names its path", async () => {
    const { status, error } = await post("/v1/subscriptions", '{"charges":[{"price":5}]}');
    expect([status, error.param]).toEqual([422, "charges.0.price"]);
  });
});

test("the log gets each request once, with no query and no key", async () => {
  port.lines.length = 0;
  const { headers } = await send("/v1/subscriptions?customer_code=SECRET");
  await expect.poll(() => port.lines.length).toBe(1);
  expect(port.lines[0]).toMatchObject({
    requestId: headers.get("request-id"),
    method: "GET",
    path: "/v1/subscriptions",
    operation: "billing.v1.SubscriptionService/ListSubscriptions",
    organisationId: "0199a0b2-0000-7000-8000-000000000001",
    protocol: "rest",
    status: 200,
    code: null,
    answered: true,
  });
  expect(JSON.stringify(port.lines)).not.toMatch(/SECRET|sk_test/);
});

test("a client that disconnects aborts its signal, and accepted work continues", async () => {
  port.lines.length = 0;
  const client = new AbortController();
  const work = Promise.withResolvers<string>();
  answer = async (_pass, _request, signal) => {
    const aborted = new Promise((resolve) =>
      signal.addEventListener("abort", resolve, { once: true }),
    );
    client.abort();
    await aborted;
    work.resolve("done");
    return { subscription };
  };
  const request = { method: "POST", body: "{}", signal: client.signal };
  const headers = { authorization: "Bearer sk_test_1", "content-type": "application/json" };
  await expect(fetch(`${port.base}/v1/subscriptions`, { ...request, headers })).rejects.toThrow();
  expect(await work.promise).toBe("done");
  await expect.poll(() => port.lines).toMatchObject([{ answered: false }]);
});
