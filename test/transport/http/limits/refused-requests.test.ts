/** A connection ends after so many refusals. No other is ended for them (LIMIT-2). */
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { HttpParts } from "../../../../src/transport/http/server.ts";
import { type Answer, startPort, type TestPort } from "../port-fixture.ts";

const organisation = { id: "o", object: "organisation", name: "Northwind" };
const authorization = "Bearer sk_test_1";
const day = 86_400_000;
const limits = { refusals: 5, refusalForgivenMs: day };

const ports: TestPort[] = [];
const sessions: ClientHttp2Session[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(ports.splice(0).map((port) => port.stop({ graceMs: 0 })));
});

async function open(
  overrides: Partial<HttpParts> = {},
  answer: Answer = () => ({ organisation }),
): Promise<TestPort> {
  const port = await startPort(answer, { limits, ...overrides });
  ports.push(port);
  return port;
}

/** A connection of HTTP/1.1 that sends one request after the other, or several at once. */
function http1(port: TestPort) {
  const socket = connectTcp({ port: port.port, host: "127.0.0.1", noDelay: true });
  sockets.push(socket.on("error", () => {}));
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    received += text;
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const answers = () => [...received.matchAll(/HTTP\/1\.1 (\d+) .*?\r\n\r\n/gs)];
  return {
    closed,
    send: (path: string, headers = "", times = 1) =>
      void socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`.repeat(times)),
    /** Sends a request and returns its answer's status and `Connection`, once its head is there. */
    async get(path: string, headers = ""): Promise<[string, string]> {
      const before = answers().length;
      this.send(path, headers);
      await expect.poll(() => answers().length).toBe(before + 1);
      const [head = "", status = ""] = answers().at(-1) ?? [];
      return [status, /^connection: (.*)\r$/im.exec(head)?.[1] ?? ""];
    },
  };
}

async function http2(port: TestPort, window = 65_535) {
  const session = connectHttp2(port.base, { settings: { initialWindowSize: window } });
  sessions.push(session.on("error", () => {}));
  const goaway = new Promise<number>((resolve) => session.once("goaway", resolve));
  const closed = new Promise<void>((resolve) => session.once("close", () => resolve()));
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  const get = (path: string, headers = {}): Promise<number | undefined> => {
    const stream = session.request({ ":path": path, ...headers });
    stream.on("error", () => {}).resume();
    return new Promise((resolve) => {
      let status: number | undefined;
      stream.once("response", (response) => {
        status = response[":status"];
      });
      stream.once("close", () => resolve(status));
    });
  };
  return { session, goaway, closed, get };
}

const key = `Authorization: ${authorization}\r\n`;
const wrong = "Authorization: Bearer sk_test_2\r\n";

describe("over HTTP/1.1", () => {
  test.each([
    ["no key", "/v1/organisation", ""],
    ["a wrong key", "/v1/organisation", wrong],
    ["an unknown path", "/nowhere", ""],
  ])("refusals for %s end the connection with the next answer", async (_, path, headers) => {
    const client = http1(await open());
    for (let times = 0; times < limits.refusals; times += 1)
      expect((await client.get(path, headers))[1]).toBe("keep-alive");
    // The next request is answered, also that of another client of a proxy.
    expect(await client.get("/v1/organisation", key)).toEqual(["200", "close"]);
    await client.closed;
  });

  test("requests that were sent behind the last one are not carried out", async () => {
    const port = await open();
    const client = http1(port);
    for (let times = 0; times < limits.refusals; times += 1) await client.get("/nowhere");
    client.send("/v1/organisation", key, 3);
    await client.closed;
    expect(port.calls.length).toBe(1);
  });
});

describe("over HTTP/2", () => {
  test("refusals end the session, and a request with a key in it is answered", async () => {
    const release = Promise.withResolvers<void>();
    const port = await open({}, async () => {
      await release.promise;
      return { organisation };
    });
    const { goaway, closed, get } = await http2(port);
    const open2 = get("/v1/organisation", { authorization });
    await expect.poll(() => port.calls.length).toBe(1);
    for (let times = 0; times < limits.refusals; times += 1)
      expect(await get("/v1/organisation")).toBe(401);
    expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
    release.resolve();
    expect(await open2).toBe(200);
    await closed;
  });

  test("streams that are closed off for their number end the session", async () => {
    const { goaway, get } = await http2(await open(), 0);
    for (let index = 0; index < 32 + limits.refusals; index += 1) void get("/v1/openapi.json");
    expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test("streams that are refused because others wait end the session", async () => {
    const release = Promise.withResolvers<void>();
    const rest = async () => release.promise;
    const { goaway, get } = await http2(await open({ rest }));
    for (let index = 0; index < 32 + limits.refusals; index += 1) void get("/v1/organisation");
    expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
    release.resolve();
  });

  test("requests over the rate of their key end the session", async () => {
    let isLimited = false;
    const { goaway, get } = await http2(
      await open({
        rest: (_request, response, exchange) => {
          if (isLimited) exchange.code = "rate_limited";
          else exchange.apiKeyId = "k";
          response.writeHead(isLimited ? 429 : 200).end();
        },
      }),
    );
    expect(await get("/v1/organisation", { authorization })).toBe(200);
    isLimited = true;
    for (let times = 0; times < limits.refusals; times += 1)
      expect(await get("/v1/organisation", { authorization })).toBe(429);
    expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
  });
});

describe("a connection goes on", () => {
  test("that probes, also while the process is not ready", async () => {
    const readiness = { report: async () => ({ status: "not_ready" as const, checks: {} }) };
    const port = await open({ readiness });
    const client = http1(port);
    const { session, get } = await http2(port);
    for (let times = 0; times < 3 * limits.refusals; times += 1) {
      expect(await client.get("/healthz")).toEqual(["200", "keep-alive"]);
      expect(await client.get("/readyz")).toEqual(["503", "keep-alive"]);
      expect([await get("/healthz"), await get("/readyz")]).toEqual([200, 503]);
    }
    expect(session.closed).toBe(false);
  });

  test("whose refusals are forgiven before the next one", async () => {
    const port = await open({ limits: { ...limits, refusalForgivenMs: 1e-6 } });
    const client = http1(port);
    for (let times = 0; times < 3 * limits.refusals; times += 1)
      expect(await client.get("/v1/organisation", wrong)).toEqual(["401", "keep-alive"]);
  });

  test.each([
    ["whose key is good", "subscription_not_found", "k", 404],
    ["whose key could not be checked", "temporarily_unavailable", null, 502],
  ])("%s", async (_, code, apiKeyId, status) => {
    const port = await open({
      rest: (_request, response, exchange) => {
        Object.assign(exchange, { code, apiKeyId });
        response.writeHead(status, { "content-length": 0 }).end();
      },
    });
    const client = http1(port);
    for (let times = 0; times < 3 * limits.refusals; times += 1)
      expect(await client.get("/v1/organisation", key)).toEqual([`${status}`, "keep-alive"]);
  });
});
