/**
 * Floods of clients without a key are bounded, and a client with a key keeps its
 * answers during each of them.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import { request as requestHttps } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { trustedProxies } from "../../../../src/main/settings/read-settings.ts";
import type { HttpParts } from "../../../../src/transport/http/server.ts";
import { floodOfResets } from "../../../support/http2-flood.ts";
import { type Answer, openapiPage, startPort, type TestPort } from "../port-fixture.ts";
import { certificate } from "../tls-fixture.ts";

const organisation = { id: "o", object: "organisation", name: "Northwind" };
const authorization = "Bearer sk_test_1";
/** As large as ours is. */
const documentBytes = 233_280;

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
  const pages = openapiPage(Buffer.alloc(documentBytes, "x"));
  const port = await startPort(answer, { pages, ...overrides });
  ports.push(port);
  return port;
}

interface Flood {
  readonly session: ClientHttp2Session;
  readonly streams: readonly ClientHttp2Stream[];
}

/** Opens requests of one session. With a window of 0 none of their answers can be read. */
async function flood(
  port: TestPort,
  count: number,
  {
    window = 0,
    headers = {},
    from,
  }: { window?: number; headers?: OutgoingHttpHeaders; from?: string } = {},
): Promise<Flood> {
  const local = from === undefined ? {} : { createConnection: () => connectFrom(port, from) };
  const session = connectHttp2(port.base, {
    settings: { initialWindowSize: window },
    ca: certificate.cert,
    ...local,
  });
  sessions.push(session.on("error", () => {}));
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  const streams = Array.from({ length: count }, () => {
    const stream = session.request({ ":path": "/v1/openapi.json", ...headers });
    return stream.on("error", () => {}).resume();
  });
  return { session, streams };
}

function connectFrom({ port }: TestPort, localAddress: string): Socket {
  const socket = connectTcp({ port, host: "127.0.0.1", localAddress, noDelay: true });
  sockets.push(socket.on("error", () => {}));
  return socket;
}

const closedOf = (floods: readonly Flood[], code: number) =>
  floods
    .flatMap(({ streams }) => streams)
    .filter(({ closed, rstCode }) => closed && rstCode === code).length;

/** The statuses of requests with a key, one after the other, on connections of their own. */
async function keyed(port: TestPort, count = 20): Promise<Set<number>> {
  const statuses = new Set<number>();
  for (let index = 0; index < count; index += 1) {
    const response = await fetch(`${port.base}/v1/organisation`, {
      headers: { authorization, connection: "close" },
    });
    await response.text();
    statuses.add(response.status);
  }
  return statuses;
}

const calm = constants.NGHTTP2_ENHANCE_YOUR_CALM;
const refused = constants.NGHTTP2_REFUSED_STREAM;

describe("answers that no client reads", () => {
  test("20 sessions of 100 streams hold 64 MiB of documents; a key keeps its answers", async () => {
    const port = await open({ trustedProxies: trustedProxies({}) });
    const floods: Flood[] = [];
    for (let index = 0; index < 20; index += 1) floods.push(await flood(port, 100));
    await expect
      .poll(() => closedOf(floods, calm))
      .toBe(2_000 - Math.floor((64 * 1_048_576) / documentBytes));
    const held = floods.map(({ streams }) => streams.filter(({ closed }) => !closed).length);
    expect(Math.max(...held)).toBe(Math.floor((4 * 1_048_576) / documentBytes));
    expect(await keyed(port)).toEqual(new Set([200]));
  });

  test("the oldest give way by number if their answers are small", async () => {
    const port = await open();
    const one = await flood(port, 100, { headers: { ":path": "/nowhere" } });
    await expect.poll(() => closedOf([one], calm)).toBe(100 - 32);
    expect(one.streams.map(({ closed }) => closed)).toEqual(
      one.streams.map((_, index) => index < 68),
    );
    expect(await keyed(port)).toEqual(new Set([200]));
  });

  test("an address has 256 open requests without a key, in any number of sessions", async () => {
    const port = await open();
    const floods: Flood[] = [];
    for (let index = 0; index < 12; index += 1)
      floods.push(await flood(port, 32, { headers: { ":path": "/nowhere" } }));
    await expect.poll(() => closedOf(floods, calm)).toBe(12 * 32 - 256);
    const other = await flood(port, 10, { headers: { ":path": "/nowhere" }, from: "127.0.0.2" });
    expect(await keyed(port)).toEqual(new Set([200]));
    expect([closedOf(floods, calm), closedOf([other], calm)]).toEqual([12 * 32 - 256, 0]);
  });

  test("an address is the same over TLS and both versions", async () => {
    const two = { count: 2, bytes: 1e9 };
    const many = { count: 100, bytes: 1e9 };
    const limits = { withoutCredentials: { perConnection: many, perAddress: two, total: many } };
    const port = await open({ limits, tls: certificate });
    const one = await flood(port, 5, { headers: { ":path": "/nowhere" } });
    await expect.poll(() => closedOf([one], calm)).toBe(3);
    // Over HTTP/1.1 from the same address: the oldest of the session gives way.
    expect(await statusFrom(port, "127.0.0.1")).toBe(200);
    await expect.poll(() => closedOf([one], calm)).toBe(4);
  });

  test("in total there is a bound also behind a trusted proxy", async () => {
    const few = { count: 32, bytes: 1e9 };
    const withoutCredentials = {
      perConnection: few,
      perAddress: few,
      total: { count: 100, bytes: 1e9 },
    };
    const port = await open({
      limits: { withoutCredentials },
      trustedProxies: trustedProxies({}),
    });
    const floods: Flood[] = [];
    for (let index = 0; index < 5; index += 1)
      floods.push(await flood(port, 32, { headers: { ":path": "/nowhere" } }));
    await expect.poll(() => closedOf(floods, calm)).toBe(5 * 32 - 100);
    // Newcomers without a key are answered as well: probes of health go on.
    expect((await fetch(`${port.base}/healthz`)).status).toBe(200);
    expect(await keyed(port)).toEqual(new Set([200]));
  });

  test("the connection that holds the most is ended if all together are too large", async () => {
    const limits = { unreadBytes: 100_000, checkEveryMs: 25 };
    const large = { ...organisation, name: "x".repeat(20_000) };
    const port = await open({ limits }, ({ idempotencyKey }) => ({
      organisation: idempotencyKey === null ? large : organisation,
    }));
    const headers = { authorization, ":path": "/v1/organisation" };
    const greedy = await flood(port, 10, { headers });
    const modest = await flood(port, 2, { headers });
    await expect.poll(() => greedy.session.destroyed).toBe(true);
    expect(modest.session.destroyed).toBe(false);
    expect(await keyed(port)).toEqual(new Set([200]));
  });
});

describe("unknown keys", () => {
  const unknown = { authorization: "Bearer sk_test_2" };
  const two = { count: 2, bytes: 1e9 };

  test("open requests over the bound are refused; a known good key continues", async () => {
    const release = Promise.withResolvers<void>();
    const limits = { unprovenCredentials: { perConnection: two, perAddress: two, total: two } };
    const port = await open({
      limits,
      // Stands for a database that is slow to say whether a key is good.
      connect: (_request, response) =>
        void release.promise.then(() => response.writeHead(401).end()),
    });
    expect(await keyed(port, 1)).toEqual(new Set([200]));
    const headers = { ...unknown, ":path": "/billing.v1.OrganisationService/GetOrganisation" };
    const one = await flood(port, 5, { headers, window: 65_535 });
    await expect.poll(() => closedOf([one], refused)).toBe(3);
    const overHttp1 = await fetch(`${port.base}/v1/organisation`, {
      headers: { authorization: "Bearer sk_test_3" },
    });
    const answer = (await overHttp1.json()) as { error: { request_id: string } };
    expect([overHttp1.status, overHttp1.headers.get("retry-after"), answer]).toEqual([
      502,
      "1",
      { error: expect.objectContaining({ type: "api_error", code: "temporarily_unavailable" }) },
    ]);
    expect(answer.error.request_id).toBe(overHttp1.headers.get("request-id"));
    expect(await keyed(port)).toEqual(new Set([200]));
    expect((await fetch(`${port.base}/healthz`)).status).toBe(200);
    release.resolve();
    await expect.poll(() => one.streams.filter(({ closed }) => closed).length).toBe(5);
    expect((await fetch(`${port.base}/v1/organisation`, { headers: unknown })).status).toBe(401);
  });

  test("refusals that no client reads give way to new keys", async () => {
    const limits = { unprovenCredentials: { perConnection: two, perAddress: two, total: two } };
    const port = await open({ limits });
    const one = await flood(port, 10, { headers: { ...unknown, ":path": "/v1/organisation" } });
    await expect.poll(() => closedOf([one], calm)).toBe(8);
    expect(await keyed(port)).toEqual(new Set([200]));
  });

  test("a key that is refused later counts as unknown again", async () => {
    let good = true;
    const limits = { unprovenCredentials: { perConnection: two, perAddress: two, total: two } };
    const port = await open({
      limits,
      rest: (_request, response, exchange) => {
        if (good) exchange.apiKeyId = "k";
        else exchange.code = "invalid_api_key";
        response.writeHead(good ? 200 : 401).end();
      },
    });
    expect(await keyed(port, 1)).toEqual(new Set([200]));
    const headers = { authorization };
    const before = await flood(port, 5, { headers, window: 65_535 });
    await expect.poll(() => before.streams.filter(({ closed }) => closed).length).toBe(5);
    expect(closedOf([before], calm)).toBe(0);
    good = false;
    expect(await keyed(port, 1)).toEqual(new Set([401]));
    const after = await flood(port, 5, { headers: { authorization } });
    await expect.poll(() => closedOf([after], calm)).toBe(3);
  });
});

describe("connections", () => {
  test.each([
    ["cleartext", null],
    ["TLS", certificate],
  ])("over %s an address has a limit, unlike a trusted proxy", async (_, tls) => {
    const reported: string[] = [];
    const limits = { connectionsPerAddress: 3 };
    const port = await open({
      limits,
      tls,
      onConnectionLimit: (address) => reported.push(address),
    });
    const connected = async (at: TestPort, count: number) => {
      const held = Array.from({ length: count }, () => connectFrom(at, "127.0.0.2"));
      await Promise.all(
        held.map((socket) => new Promise((resolve) => socket.once("connect", resolve))),
      );
      return held;
    };
    const [first] = await connected(port, 3);
    expect(await statusFrom(port, "127.0.0.2")).toBe(null);
    expect(reported).toEqual(["127.0.0.2"]);
    expect(await statusFrom(port, "127.0.0.3")).toBe(200);
    first?.destroy();
    // The place is free once the server has seen the end.
    await expect.poll(() => statusFrom(port, "127.0.0.2")).toBe(200);
    const trusting = await open({
      limits,
      tls,
      trustedProxies: trustedProxies({ TRUSTED_PROXIES: "127.0.0.2" }),
    });
    await connected(trusting, 10);
    expect(await statusFrom(trusting, "127.0.0.2")).toBe(200);
  });
});

/** The status of a request on a new connection; null if that connection is refused. */
function statusFrom({ base, port }: TestPort, localAddress: string): Promise<number | null> {
  const options = {
    host: "127.0.0.1",
    port,
    path: "/healthz",
    localAddress,
    agent: false,
  } as const;
  return new Promise((resolve) => {
    const take = (response: IncomingMessage) => resolve(response.resume().statusCode ?? 0);
    const sent = base.startsWith("https:")
      ? requestHttps({ ...options, ca: certificate.cert }, take)
      : requestHttp(options, take);
    sent.once("error", () => resolve(null)).end();
  });
}

describe("requests that are reset as soon as they are sent", () => {
  test.each([
    ["in the first bytes of a connection", false, 0],
    ["later", true, 201],
  ])("%s end their session before most are handled", async (_, greeted, most) => {
    const port = await open();
    await floodOfResets(port.port, "/nowhere", 1, 900, { greeted }).ended;
    expect(port.lines.filter(({ path }) => path === "/nowhere").length).toBeLessThanOrEqual(most);
    expect(await keyed(port)).toEqual(new Set([200]));
  });
});

test("header blocks that unfold to megabytes end their session", async () => {
  const port = await open();
  const socket = connectFrom(port, "127.0.0.1");
  let received = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const value = Buffer.alloc(3_900, "a");
  // GET / of http at "x", and a header of 4 KB that becomes entry 62 of the table.
  const pseudo = Buffer.from([0x82, 0x84, 0x86, 0x41, 1, 0x78]);
  const literal = Buffer.concat([pseudo, Buffer.from([0x40, 1, 0x62, 0x7f, 0xbd, 0x1d]), value]);
  const bomb = Buffer.concat([pseudo.subarray(0, 3), Buffer.alloc(8_000, 0xbe)]);
  socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)]));
  socket.write(frame(1, 5, 1, literal));
  let sent = 0;
  const pump = () => {
    while (!socket.destroyed && sent < 20_000) {
      sent += 1;
      if (!socket.write(frame(1, 5, 1 + 2 * sent, bomb))) return;
    }
  };
  socket.on("drain", pump);
  pump();
  expect(await keyed(port, 5)).toEqual(new Set([200]));
  await closed;
  expect(sent).toBeLessThan(20_000);
  expect(framesOf(received).filter(({ type }) => type === 7)).toMatchObject([{ code: calm }]);
});

function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Type of each frame, and for GOAWAY its code. */
function framesOf(bytes: Buffer): { readonly type: number; readonly code: number | null }[] {
  const frames = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    const type = bytes.readUInt8(at + 3);
    frames.push({
      type,
      code: type === 7 && at + 17 <= bytes.length ? bytes.readUInt32BE(at + 13) : null,
    });
  }
  return frames;
}
