/** Bodies that stay unfinished are bounded in bytes, by key and in all (LIMIT-4). */
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type IncomingHttpHeaders,
} from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { countUnfinishedBodies } from "../../../../src/transport/http/limits/unfinished-bodies.ts";
import { key, startTransports, type TestTransports } from "../transports-fixture.ts";

const ports: TestTransports[] = [];
const sessions: ClientHttp2Session[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(ports.splice(0).map((port) => port.stop({ graceMs: 0 })));
});

/** Two such bodies are over the limit of a key, one is not. */
const size = 200_000;
const limits = { bodyBytesPerKey: 300_000, bodyBytes: 1_000_000 };

async function open(own: Partial<typeof limits> = {}): Promise<TestTransports> {
  const port = await startTransports(undefined, undefined, { ...limits, ...own });
  ports.push(port);
  return port;
}

const headersOf = (type: string) => ({
  authorization: `Bearer ${key}`,
  "idempotency-key": "one",
  "content-type": type,
});

/** A request whose last byte is not sent yet. */
interface Unfinished {
  /** Its head, body and trailers as text, once it is answered. */
  readonly answer: Promise<string>;
  readonly finish: () => void;
  readonly abandon: () => void;
}

type Begin = (port: TestTransports, path: string, type: string, body: Buffer) => Unfinished;

const overHttp1: Begin = (port, path, type, body) => {
  const socket = connectTcp({ port: port.port, host: "127.0.0.1", noDelay: true });
  sockets.push(socket.on("error", () => {}));
  const head = Object.entries({ host: "x", ...headersOf(type), "content-length": body.length });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`POST ${path} HTTP/1.1\r\n${lines}\r\n`);
  socket.write(body.subarray(0, -1));
  let text = "";
  const answer = new Promise<string>((resolve) => {
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (/\r\n\r\n\{.*\}$/s.test(text)) resolve(text);
    });
  });
  return {
    answer,
    finish: () => void socket.write(body.subarray(-1)),
    abandon: () => void socket.destroy(),
  };
};

const overHttp2: Begin = (port, path, type, body) => {
  const session = connectHttp2(port.base);
  sessions.push(session.on("error", () => {}));
  const stream = session.request({ ":method": "POST", ":path": path, ...headersOf(type) });
  stream.on("error", () => {}).write(body.subarray(0, -1));
  const parts: string[] = [];
  const note = (headers: IncomingHttpHeaders) => void parts.push(JSON.stringify(headers));
  stream.on("response", note).on("trailers", note);
  stream.setEncoding("utf8").on("data", (part: string) => void parts.push(part));
  const answer = new Promise<string>((resolve) => {
    stream.once("end", () => resolve(parts.join("")));
  });
  return {
    answer,
    finish: () => void stream.end(body.subarray(-1)),
    abandon: () => void stream.close(8),
  };
};

const rest = "/v1/subscriptions";
const connect = "/billing.v1.SubscriptionService/CreateSubscription";
const spaces = Buffer.alloc(size, " ");
/** A message of one field that no message knows, in the envelope of gRPC. */
const enveloped = Buffer.concat([Buffer.alloc(5), Buffer.alloc(size)]);
enveloped.writeUInt32BE(size, 1);
/** Field 1000, as bytes of the rest of the message. */
enveloped.set([0xc2, 0x3e, ...varint(size - 5)], 5);

function varint(value: number): number[] {
  return [(value & 0x7f) | 0x80, ((value >> 7) & 0x7f) | 0x80, value >> 14];
}

const refusedBy = {
  rest: /502.*retry-after"?: ?"?1.*temporarily_unavailable/is,
  connect: /503.*retry-after"?: ?"?1.*temporarily_unavailable/is,
  grpc: /grpc-status":"14".*retry-after":"1"|retry-after":"1".*grpc-status":"14"/s,
};

describe.each([
  ["REST over HTTP/1.1", overHttp1, rest, "application/json", spaces, refusedBy.rest],
  ["REST over HTTP/2", overHttp2, rest, "application/json", spaces, refusedBy.rest],
  ["Connect over HTTP/1.1", overHttp1, connect, "application/json", spaces, refusedBy.connect],
  ["Connect over HTTP/2", overHttp2, connect, "application/json", spaces, refusedBy.connect],
  ["gRPC", overHttp2, connect, "application/grpc+proto", enveloped, refusedBy.grpc],
])("%s", (_, begin, path, type, body, refused) => {
  /** Begins two bodies that do not fit together. Returns the one that is held. */
  async function beginTwo(port: TestTransports): Promise<Unfinished> {
    const both = [begin(port, path, type, body), begin(port, path, type, body)] as const;
    const first = await Promise.race(
      both.map(async ({ answer }, index) => ({ index, text: await answer })),
    );
    expect(first.text).toMatch(refused);
    return both[first.index === 0 ? 1 : 0];
  }

  /** The answer to a body that arrives whole. */
  async function whole(port: TestTransports): Promise<string> {
    const request = begin(port, path, type, body);
    request.finish();
    return request.answer;
  }

  test.each([
    ["its key's limit", {}],
    ["the limit of all", { bodyBytesPerKey: 1_000_000, bodyBytes: 300_000 }],
  ])("a body over %s is refused until an earlier one is whole", async (_name, own) => {
    const port = await open(own);
    const held = await beginTwo(port);
    held.finish();
    expect(await held.answer).not.toMatch(refused);
    expect(await whole(port)).not.toMatch(refused);
  });

  test("the bytes of a body that is abandoned are free again", async () => {
    const port = await open();
    const held = await beginTwo(port);
    held.abandon();
    await expect.poll(() => whole(port)).not.toMatch(refused);
  });
});

test("an unfinished body of 16 KB is never refused", async () => {
  const port = await open({ bodyBytes: 0 });
  const small = Array.from({ length: 30 }, () =>
    overHttp2(port, rest, "application/json", Buffer.alloc(16_384, " ")),
  );
  for (const { finish } of small) finish();
  expect(await Promise.all(small.map(({ answer }) => answer))).toEqual(
    small.map(() => expect.stringMatching(/":status":422/)),
  );
});

test("a key's bodies leave those of another key their bytes", () => {
  const all = { bodyBytes: 100, bodyBytesPerKey: 60, uncountedBodyBytes: 0 };
  const openBody = countUnfinishedBodies(all);
  const [one, two, other] = [openBody(), openBody(), openBody()];
  expect([one("a", 60), two("a", 1), other("b", 40), other("b", 41)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  // Freed once, although a body is released at its end and at the end of its connection.
  expect([one("a", 0), one("a", 0), two("a", 60), other("b", 41)]).toEqual([
    true,
    true,
    true,
    false,
  ]);
});
