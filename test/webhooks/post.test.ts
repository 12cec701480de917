/**
 * Requests to endpoints over real connections of this machine: what is sent, what is read, when it
 * ends. WEBHOOK-2, WEBHOOK-3, WEBHOOK-6.
 */
import { createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPoster, type Post, type Poster, type PostOutcome } from "../../src/webhooks/post.ts";
import { type Answering, listen, startReceiver, type TestReceiver } from "./receiver-fixture.ts";

const body = '{"id":"1","name":"Žluťoučký 🐎"}';
const headers = { "Billing-Signature": "t=1,v1=0" };

/** By path; what none of them names is answered 200. */
const answers: Record<string, Answering> = {
  "/moved": (_request, response) =>
    response.writeHead(302, { location: "/elsewhere" }).end("moved"),
  "/moved-for-good": (_request, response) =>
    response.writeHead(308, { location: "/elsewhere" }).end(),
  "/gone": (_request, response) => response.writeHead(410).end("never again"),
  "/fails": (_request, response) => response.writeHead(500).end("oh no"),
  "/none": (_request, response) => response.writeHead(204).end(),
  "/early": (_request, response) => {
    response.writeEarlyHints({ link: "</style.css>; rel=preload" });
    response.end("after the hints");
  },
  "/odd": (_request, response) =>
    response.end(Buffer.from([0x61, 0, 0x62, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80])),
  "/orders": (_request, response) => response.end("a\u001b[2J\u009b31mb\u202ec\r\n\td\u007f\b"),
  "/long": (_request, response) => response.end(`${"x".repeat(1_023)}é${"y".repeat(30_000)}`),
  "/endless": (_request, response) => {
    const more = () => {
      while (response.write("z".repeat(16_384)));
      response.once("drain", more);
    };
    more();
  },
  "/breaks-off": (_request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("the beg", () => response.destroy());
  },
  "/never": () => undefined,
  "/drops": (_request, response) => void response.write("a"),
};

let receiver: TestReceiver;
let poster: Poster;

beforeAll(async () => {
  receiver = await startReceiver((request, response) => {
    const retryAfter = new URL(request.path, "http://x").searchParams.get("retry-after");
    if (retryAfter !== null) response.writeHead(429, { "retry-after": retryAfter }).end();
    else (answers[request.path] ?? ((_request, other) => other.end("thanks")))(request, response);
  });
  // The rules of answers hold even if this machine stands still for a second.
  poster = createPoster({ mode: "development", restMs: 15_000 });
});
afterAll(async () => {
  await poster.close();
  await receiver.stop();
});

const to = (path: string, given: Partial<Post> = {}) =>
  poster.post({ url: `http://127.0.0.1:${receiver.port}${path}`, body, headers, ...given });

/** A server that says whatever it likes, and how many connected to it. */
async function startRaw(
  says: (server: TcpServer) => void,
): Promise<{ url: string; stop: () => void }> {
  const server = createTcpServer();
  const sockets = new Set<{ destroy: () => void }>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => undefined)));
  says(server);
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/`,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("a request", () => {
  test("is a POST of exactly these bytes as JSON, with signature and sender's name", async () => {
    expect(await to("/hooks?tenant=1")).toMatchObject({
      kind: "answered",
      status: 200,
      retryAfterMs: null,
      answer: "thanks",
    });
    const got = receiver.received.find(({ path }) => path === "/hooks?tenant=1");
    expect(got).toMatchObject({ method: "POST", body });
    expect(got?.headers).toEqual({
      host: `127.0.0.1:${receiver.port}`,
      connection: "keep-alive",
      "content-type": "application/json; charset=utf-8",
      "content-length": String(Buffer.byteLength(body)),
      "user-agent": "subscription-billing-webhooks/1",
      "billing-signature": "t=1,v1=0",
    });
  });

  test("has its own headers, whatever else is passed", async () => {
    await to("/typed", { headers: { "content-type": "text/plain", "User-Agent": "x" } });
    expect(receiver.received.find(({ path }) => path === "/typed")?.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "user-agent": "subscription-billing-webhooks/1",
    });
  });

  test("uses no proxy, whatever the environment says", async () => {
    const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"];
    for (const name of names) process.env[name] = "http://127.0.0.1:1";
    try {
      expect(await to("/direct")).toMatchObject({ status: 200 });
    } finally {
      for (const name of names) delete process.env[name];
    }
  });

  test("reuses earlier connections, and waits for none that is slow", async () => {
    const hasArrived = Promise.withResolvers<void>();
    const sharing = await startReceiver((request, response) => {
      if (request.path === "/second") hasArrived.resolve();
      if (request.path === "/first") hasArrived.promise.then(() => response.end());
      else response.end();
    });
    const send = (path: string) =>
      poster.post({ url: `http://127.0.0.1:${sharing.port}${path}`, body, headers });
    for (let sent = 0; sent < 20; sent += 1) await send("/");
    expect(sharing.connections()).toBeLessThan(10);
    expect(await Promise.all(["/first", "/second"].map(send))).toMatchObject([
      { status: 200 },
      { status: 200 },
    ]);
    await sharing.stop();
  });
});

describe("an answer", () => {
  test.each([
    ["/moved", 302, "moved"],
    ["/moved-for-good", 308, ""],
    ["/gone", 410, "never again"],
    ["/fails", 500, "oh no"],
    ["/none", 204, ""],
    ["/early", 200, "after the hints"],
    ["/breaks-off", 200, expect.stringMatching(/^(?:the beg)?$/)],
  ])("counts by its status, and no redirect is followed: %s", async (path, status, answer) => {
    expect(await to(path)).toMatchObject({ kind: "answered", status, answer });
    expect(receiver.received.filter((one) => one.path === "/elsewhere")).toEqual([]);
  });

  test("is stored as valid text: no NUL, and invalid UTF-8 replaced", async () => {
    const { answer } = (await to("/odd")) as { answer: string };
    expect(answer).toMatch(/^ab\ufffd+\(\ufffd+$/);
  });

  test("has no control characters for a terminal", async () => {
    expect(await to("/orders")).toMatchObject({ answer: "a[2J31mbc\n\td" });
  });

  test("is cut to its first 1,024 bytes, without half a character", async () => {
    expect(await to("/long")).toMatchObject({ status: 200, answer: "x".repeat(1_023) });
  });

  test("that never ends is cut, and its connection is closed", async () => {
    const closed = Promise.withResolvers<void>();
    const endless = await startReceiver((request, response) => {
      response.on("close", () => closed.resolve());
      answers["/endless"]?.(request, response);
    });
    // Without the cut it would be read for longer than this test may take.
    const patient = createPoster({ mode: "development", totalMs: 600_000, restMs: 600_000 });
    const outcome = await patient.post({ url: `http://127.0.0.1:${endless.port}/`, body, headers });
    expect(outcome).toMatchObject({ status: 200, answer: "z".repeat(1_024) });
    await closed.promise;
    await patient.close();
    await endless.stop();
  });

  test("that comes slowly is cut a second after its status, and disconnected", async () => {
    const closed = Promise.withResolvers<void>();
    const dripping = await startReceiver((_request, response) => {
      response.write("a");
      const drip = setInterval(() => response.write("a"), 10);
      response.on("close", () => {
        clearInterval(drip);
        closed.resolve();
      });
    });
    // Without the cut it would be read for longer than this test may take.
    const patient = createPoster({ mode: "development", totalMs: 600_000 });
    const outcome = await patient.post({
      url: `http://127.0.0.1:${dripping.port}/`,
      body,
      headers,
    });
    expect(outcome).toMatchObject({
      kind: "answered",
      status: 200,
      answer: expect.stringMatching(/^a*$/),
    });
    await closed.promise;
    await patient.close();
    await dripping.stop();
  });

  test.each([
    ["120", 120_000],
    ["0", 0],
    ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["-5", null],
    ["1.5", null],
    ["soon", null],
    ["9999999999999", null],
    ["2027-01-01", null],
  ])("delays the next attempt by Retry-After: %s", async (header, retryAfterMs) => {
    expect(await to(`/?retry-after=${encodeURIComponent(header)}`)).toMatchObject({
      status: 429,
      retryAfterMs,
    });
  });

  test("may name the instant of the next attempt", async () => {
    const until = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3_600_000);
    const { retryAfterMs } = (await to(
      `/?retry-after=${encodeURIComponent(until.toUTCString())}`,
    )) as {
      retryAfterMs: number;
    };
    expect(retryAfterMs).toBeLessThanOrEqual(until.getTime() - Date.now() + 60_000);
    expect(retryAfterMs).toBeGreaterThan(3_000_000);
  });
});

describe("a request ends", () => {
  test("by its deadline if no answer comes, or an incomplete one", async () => {
    const hasty = createPoster({ mode: "development", totalMs: 100 });
    const drips: NodeJS.Timeout[] = [];
    const slow = await startRaw((server) =>
      server.on("connection", (socket) => {
        socket.write("HTTP/1.1 200 OK\r\nX-Slow: ");
        drips.push(setInterval(() => socket.write("a"), 10));
      }),
    );
    const silent = { kind: "failed", error: "no answer came within 0.1 seconds" };
    const never = `http://127.0.0.1:${receiver.port}/never`;
    const outcomes = [never, slow.url].map((url) => hasty.post({ url, body, headers }));
    expect(await Promise.all(outcomes)).toMatchObject([silent, silent]);
    for (const drip of drips) clearInterval(drip);
    slow.stop();
    await hasty.close();
  });

  test("when the poster ends", async () => {
    const closing = createPoster({ mode: "development" });
    const arrived = Promise.withResolvers<void>();
    const waiting = await startReceiver(() => arrived.resolve());
    const outcome = closing.post({ url: `http://127.0.0.1:${waiting.port}/`, body, headers });
    await arrived.promise;
    await closing.close();
    expect(await outcome).toMatchObject({ kind: "failed" });
    await waiting.stop();
  });
});

describe("a failure describes what the owner can change, and names no address,", () => {
  test.each<[string, (server: TcpServer) => void, string]>([
    [
      "who closes at once",
      (server) => server.on("connection", (socket) => socket.destroy()),
      "the connection was closed before an answer came",
    ],
    [
      "who speaks something else",
      (server) => server.on("connection", (socket) => socket.end("SSH-2.0-x\r\n")),
      "what answered does not speak HTTP as it should",
    ],
    [
      "whose head is endless",
      (server) =>
        server.on("connection", (socket) =>
          socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(40_000)}`),
        ),
      "what answered does not speak HTTP as it should",
    ],
    [
      "who wants to speak something else",
      (server) =>
        server.on("connection", (socket) =>
          socket.write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
          ),
        ),
      "the connection was closed before an answer came",
    ],
  ])("%s", async (_who, says, error) => {
    const raw = await startRaw(says);
    const outcome = await poster.post({ url: raw.url, body, headers });
    expect(outcome).toMatchObject({ kind: "failed", error: expect.stringContaining(error) });
    expect(outcomeText(outcome)).not.toContain("127.0.0.1");
    raw.stop();
  });

  test("if the host is not there", async () => {
    const outcome = await to("/", { url: "http://127.0.0.1:1/" });
    expect(outcome).toMatchObject({
      kind: "failed",
      error: "the connection was refused (ECONNREFUSED)",
    });
    expect(Number.isInteger(outcome.latencyMs)).toBe(true);
  });

  test("if the address is forbidden", async () => {
    const error = "the address must hold no user name or password";
    expect(await to("/", { url: "http://a:b@127.0.0.1/" })).toMatchObject({
      kind: "failed",
      error,
    });
  });
});

const outcomeText = (outcome: PostOutcome) =>
  outcome.kind === "failed" ? outcome.error : outcome.answer;
