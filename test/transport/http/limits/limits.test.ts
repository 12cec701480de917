/** Slow, oversized and broken clients are bounded, before and after the gate. */
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openapiPage, startPort, type TestPort } from "../port-fixture.ts";

const organisation = { id: "o", object: "organisation", name: "Northwind" };
const subscription = {
  id: "s",
  object: "subscription",
  status: 2,
  interval: { unit: "month", count: 1 },
};
const requestId = /Request-Id: [0-9a-f-]{36}\r\n/;

let port: TestPort;
/** A port that waits only shortly for the first byte. */
let hasty: TestPort;
/** A port whose times are long, so that what ends there is ended by size. */
let patient: TestPort;

beforeAll(async () => {
  const answer = () => ({ organisation, subscription });
  const quick = { headersMs: 600, requestMs: 1_500, checkEveryMs: 25, slowBodyAfterMs: 300 };
  port = await startPort(answer, { limits: { ...quick, sessionIdleMs: 600 } });
  hasty = await startPort(answer, { limits: { firstByteMs: 500 } });
  patient = await startPort(answer);
});
afterAll(() => Promise.all([port, hasty, patient].map((each) => each.stop({ graceMs: 0 }))));

/** A bare connection: what it received so far, and whether the other side has ended it. */
function open(to: TestPort): { socket: Socket; received: () => string; closed: Promise<string> } {
  const socket = connectTcp({ port: to.port, host: "127.0.0.1", noDelay: true });
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  // A reset is one of the ways to be ended.
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  return { socket, received: () => text, closed };
}

const head = (...lines: string[]) =>
  [
    "POST /v1/subscriptions HTTP/1.1",
    "Host: x",
    "Content-Type: application/json",
    ...lines,
    "",
    "",
  ].join("\r\n");
const key = "Authorization: Bearer sk_test_1";

describe("a slow client is ended", () => {
  test("that sends nothing", async () => {
    expect(await open(hasty).closed).toBe("");
  });

  test("that never finishes its head", async () => {
    const { socket, closed } = open(port);
    socket.write("GET /v1/organisation HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    const drip = setInterval(() => socket.write("a"), 20);
    const answer = await closed;
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(requestId);
  });

  test("whose body comes in drops, by 408", async () => {
    const { socket, closed } = open(port);
    socket.write(head(key, "Content-Length: 1000"));
    const drip = setInterval(() => socket.write(" "), 20);
    const answer = await closed;
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(requestId);
  });

  test("whose body comes in drops over HTTP/2", async () => {
    const session = connectHttp2(port.base);
    const stream = session.request({
      ":method": "POST",
      ":path": "/v1/subscriptions",
      authorization: "Bearer sk_test_1",
      "content-type": "application/json",
    });
    const drip = setInterval(() => stream.write(" "), 20);
    const ended = await new Promise<number>((resolve) => {
      stream.once("error", () => {});
      stream.once("close", () => resolve(stream.rstCode));
    });
    clearInterval(drip);
    session.destroy();
    expect(ended).not.toBe(0);
  });

  test("whose session is idle", async () => {
    const session = connectHttp2(port.base);
    await new Promise((resolve) => session.once("close", resolve));
  });
});

describe("a client that does not read its answer is ended", () => {
  test("over HTTP/2, where its window is closed", async () => {
    const unread = await startPort(() => ({ organisation, subscription }), {
      pages: openapiPage(Buffer.alloc(200_000, "x")),
      limits: { unreadMs: 200, checkEveryMs: 25 },
    });
    const session = connectHttp2(`http://127.0.0.1:${unread.port}`, {
      settings: { initialWindowSize: 0 },
    });
    session.on("error", () => {});
    const closed = new Promise<void>((resolve) => session.once("close", () => resolve()));
    for (let index = 0; index < 10; index += 1) {
      session
        .request({ ":path": "/v1/openapi.json" })
        .on("error", () => {})
        .end();
    }
    await closed;
    await unread.stop({ graceMs: 0 });
  });

  test("over HTTP/1.1, where it takes nothing from its socket", async () => {
    const unread = await startPort(() => ({ organisation, subscription }), {
      pages: openapiPage(Buffer.alloc(20_000_000, "x")),
      limits: { unreadMs: 200, checkEveryMs: 25 },
    });
    const socket = connectTcp({ port: unread.port, host: "127.0.0.1" }).on("error", () => {});
    socket.write("GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n");
    socket.pause();
    await expect
      .poll(() => unread.lines)
      .toMatchObject([{ path: "/v1/openapi.json", answered: false }]);
    socket.destroy();
    await unread.stop({ graceMs: 0 });
  });
});

describe("an oversized request is refused", () => {
  test("by the length it announces, before a byte of its body is sent", async () => {
    const { socket, closed } = open(patient);
    socket.write(head(key, "Content-Length: 1048577", "Expect: 100-continue"));
    socket.end();
    const answer = await closed;
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(requestId);
    expect(answer).toContain("request_too_large");
    expect(answer).toContain("Connection: close");
  });

  test("by what it sends without announcing, with an answer while it still sends", async () => {
    const { socket, received, closed } = open(patient);
    socket.write(head(key, "Transfer-Encoding: chunked"));
    const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`;
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", pump);
    pump();
    await expect.poll(received).toMatch(/^HTTP\/1\.1 413 .*request_too_large.*\}\}$/s);
    await closed;
  });

  test("over HTTP/2, and the session goes on", async () => {
    const session = connectHttp2(patient.base);
    const headers = { authorization: "Bearer sk_test_1", "content-type": "application/json" };
    const stream = session.request({ ":method": "POST", ":path": "/v1/subscriptions", ...headers });
    stream.on("error", () => {});
    let text = "";
    const status = new Promise((resolve) =>
      stream.once("response", (received) => resolve(received[":status"])),
    );
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    stream.write(Buffer.alloc(2_000_000, " "));
    expect(await status).toBe(413);
    await expect.poll(() => text).toContain("request_too_large");
    const next = session.request({ ":path": "/v1/organisation", ...headers });
    expect(
      await new Promise((resolve) =>
        next.once("response", (received) => resolve(received[":status"])),
      ),
    ).toBe(200);
    session.destroy();
  });

  test("by its head of over 16 KB, in both versions", async () => {
    const { socket, closed } = open(patient);
    socket.write(head(`X-Large: ${"x".repeat(17_000)}`));
    const answer = await closed;
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toMatch(requestId);
    const session = connectHttp2(patient.base);
    const answered = (large: number) => {
      const stream = session.request({ ":path": "/v1/organisation", "x-large": "x".repeat(large) });
      return new Promise<boolean>((resolve) => {
        stream.once("error", () => resolve(false));
        stream.once("response", () => resolve(true));
      });
    };
    // The limit holds once the client has acknowledged the settings: with its first answer.
    expect(await answered(1)).toBe(true);
    expect(await answered(17_000)).toBe(false);
    session.destroy();
  });

  test("a session may open a hundred requests at once", async () => {
    const session = connectHttp2(patient.base);
    const settings = await new Promise<{
      maxConcurrentStreams?: number;
      maxHeaderListSize?: number;
    }>((resolve) => session.once("remoteSettings", resolve));
    session.destroy();
    expect(settings).toMatchObject({ maxConcurrentStreams: 100, maxHeaderListSize: 16_384 });
  });
});

describe("a body is read only after the gate", () => {
  test("a client that waits for 100 Continue gets it after the gate has admitted it", async () => {
    const { socket, received } = open(patient);
    socket.write(head(key, "Content-Length: 2", "Expect: 100-continue"));
    await expect.poll(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    socket.write("{}");
    await expect.poll(received).toMatch(/HTTP\/1\.1 201 /);
    socket.destroy();
  });

  test("one that is not admitted gets its refusal instead", async () => {
    const { socket, received, closed } = open(patient);
    socket.write(head("Content-Length: 5", "Expect: 100-continue"));
    await expect.poll(received).toMatch(/^HTTP\/1\.1 401 .*Connection: close/s);
    socket.end();
    await closed;
  });

  test("a small body that was not read leaves the connection usable", async () => {
    const { socket, received } = open(patient);
    socket.write(`${head("Content-Length: 5000")}${" ".repeat(4_000)}`);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 401 /);
    socket.write(`${" ".repeat(1_000)}${head(key, "Content-Length: 2")}{}`);
    await expect.poll(received).toMatch(/HTTP\/1\.1 201 /);
    socket.destroy();
  });

  test("a body that ends early is never taken for a whole one", async () => {
    const before = patient.calls.length;
    const { socket, closed } = open(patient);
    socket.write(`${head(key, "Content-Length: 20")}{}`);
    socket.end();
    await closed;
    expect(patient.calls.length).toBe(before);
  });

  test("a read with a body is refused", async () => {
    const { socket, received } = open(patient);
    socket.write(
      `GET /v1/organisation HTTP/1.1\r\nHost: x\r\n${key}\r\nContent-Length: 2\r\n\r\n{}`,
    );
    await expect.poll(received).toMatch(/^HTTP\/1\.1 422 .*invalid_parameter/s);
    socket.destroy();
  });
});

test.each([
  "GARBAGE\r\n\r\n",
  "GET /v1/organisation HTTP/1.1\r\n\r\n",
  "GET /v1/organisation HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n" +
    "Transfer-Encoding: chunked\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
])("what is no HTTP is answered with 400 and a Request-Id: %j", async (text) => {
  const { socket, received } = open(patient);
  socket.write(text);
  await expect.poll(received).toMatch(/^HTTP\/1\.1 400 /);
  expect(received()).toMatch(requestId);
  socket.destroy();
});
