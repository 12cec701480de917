/**
 * One port answers REST, Connect, gRPC-Web and gRPC, over HTTP/1.1 and HTTP/2, in cleartext and
 * TLS. It drains before it closes.
 */
import { connect as connectHttp2, constants } from "node:http2";
import { request as requestHttps } from "node:https";
import { connect as connectTcp } from "node:net";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterEach, describe, expect, test } from "vitest";
import { OrganisationService } from "../../../src/gen/proto/billing/v1/organisation_pb.ts";
import { createMetrics } from "../../../src/main/telemetry/metrics.ts";
import { exchangeOf } from "../../../src/transport/http/exchanges.ts";
import type { HttpParts } from "../../../src/transport/http/server.ts";
import { createRequestObserver, type RequestLine } from "../../../src/transport/rpc/observe.ts";
import { type Answer, startPort, type TestPort } from "./port-fixture.ts";
import { certificate } from "./tls-fixture.ts";

const organisation = { id: "o", object: "organisation", name: "Northwind" };
const authorization = "Bearer sk_test_1";

const opened: TestPort[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((port) => port.stop({ graceMs: 200 })));
});

async function open(
  overrides: Partial<HttpParts> = {},
  answer: Answer = () => ({ organisation }),
): Promise<TestPort> {
  const port = await startPort(answer, overrides);
  opened.push(port);
  return port;
}

const connectHandler = connectNodeAdapter({
  routes: (router) =>
    router.service(OrganisationService, { getOrganisation: () => ({ organisation }) }),
  fallback: (request, response) => {
    response.writeHead(404, { "x-request": exchangeOf(request)?.requestId ?? "none" });
    response.end();
  },
});

async function http2Get(base: string, path: string, options: object = {}) {
  const session = connectHttp2(base, options);
  const stream = session.request({ ":path": path, authorization });
  const { promise, resolve, reject } = Promise.withResolvers<{
    headers: Record<string, unknown>;
    text: string;
  }>();
  let headers: Record<string, unknown> = {};
  let text = "";
  session.once("error", reject);
  stream.once("error", reject);
  stream.on("response", (received) => {
    headers = received;
  });
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  stream.once("end", () => resolve({ headers, text }));
  stream.end();
  try {
    return await promise;
  } finally {
    session.close();
  }
}

describe("in cleartext", () => {
  test("REST over HTTP/1.1 and over HTTP/2 with prior knowledge give the same body", async () => {
    const { base } = await open();
    const first = await fetch(`${base}/v1/organisation`, { headers: { authorization } });
    const second = await http2Get(base, "/v1/organisation");
    expect(second.headers[":status"]).toBe(200);
    expect(second.headers["request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(second.text).toBe(await first.text());
  });

  test("the first bytes may come apart", async () => {
    const { port } = await open();
    const socket = connectTcp({ port, host: "127.0.0.1", noDelay: true });
    let received = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      received += chunk;
    });
    // It begins as the HTTP/2 preface does.
    socket.write("P");
    socket.write("OST /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    await expect.poll(() => received).toMatch(/^HTTP\/1\.1 404 .*unknown_endpoint/s);
  });

  test.each<[string, (baseUrl: string) => Transport]>([
    ["Connect over HTTP/1.1", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
    ["Connect over HTTP/2", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" })],
    [
      "gRPC-Web over HTTP/1.1",
      (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
    ],
    ["gRPC over HTTP/2", (baseUrl) => createGrpcTransport({ baseUrl })],
  ])("%s is answered, with a Request-Id", async (_name, transport) => {
    const port = await open({ connect: connectHandler });
    let requestId: string | null = null;
    const client = createClient(OrganisationService, transport(port.base));
    const answer = await client.getOrganisation(
      {},
      {
        onHeader: (headers) => {
          requestId = headers.get("request-id");
        },
      },
    );
    expect(answer.organisation).toMatchObject(organisation);
    await expect
      .poll(() => port.lines)
      .toMatchObject([{ requestId, protocol: "connect", answered: true }]);
  });

  test("the handler of procedures knows the exchange, and no other path reaches it", async () => {
    const { base } = await open({ connect: connectHandler });
    const unknown = await fetch(`${base}/billing.v1.NoService/Get`);
    expect(unknown.headers.get("x-request")).toBe(unknown.headers.get("request-id"));
    for (const path of [
      "/billing/Get",
      "/a.b",
      "/a.b/C/d",
      "/api/billing.v1.OrganisationService/GetOrganisation",
    ]) {
      const response = await fetch(base + path);
      expect([response.status, response.headers.has("x-request")]).toEqual([404, false]);
    }
  });

  test("an unknown procedure adds no series to the metrics", async () => {
    const metrics = createMetrics();
    const lines: RequestLine[] = [];
    const { observe } = createRequestObserver({
      log: { info: () => undefined },
      requests: metrics.requests,
    });
    const { base } = await open({
      connect: connectHandler,
      log: (line) => {
        observe(line);
        lines.push(line);
      },
    });
    const series = async () =>
      (await metrics.registry.metrics()).match(/^billing_request_duration_seconds_count.*$/gm);
    for (const path of ["/evil.v1/Method1", "/evil.v1/Method2", "/evil.v1.Service/Method3"]) {
      await fetch(base + path, { method: "POST" });
    }
    await expect.poll(() => lines.length).toBe(3);
    expect(await series()).toEqual([expect.stringMatching(/operation="unknown",.*\} 3$/)]);
  });

  test.each([
    ["no host", "1.0", ""],
    ["a host that is no host", "1.1", "Host: [\r\n"],
  ])("a procedure with %s is answered like any other", async (_, version, host) => {
    const failures: unknown[] = [];
    const logFailure = (error: unknown) => failures.push(error);
    const { port } = await open({ connect: connectHandler, logFailure });
    const socket = connectTcp({ port, host: "127.0.0.1" });
    let received = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      received += chunk;
    });
    const target = "/billing.v1.OrganisationService/GetOrganisation";
    const head = `${host}Content-Type: application/json\r\nContent-Length: 2\r\n`;
    socket.write(`POST ${target} HTTP/${version}\r\n${head}Connection: close\r\n\r\n{}`);
    await new Promise((resolve) => socket.once("close", resolve));
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    expect(failures).toEqual([]);
  });
});

describe("over TLS", () => {
  test("HTTP/1.1 and HTTP/2 share the port", async () => {
    const { base, port } = await open({ tls: certificate });
    const second = await http2Get(base, "/v1/organisation", { ca: certificate.cert });
    expect(second.headers[":status"]).toBe(200);
    const { promise, resolve, reject } = Promise.withResolvers<{
      status?: number;
      version: string;
    }>();
    const options = {
      port,
      host: "127.0.0.1",
      path: "/v1/organisation",
      ca: certificate.cert,
      agent: false as const,
    };
    requestHttps({ ...options, headers: { authorization } }, (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, version: response.httpVersion });
    })
      .once("error", reject)
      .end();
    expect(await promise).toEqual({ status: 200, version: "1.1" });
  });
});

describe("the port's own paths", () => {
  test("the OpenAPI document is public, uncounted, and known by its ETag", async () => {
    const { base } = await open();
    const etag = (await fetch(`${base}/v1/openapi.json`)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{27}"$/);
    for (const path of ["/v1/openapi.json", "/api/v1/openapi.json"]) {
      const whole = await fetch(base + path);
      expect([whole.status, whole.headers.get("etag"), await whole.text()]).toEqual([
        200,
        etag,
        `{"openapi":"3.1.0"}`,
      ]);
      expect(whole.headers.has("request-id")).toBe(true);
      expect(whole.headers.has("ratelimit-limit")).toBe(false);
    }
    const ask = (tag: string) =>
      fetch(`${base}/v1/openapi.json`, { headers: { "if-none-match": tag } });
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const known = await ask(tag);
      expect([known.status, await known.text(), known.headers.has("request-id")]).toEqual([
        304,
        "",
        true,
      ]);
    }
    expect((await ask(`"abd"`)).status).toBe(200);
    expect((await fetch(`${base}/v1/openapi.json`, { method: "POST" })).status).toBe(404);
  });

  test("readiness is 503 with the report if not ready, and liveness is 200", async () => {
    const notReadyReport = {
      status: "not_ready",
      checks: { database: "failed" },
      reasons: { database: "it is old" },
    } as const;
    const broken = await open({ readiness: { report: async () => notReadyReport } });
    const notReady = await fetch(`${broken.base}/readyz`);
    expect([notReady.status, await notReady.json()]).toEqual([503, notReadyReport]);
    expect((await fetch(`${broken.base}/healthz`)).status).toBe(200);
    expect(broken.lines).toEqual([]);
  });

  test("metrics have their own type, and are an unknown path on a port without them", async () => {
    const { base } = await open();
    const response = await fetch(`${base}/metrics`);
    expect([response.headers.get("content-type"), await response.text()]).toEqual([
      "text/plain",
      "up 1\n",
    ]);
    const without = await open({ metrics: null });
    const unknown = await fetch(`${without.base}/metrics`);
    expect([
      unknown.status,
      ((await unknown.json()) as { error: { code: string } }).error.code,
    ]).toEqual([404, "unknown_endpoint"]);
  });
});

test("a taken port is an error that names the setting", async () => {
  const { port } = await open();
  const second = open({ port });
  await expect(second).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is taken by another process: set API_PORT to a free one`,
  );
});

describe("stopping", () => {
  async function slowPort() {
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const port = await startPort(async () => {
      entered.resolve();
      await release.promise;
      return { organisation };
    });
    return { port, entered: entered.promise, release: release.resolve };
  }

  test("open requests finish, idle connections do not delay it, new ones are refused", async () => {
    const { port, entered, release } = await slowPort();
    await fetch(`${port.base}/healthz`).then((response) => response.text());
    const silent = connectTcp({ port: port.port, host: "127.0.0.1" });
    await new Promise((resolve) => silent.once("connect", resolve));
    const first = fetch(`${port.base}/v1/organisation`, { headers: { authorization } });
    const second = http2Get(port.base, "/v1/organisation");
    await entered;
    await expect.poll(() => port.calls.length).toBe(2);
    const stopped = port.stop({ graceMs: 10_000 });
    await expect(fetch(`${port.base}/healthz`)).rejects.toThrow();
    release();
    expect((await first).status).toBe(200);
    expect((await second).headers[":status"]).toBe(200);
    await stopped;
  });

  test("a request that does not finish in time is ended", async () => {
    const { port, entered } = await slowPort();
    const request = fetch(`${port.base}/v1/organisation`, { headers: { authorization } });
    const ended = expect(request).rejects.toThrow();
    await entered;
    await port.stop({ graceMs: 50 });
    await ended;
  });

  test("a session gets GOAWAY", async () => {
    const { port, entered, release } = await slowPort();
    const session = connectHttp2(port.base);
    const goaway = new Promise((resolve) => session.once("goaway", resolve));
    const stream = session.request({ ":path": "/v1/organisation", authorization });
    const status = new Promise((resolve) =>
      stream.once("response", (headers) => resolve(headers[":status"])),
    );
    stream.resume();
    await entered;
    const stopped = port.stop({ graceMs: 10_000 });
    expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
    release();
    expect(await status).toBe(200);
    await stopped;
  });
});
