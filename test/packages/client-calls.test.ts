/** The calls of the client: keys, repeats, pauses, errors and pages, against a scripted server. */
import { describe, expect, test } from "vitest";
import {
  type BillingError,
  type ClientOptions,
  createBillingClient,
  isBillingError,
  type Retry,
} from "../../packages/client/src/index.ts";
import { at, document, type Json } from "../contract/answer-check.ts";
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

const order = { customer_code: "ACME", plan_code: "team", units: 12 };
const created = success({ object: "subscription", id: "s-1", invoice: { total: "12.0000" } });
const organisation = success({ object: "organisation", id: "o" });
/** Comes back at once. */
const busy = refusal("rate_limited", 429, "0");

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

test("the client has a method for each operation of the document, under its name", async () => {
  const { client } = await clientOf([created]);
  const names = Object.values(at(document, "paths") ?? {})
    .flatMap((item) => Object.values(item as Json) as Json[])
    .map(({ operationId }) => operationId);
  expect(names).toContain("createSubscription");
  expect(Object.keys(client)).toEqual(names);
});

describe("a call that writes", () => {
  test("sends the API key, and the same random key and body in every attempt", async () => {
    const { client, received } = await clientOf([busy, busy, created]);
    expect((await client.createSubscription(order)).id).toBe("s-1");
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
  const { client, received } = await clientOf([noAnswer, organisation]);
  expect((await client.getOrganisation()).id).toBe("o");
  expect(received.map(({ key }) => key)).toEqual([undefined, undefined]);
});

describe("a failed attempt", () => {
  test("is repeated if it may pass", async () => {
    const failures: readonly (readonly [code: string, answer: Answer])[] = [
      ["rate_limited", refusal("rate_limited", 429)],
      ["internal_error", refusal("internal_error", 500)],
      ["ledger_unavailable", refusal("ledger_unavailable", 502)],
      ["temporarily_unavailable", refusal("temporarily_unavailable", 500)],
      ["request_in_progress", refusal("request_in_progress", 409)],
      ["connection_failed", noAnswer],
      ["unexpected_answer", proxyError(408)],
      ["unexpected_answer", proxyError(429)],
      ["unexpected_answer", proxyError(500)],
      ["unexpected_answer", proxyError(502)],
    ];
    // Each waits for a pause, all of them at once.
    const repeated = failures.map(async ([code, answer]) => {
      const { client, received, retries } = await clientOf([answer, created]);
      await client.createSubscription(order);
      expect([code, received.length]).toEqual([code, 2]);
      expect(retries).toMatchObject([
        { method: "createSubscription", attempt: 1, error: { code } },
      ]);
    });
    await Promise.all(repeated);
  });

  test("is repeated after a time without an answer", async () => {
    const { client, retries } = await clientOf([silence, created], { timeoutMs: allow(200) });
    await client.createSubscription(order);
    expect(retries).toMatchObject([{ error: { code: "timeout" } }]);
  });

  test.each([
    ["invalid_parameter", refusal("invalid_parameter", 422)],
    ["idempotency_conflict", refusal("idempotency_conflict", 409)],
    ["invalid_state", refusal("invalid_state", 409)],
    ["invalid_api_key", refusal("invalid_api_key", 401)],
    ["unexpected_answer", proxyError(404)],
    ["unexpected_answer", proxyError(200)],
  ])("is not repeated after %s", async (code, answer) => {
    const { client, received } = await clientOf([answer, created]);
    expect(await errorOf(client.createSubscription(order))).toMatchObject({ code });
    expect(received).toHaveLength(1);
  });

  test("is repeated as often as the settings say, after growing pauses", async () => {
    const answer = refusal("temporarily_unavailable", 500);
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
    const answer = refusal("rate_limited", 429, "1");
    const { client, retries } = await clientOf([answer, created]);
    await client.createSubscription(order);
    expect(retries[0]?.pauseMs).toBeGreaterThan(1_000);
    expect(retries[0]?.error.retryAfterMs).toBe(1_000);
  });

  test("is not repeated once the caller has aborted the call, also in a pause", async () => {
    const stop = new AbortController();
    const { client, received } = await clientOf([refusal("rate_limited", 429, "3600")], {
      onRetry: () => stop.abort(),
    });
    const error = await errorOf(client.createSubscription(order, { signal: stop.signal }));
    expect([error.code, received.length]).toEqual(["rate_limited", 1]);
    const later = await errorOf(client.getOrganisation({}, { signal: stop.signal }));
    expect([later.code, received.length]).toEqual(["aborted", 1]);
  });
});

test("an error has the members of the service's answer", async () => {
  const { client } = await clientOf([refusal("units_unchanged", 422)]);
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
    success({ data: ids.map((id) => ({ id })), has_more: hasMore });

  test("is iterated page after page, each after the last object of the one before", async () => {
    const { client, received } = await clientOf([page(true, "c", "b"), page(false, "a")]);
    const ids: string[] = [];
    for await (const { id } of client.listInvoices({ customer: "k", limit: 2 })) ids.push(id);
    expect(ids).toEqual(["c", "b", "a"]);
    expect(received.map(({ path }) => path)).toEqual([
      "/v1/invoices?customer=k&limit=2",
      "/v1/invoices?customer=k&limit=2&starting_after=b",
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
    expect(await client.listPlans().page()).toMatchObject({ data: [{ id: "b" }], has_more: true });
    const sizes: number[] = [];
    for await (const { data } of client.listPlans().pages()) sizes.push(data.length);
    expect(sizes).toEqual([1, 1]);
  });
});

test("the members of a request are sent in its path, its query or its body", async () => {
  const { client, received } = await clientOf([created]);
  await client.changeUnits({ id: "a/b c", units: 3, prorate: undefined });
  await client.listUsage({ id: "s-1", meter_code: "api calls", limit: undefined }).page();
  await client.listInvoices({ status: ["draft", "paid"] }).page();
  await client.listInvoices({ status: [] }).page();
  await client.restoreSubscription({ id: "s-1" });
  expect(received.map(({ path, body }) => [path, body])).toEqual([
    ["/v1/subscriptions/a%2Fb%20c/units", { units: 3 }],
    ["/v1/subscriptions/s-1/usage?meter_code=api+calls", null],
    ["/v1/invoices?status=draft%2Cpaid", null],
    ["/v1/invoices", null],
    ["/v1/subscriptions/s-1/restore", {}],
  ]);
});

test("a request without the id that its path has is refused before it is sent", async () => {
  const { client, received } = await clientOf([created]);
  // As a caller without types writes it.
  const getInvoice = client.getInvoice as (request: unknown) => Promise<unknown>;
  for (const request of [undefined, "s-1", { id: "" }, { subscription: "s-1" }])
    await expect(getInvoice(request)).rejects.toThrow(
      'getInvoice needs the text id: getInvoice({ id: "…" })',
    );
  expect(received).toHaveLength(0);
});

test.each([
  [undefined, "sk", "baseUrl is missing"],
  ["nowhere", "sk", "baseUrl is no http or https address: nowhere"],
  ["http://x?a=1", "sk", "baseUrl must have no query and no hash"],
  ["http://x", undefined, "apiKey is missing"],
  ["http://x", " ", "apiKey is missing"],
])("a client of the address %s with the key %s is refused at once", (baseUrl, apiKey, words) => {
  expect(() => createBillingClient({ baseUrl, apiKey })).toThrow(new TypeError(words));
});

describe("an error without an answer of the service", () => {
  const page = (status: number, type: string, text: string): Answer => {
    return (response) => void response.writeHead(status, { "Content-Type": type }).end(text);
  };
  const elsewhere = "Is baseUrl the service's address?";

  test.each([
    ["a page", page(404, "text/html", "<!doctype html>"), `404 with an HTML page. ${elsewhere}`],
    ["a site's start", page(200, "text/html", "<html>"), `200 with an HTML page. ${elsewhere}`],
    ["a redirect", page(301, "text/plain", ""), "301 with something else than"],
    ["no JSON", page(200, "application/json", "{"), "200 with something else than"],
    ["a list", page(200, "application/json", "[]"), "200 with something else than"],
    ["other JSON", page(200, "application/json", "{}"), "200 with something else than"],
    ["another error", page(400, "application/json", '{"error":"no"}'), "400 with something else"],
    ["a proxy's error", proxyError(502), "502 with an HTML page"],
  ])("names the address and says that it answered %s", async (_name, answer, words) => {
    const { baseUrl } = await scriptedService(answer);
    const client = createBillingClient({ baseUrl: `${baseUrl}/`, apiKey: "sk", retries: 0 });
    const error = await errorOf(client.listPlans({ code: "team" }).page());
    expect(error.code).toBe("unexpected_answer");
    expect(error.message).toContain(`GET ${baseUrl}/v1/plans answered ${words}`);
  });

  test("names the address and why no connection was possible", async () => {
    const settings = { baseUrl: "http://127.0.0.1:2", apiKey: "sk", retries: 0 };
    const error = await errorOf(createBillingClient(settings).listPlans().page());
    expect(error).toMatchObject({
      code: "connection_failed",
      message: "GET http://127.0.0.1:2/v1/plans: connect ECONNREFUSED 127.0.0.1:2",
    });
  });

  test("names the address and the time that passed", async () => {
    const { client } = await clientOf([silence], { timeoutMs: 50, retries: 0 });
    const error = await errorOf(client.getOrganisation());
    expect(error.message).toMatch(/^GET http:\S+\/v1\/organisation: no answer within 50 ms$/);
  });
});
