/**
 * Every operation of the contract needs a key over both transports. No body without a key is read
 * (ACCESS-1).
 */
import { describe, expect } from "vitest";
import { httpRoute } from "../../../../src/transport/rest/json-shape.ts";
import { generateApiKey } from "../../../../src/transport/rpc/gate/api-key.ts";
import { operations } from "../port-fixture.ts";
import { transportsTest as test } from "../transports-fixture.ts";

test.beforeEach(({ transports }) => {
  transports.requests.length = 0;
});

const id = "6f1ed002-ab59-5d6e-9e0f-1c7a3f0d9b11";

/** Every fault of a key, or of how it is sent, gets the same answer. */
const credentials: Record<string, Record<string, string>> = {
  "no key": {},
  "an empty header": { authorization: "" },
  "another scheme": { authorization: `Basic ${generateApiKey(true).value}` },
  "a mistyped key": { authorization: `Bearer ${generateApiKey(true).value}x` },
  "a key without its scheme": { authorization: generateApiKey(true).value },
};

const rest = operations.flatMap(({ name, method }) => {
  const route = httpRoute(method);
  return route === null ? [] : [[name, route.verb, route.path.replaceAll(/\{\w+\}/g, id)] as const];
});

test("every operation has a path over REST", () => {
  expect(rest.length).toBe(operations.length);
});

describe.each(Object.entries(credentials))("with %s", (_, headers) => {
  test.for(rest)("%s is 401 over REST", async ([_name, verb, path], { transports }) => {
    // The body is no JSON: it is not read.
    const body =
      verb === "POST"
        ? { body: "{", headers: { ...headers, "content-type": "application/json" } }
        : {};
    const response = await fetch(transports.base + path, { method: verb, headers, ...body });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(response.headers.has("ratelimit-limit")).toBe(false);
    const requestId = response.headers.get("request-id");
    expect(await response.json()).toEqual({
      error: {
        type: "authentication_error",
        code: "invalid_api_key",
        message: "The API key is missing, malformed, revoked or expired",
        request_id: requestId,
      },
    });
    expect(transports.requests).toEqual([]);
  });

  test.for(operations.map(({ name }) => name))("%s is unauthenticated over Connect", async (name, {
    transports,
  }) => {
    const all = { ...headers, "content-type": "application/json" };
    const response = await fetch(`${transports.base}/${name}`, {
      method: "POST",
      headers: all,
      body: "{",
    });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await response.json()).toMatchObject({
      code: "unauthenticated",
      details: [
        { debug: { code: "invalid_api_key", requestId: response.headers.get("request-id") } },
        { type: "google.rpc.ErrorInfo" },
      ],
    });
    expect(transports.requests).toEqual([]);
  });
});
