/**
 * What follows a request on its connection never changes the answer to that request, and faulty
 * heads end the connection.
 */
import { connect as connectTcp } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPort, type TestPort } from "./port-fixture.ts";
import { certificate } from "./tls-fixture.ts";

const subscription = {
  id: "s",
  object: "subscription",
  status: 2,
  interval: { unit: "month", count: 1 },
};
let release = Promise.withResolvers<void>();

let cleartext: TestPort;
let secure: TestPort;
beforeAll(async () => {
  const answer = async () => {
    await release.promise;
    return { subscription };
  };
  cleartext = await startPort(answer);
  secure = await startPort(answer, { tls: certificate });
});
afterAll(() => Promise.all([cleartext.stop({ graceMs: 0 }), secure.stop({ graceMs: 0 })]));

const create = (...lines: string[]) =>
  [
    "POST /v1/subscriptions HTTP/1.1",
    "Host: x",
    "Authorization: Bearer sk_test_1",
    "Content-Type: application/json",
    "Content-Length: 2",
    ...lines,
    "",
    "{}",
  ].join("\r\n");
const unknownPath = "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n";

/**
 * Sends the text, lets the operations answer once they all have begun, and gives everything that
 * comes until the end.
 */
async function exchange(
  port: TestPort,
  text: string,
  begun: number,
  meanwhile = "",
): Promise<string> {
  release = Promise.withResolvers<void>();
  const before = port.calls.length;
  const options = { port: port.port, host: "127.0.0.1" };
  const socket =
    port === secure ? connectTls({ ...options, ca: certificate.cert }) : connectTcp(options);
  let received = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk;
  });
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await new Promise((resolve) =>
    socket.once((socket as TLSSocket).encrypted ? "secureConnect" : "connect", resolve),
  );
  socket.write(text);
  await expect.poll(() => port.calls.length - before).toBe(begun);
  if (meanwhile !== "")
    await new Promise<void>((resolve) => socket.write(meanwhile, () => resolve()));
  release.resolve();
  await closed;
  expect(port.calls.length - before).toBe(begun);
  return received;
}

const statusesOf = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);

describe.each([
  ["cleartext", () => cleartext],
  ["TLS", () => secure],
])("over %s", (_, port) => {
  test("a creation that is followed by junk is answered first, and the junk then", async () => {
    expect(statusesOf(await exchange(port(), `${create()}GARBAGE\r\n\r\n`, 1))).toEqual([
      "201",
      "400",
    ]);
  });

  test("so it is if the junk comes while the creation is carried out", async () => {
    expect(statusesOf(await exchange(port(), create(), 1, "GARBAGE\r\n\r\n"))).toEqual([
      "201",
      "400",
    ]);
    const much = "\0".repeat(300_000);
    expect(statusesOf(await exchange(port(), create(), 1, much))[0]).toBe("201");
  });

  test("all requests before the junk are answered, in their order", async () => {
    const text = `${create()}${unknownPath}${create()}GARBAGE\r\n\r\n`;
    expect(statusesOf(await exchange(port(), text, 2))).toEqual(["201", "404", "201", "400"]);
  });

  test("a request after Connection: close is not carried out", async () => {
    expect(
      statusesOf(await exchange(port(), `${create("Connection: close")}${create()}`, 1)),
    ).toEqual(["201"]);
  });

  test("a fault in a request's own body is reported at once", async () => {
    const head = create().replace("Content-Length: 2", "Transfer-Encoding: chunked").slice(0, -2);
    expect(statusesOf(await exchange(port(), `${head}no size\r\n`, 0))).toEqual(["400"]);
    expect(statusesOf(await exchange(port(), `${create()}${head}no size\r\n`, 1))).toEqual([
      "201",
      "400",
    ]);
  });

  test.each([
    ["a second Host", "GET /nowhere HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n"],
    ["the same Host twice", "GET /nowhere HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"],
    [
      "chunks in HTTP/1.0",
      "POST /nowhere HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "chunks in HTTP/1.0 that asks for more",
      "POST /nowhere HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n" +
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
  ])("%s is 400 with a Request-Id and ends the connection", async (_what, text) => {
    const alone = await exchange(port(), text + create(), 0);
    expect(statusesOf(alone)).toEqual(["400"]);
    expect(alone).toMatch(/Request-Id: [0-9a-f-]{36}\r\n/);
    expect(statusesOf(await exchange(port(), create() + text + create(), 1))).toEqual([
      "201",
      "400",
    ]);
  });
});

test("HTTP/1.0 without chunks is answered, with and without a host", async () => {
  for (const host of ["", "Host: x\r\n"]) {
    expect(
      statusesOf(await exchange(cleartext, `GET /nowhere HTTP/1.0\r\n${host}\r\n`, 0)),
    ).toEqual(["404"]);
  }
});

test("each of several requests on a connection is logged once, answered or not", async () => {
  const port = await startPort(async () => {
    await release.promise;
    return { subscription };
  });
  await exchange(port, `${create()}${create()}${create("Connection: close")}`, 3);
  expect(port.lines.map(({ answered }) => answered)).toEqual([true, true, true]);

  release = Promise.withResolvers<void>();
  const gone = connectTcp({ port: port.port, host: "127.0.0.1" });
  gone.write(create() + create());
  await expect.poll(() => port.calls.length).toBe(5);
  gone.destroy();
  await expect.poll(() => port.lines.length).toBe(5);
  release.resolve();
  await port.stop({ graceMs: 0 });
  expect(port.lines.map(({ answered }) => answered)).toEqual([true, true, true, false, false]);
});

test("a body that comes in parts after its head is read like one that came with it", async () => {
  const { calls } = cleartext;
  const before = calls.length;
  const body = '{"units":12}';
  const head =
    "POST /v1/subscriptions/s/units HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk_test_1\r\n" +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  await exchange(cleartext, `${head}Connection: close\r\n\r\n${body}`, 1);
  release.resolve();
  const late = connectTcp({ port: cleartext.port, host: "127.0.0.1", noDelay: true });
  const answered = new Promise((resolve) => late.once("data", resolve));
  for (const part of [`${head}\r\n`, body.slice(0, 5), body.slice(5)]) {
    await new Promise<void>((resolve) => late.write(part, () => setImmediate(resolve)));
  }
  await answered;
  late.destroy();
  const [whole, inParts] = calls.slice(before).map(({ request }) => request);
  expect(whole).toMatchObject({ id: "s", units: 12 });
  expect(inParts).toEqual(whole);
});
