/**
 * Connect, gRPC and gRPC-Web on the wire: our refusals, and the library's own in the same form
 * (REQUEST-13).
 */
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Refusal } from "../../../../src/domain/refusal.ts";
import { ErrorDetailSchema } from "../../../../src/gen/proto/billing/v1/common_pb.ts";
import { SubscriptionService } from "../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import type { Admission } from "../../../../src/store/access/api-keys.ts";
import { generateApiKey } from "../../../../src/transport/rpc/gate/api-key.ts";
import { admitted, organisationId } from "../gate/admission-fixture.ts";
import { startServer, type TestServer } from "./connect-server-fixture.ts";

const scopes = ["subscriptions:read", "subscriptions:write"];
const headers = {
  Authorization: `Bearer ${generateApiKey(true).value}`,
  "Idempotency-Key": "order-1",
};
const good = { customerCode: "acme", planCode: "pro" };

let server: TestServer;
let transports: Record<string, Transport>;
let admission: Admission;
let create: () => Promise<object>;
let replayed: boolean;

beforeAll(async () => {
  server = await startServer({
    admission: () => admission,
    create: () => create(),
    idempotency: async (_, execute) => ({ message: await execute(), replayed }),
  });
  const connect = { baseUrl: server.http1Url, httpVersion: "1.1" } as const;
  transports = {
    connect: createConnectTransport(connect),
    "connect binary": createConnectTransport({ ...connect, useBinaryFormat: true }),
    grpc: createGrpcTransport({ baseUrl: server.http2Url }),
    "grpc-web": createGrpcWebTransport(connect),
  };
});

beforeEach(() => {
  admission = admitted(scopes);
  create = async () => ({});
  replayed = false;
  server.records.length = 0;
  server.failures.length = 0;
});

afterAll(() => server.stop());

const protocols = ["connect", "connect binary", "grpc", "grpc-web"];

async function call(
  protocol: string,
  request: object = good,
  given: Record<string, string> = headers,
) {
  const client = createClient(SubscriptionService, transports[protocol] as Transport);
  let response: Headers | null = null;
  const error = await client
    .createSubscription(request, { headers: given, onHeader: (header) => (response = header) })
    .then(() => null, ConnectError.from);
  return {
    error,
    detail: error?.findDetails(ErrorDetailSchema)[0],
    response: response as Headers | null,
  };
}

describe.each(protocols)("over %s", (protocol) => {
  test("a good call has the rate headers, and its record the organisation", async () => {
    const { error, response } = await call(protocol);
    expect(error).toBeNull();
    expect(response?.get("RateLimit-Remaining")).toBe("117");
    expect(response?.get("Request-Id")).toBe("request-1");
    expect(response?.get("Idempotent-Replayed")).toBeNull();
    expect(server.records).toEqual([
      expect.objectContaining({
        organisationId,
        code: null,
        protocol: protocol.split(" ")[0],
        operation: "billing.v1.SubscriptionService/CreateSubscription",
      }),
    ]);
  });

  test("a replay says so", async () => {
    replayed = true;
    expect((await call(protocol)).response?.get("Idempotent-Replayed")).toBe("true");
  });

  test.each<[string, Code, () => void, object?, Record<string, string>?]>([
    ["invalid_api_key", Code.Unauthenticated, () => (admission = { kind: "unknown" })],
    ["rate_limited", Code.ResourceExhausted, () => (admission = admitted(scopes, "limited"))],
    ["insufficient_scope", Code.PermissionDenied, () => (admission = admitted([]))],
    [
      "idempotency_key_required",
      Code.InvalidArgument,
      () => undefined,
      good,
      { Authorization: headers.Authorization },
    ],
    ["invalid_parameter", Code.InvalidArgument, () => undefined, { ...good, units: -1 }],
    [
      "plan_not_found",
      Code.NotFound,
      () =>
        (create = () => Promise.reject(new Refusal("plan_not_found", "No such plan", "plan_code"))),
    ],
    [
      "invalid_state",
      Code.FailedPrecondition,
      () => (create = () => Promise.reject(new Refusal("invalid_state", "No"))),
    ],
    [
      "request_in_progress",
      Code.Aborted,
      () => (create = () => Promise.reject(new Refusal("request_in_progress", "Wait", null, 2))),
    ],
    [
      "temporarily_unavailable",
      Code.Unavailable,
      () => (create = () => Promise.reject(new Refusal("temporarily_unavailable", "Later"))),
    ],
    [
      "request_too_large",
      Code.InvalidArgument,
      () => undefined,
      { ...good, label: "x".repeat(1024 * 1024) },
    ],
  ])("%s has its code and its detail", async (code, connectCode, arrange, request, given) => {
    arrange();
    const { error, detail } = await call(protocol, request, given);
    expect(error?.code).toBe(connectCode);
    expect(detail).toMatchObject({ code, requestId: "request-1", message: error?.rawMessage });
    expect(server.records[0]?.code).toBe(code);
    expect(server.failures).toEqual([]);
  });

  test("a 429 and a running key say when to come back", async () => {
    admission = admitted(scopes, "limited");
    expect((await call(protocol)).error?.metadata.get("Retry-After")).toBe("42");
    admission = admitted(scopes);
    create = () => Promise.reject(new Refusal("request_in_progress", "Wait", null, 2));
    expect((await call(protocol)).error?.metadata.get("Retry-After")).toBe("2");
  });

  test("an unexpected error is reported without its details, which are logged", async () => {
    const bug = new Error("the password is hunter2");
    create = () => Promise.reject(bug);
    const { error, detail } = await call(protocol);
    expect(error?.code).toBe(Code.Internal);
    expect(detail?.code).toBe("internal_error");
    expect(JSON.stringify(error)).not.toContain("hunter2");
    expect(server.failures).toEqual([bug]);
  });
});

const path = "/billing.v1.SubscriptionService/CreateSubscription";

async function post(
  body: string | Uint8Array<ArrayBuffer>,
  given: Record<string, string> = {},
  method = "POST",
) {
  const response = await fetch(server.http1Url + path, {
    method,
    headers: { "Content-Type": "application/json", ...headers, ...given },
    body,
  });
  const text = await response.text();
  const json = JSON.parse(text) as {
    code: string;
    details?: { type: string; debug?: { code: string; param?: string } }[];
  };
  return { status: response.status, response, code: json.code, detail: json.details?.[0]?.debug };
}

test("an answer that cannot be written is a logged internal error", async () => {
  create = async () => ({ subscription: { units: "three" } });
  expect((await call("connect")).detail).toMatchObject({ code: "internal_error" });
  expect(server.failures).toHaveLength(1);
});

test("a connection whose body was refused midway is not used again", async () => {
  const first = await call("grpc-web", { ...good, label: "x".repeat(1024 * 1024) });
  expect(first.detail?.code).toBe("request_too_large");
  expect((await call("grpc-web")).error).toBeNull();
});

describe("a body that cannot be read", () => {
  test.each<[string, string, string | undefined]>([
    ["no JSON", "{", undefined],
    ["no object", "[]", undefined],
    ["nothing", "", undefined],
    ["an unknown member", '{"customer_code":"a","plan_code":"b","colour":"red"}', "colour"],
    ["a duplicate member", '{"customer_code":"a","customer_code":"b"}', "customer_code"],
    ["a wrong type", '{"units":true}', "units"],
  ])("being %s is invalid_parameter with our detail", async (_, body, param) => {
    const { status, code, detail, response } = await post(body);
    expect({ status, code }).toEqual({ status: 400, code: "invalid_argument" });
    expect(detail).toMatchObject({ code: "invalid_parameter" });
    expect(detail?.param).toBe(param);
    expect(response.headers.get("RateLimit-Limit")).toBe("120");
    expect(server.records[0]?.code).toBe("invalid_parameter");
  });

  test("being binary nonsense is invalid_parameter, over gRPC too", async () => {
    const { code, detail } = await post(new Uint8Array([0xff, 0xff]), {
      "Content-Type": "application/proto",
    });
    expect([code, detail?.code]).toEqual(["invalid_argument", "invalid_parameter"]);
    const response = await fetch(server.http1Url + path, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/grpc-web+proto" },
      body: new Uint8Array([0, 0, 0, 0, 2, 0xff, 0xff]),
    });
    expect(await response.text()).toMatch(/grpc-status: 3\r\n/);
  });

  test("is checked after the key: without one it is 401", async () => {
    const { status, detail } = await post("{", { Authorization: "" });
    expect([status, detail?.code]).toEqual([401, "invalid_api_key"]);
  });
});

describe("a request that no protocol takes", () => {
  test("another HTTP method is an unknown endpoint, without a key", async () => {
    const { status, code, detail } = await post("{}", { Authorization: "" }, "PUT");
    expect([status, code, detail?.code]).toEqual([404, "unimplemented", "unknown_endpoint"]);
  });

  test("another content type passes the gate first, then is invalid_parameter", async () => {
    const unknown = await post("{}", { "Content-Type": "text/plain", Authorization: "" });
    expect([unknown.status, unknown.detail?.code]).toEqual([401, "invalid_api_key"]);
    const known = await post("{}", { "Content-Type": "text/plain" });
    expect([known.status, known.detail?.code]).toEqual([415, "invalid_parameter"]);
    expect(server.records[1]?.operation).toBe("billing.v1.SubscriptionService/CreateSubscription");
    expect(known.response.headers.get("RateLimit-Limit")).toBe("120");
  });

  test("a read may be a GET", async () => {
    const query = new URLSearchParams({ encoding: "json", message: "{}" });
    const response = await fetch(
      `${server.http1Url}/billing.v1.SubscriptionService/ListSubscriptions?${query}`,
      {
        headers,
      },
    );
    expect([response.status, await response.json()]).toEqual([200, {}]);
  });
});
