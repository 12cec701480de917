/**
 * A refusal reaches a client that is still sending, on each transport and by each protocol of
 * HTTP/1.1 (RFC 9112, 9.6).
 */
import { connect as connectTcp, type Socket } from "node:net";
import { setImmediate as nextEvents } from "node:timers/promises";
import { describe, expect } from "vitest";
import { key, type TestTransports, transportsTest as test } from "../transports-fixture.ts";

const piece = 65_536;
/** Over the limit of 1 MiB. */
const size = 20 * piece;
/** What is sent once the answer has begun. */
const more = 4 * piece;

const rest = "/v1/subscriptions";
const connect = "/billing.v1.SubscriptionService/CreateSubscription";

/** The length that gRPC-Web sends before a message. */
const prefix = Buffer.alloc(5);
prefix.writeUInt32BE(size + more, 1);

interface Client {
  readonly socket: Socket;
  readonly received: () => string;
  readonly failure: () => unknown;
}

/** A connection and what came over it. */
function open(transports: TestTransports): Client {
  const socket = connectTcp({
    port: transports.port,
    host: "127.0.0.1",
    noDelay: true,
    allowHalfOpen: true,
  });
  let text = "";
  let failure: unknown = null;
  socket.on("error", (error) => {
    failure = error;
  });
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
  });
  return { socket, received: () => text, failure: () => failure };
}

const headOf = (path: string, type: string, framing: string, authorization = key) =>
  [
    `POST ${path} HTTP/1.1`,
    "Host: x",
    `Authorization: Bearer ${authorization}`,
    "Idempotency-Key: large",
  ]
    .concat(`Content-Type: ${type}`, framing, "", "")
    .join("\r\n");

/** Sends these bytes in pieces, each once the one before has left. */
async function sendPieces({ socket }: Client, bytes: Buffer, chunked: boolean): Promise<void> {
  for (let at = 0; at < bytes.length; at += piece) {
    const part = bytes.subarray(at, at + piece);
    const framed = chunked ? [`${part.length.toString(16)}\r\n`, part, "\r\n"] : [part];
    for (const one of framed) await new Promise((resolve) => socket.write(one, resolve));
    await nextEvents();
  }
}

/** Sends a request whose body goes on after its refusal has come, to its end. */
async function sendOn(client: Client, head: string, body: Buffer, chunked: boolean): Promise<void> {
  client.socket.write(head);
  await sendPieces(client, body, chunked);
  await expect.poll(client.received).not.toBe("");
  await sendPieces(client, Buffer.alloc(more, " "), chunked);
  if (chunked) client.socket.write("0\r\n\r\n");
}

describe.each([
  [rest, "application/json", Buffer.alloc(0), /^HTTP\/1\.1 413 .*request_too_large.*\}\}$/s],
  [connect, "application/json", Buffer.alloc(0), /^HTTP\/1\.1 400 .*request_too_large.*\}\]\}$/s],
  [connect, "application/proto", Buffer.alloc(0), /^HTTP\/1\.1 400 .*request_too_large.*\}\]\}$/s],
  [
    connect,
    "application/grpc-web+proto",
    prefix,
    /^HTTP\/1\.1 200 .*grpc-status: 3\r\n.*\r\n0\r\n\r\n$/s,
  ],
])("%s as %s", (path, type, before, whole) => {
  const body = Buffer.concat([before, Buffer.alloc(size, " ")]);

  test.for([
    "Transfer-Encoding: chunked",
    `Content-Length: ${body.length + more}`,
  ])("a too large body with %s is refused whole while it is sent", async (framing, {
    transports,
  }) => {
    const client = open(transports);
    await sendOn(client, headOf(path, type, framing), body, framing.startsWith("T"));
    await expect.poll(client.received).toMatch(whole);
    expect(client.failure()).toBeNull();
    client.socket.destroy();
  });

  test("so is one whose key is unknown", async ({ transports }) => {
    const client = open(transports);
    await sendOn(client, headOf(path, type, "Transfer-Encoding: chunked", "other"), body, true);
    await expect.poll(client.received).toMatch(/invalid_api_key|grpc-status: 16\r\n/);
    expect(client.failure()).toBeNull();
    client.socket.destroy();
  });

  test("a client that goes on sending is answered and its connection ended", async ({
    transports,
  }) => {
    const client = open(transports);
    client.socket.resume();
    // A reset, at the end of what is taken, is one of the ways to be ended.
    const closed = new Promise((resolve) => client.socket.once("close", resolve));
    client.socket.write(headOf(path, type, "Transfer-Encoding: chunked"));
    client.socket.write(`${prefix.length.toString(16)}\r\n`);
    client.socket.write(prefix);
    const chunk = `\r\n10000\r\n${" ".repeat(piece)}`;
    const pump = () => {
      while (!client.socket.destroyed && client.socket.write(chunk));
    };
    client.socket.on("drain", pump);
    pump();
    await closed;
    expect(client.received()).toMatch(/request_too_large|grpc-status: 3\r\n/);
  });
});
