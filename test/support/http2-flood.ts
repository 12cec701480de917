/**
 * Strangers over HTTP/2: requests that are reset as soon as they are sent, and calls of gRPC that
 * are always as many as the port takes.
 */
import { spawn } from "node:child_process";
import { constants } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { fileURLToPath } from "node:url";

const frame = { headers: 0x1, reset: 0x3, settings: 0x4 } as const;
const endStreamAndHeaders = 0x5;

function frameOf(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/**
 * `GET path` by HPACK: two entries of the static table, then path and authority as literals. RFC
 * 7541, 6.
 */
function getBlock(path: string): Buffer {
  const literal = (nameIndex: number, text: string) => [
    nameIndex,
    text.length,
    ...Buffer.from(text),
  ];
  return Buffer.from([0x82, 0x86, ...literal(0x04, path), ...literal(0x01, "x")]);
}

/**
 * Opens bare connections that each send `GET path` and its reset `times` over: at once, or after
 * the server's first bytes if `greeted` is set. `ended` resolves once the server has closed all.
 */
export function floodOfResets(
  port: number,
  path: string,
  connections: number,
  times: number,
  { greeted = false }: { readonly greeted?: boolean } = {},
) {
  const reset = Buffer.alloc(4);
  reset.writeUInt32BE(constants.NGHTTP2_CANCEL);
  const block = getBlock(path);
  const hello = Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frameOf(frame.settings, 0, 0, Buffer.alloc(0)),
  ]);
  const calls = Buffer.concat(
    Array.from({ length: times }, (_, index) => [
      frameOf(frame.headers, endStreamAndHeaders, index * 2 + 1, block),
      frameOf(frame.reset, 0, index * 2 + 1, reset),
    ]).flat(),
  );
  const sockets: Socket[] = Array.from({ length: connections }, () => {
    const socket = connectTcp({ port, host: "127.0.0.1", noDelay: true });
    // A connection that is cut off is one of the ways to be bounded.
    socket.on("error", () => undefined).resume();
    if (greeted) {
      socket.write(hello);
      socket.once("data", () => socket.write(calls));
    } else socket.write(Buffer.concat([hello, calls]));
    return socket;
  });
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  return {
    bytes: (hello.length + calls.length) * connections,
    ended: Promise.all(closed),
    end: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** What a flood of calls does, and how to end it. */
interface CallFlood {
  /** Calls answered so far, by `grpc-status`. */
  readonly statuses: () => Readonly<Record<string, number>>;
  /** The most calls so far that had begun to be answered and were open at once. */
  readonly maxHeld: () => number;
  readonly end: () => void;
}

interface FloodReport {
  readonly statuses: Readonly<Record<string, number>>;
  readonly maxHeld: number;
}

/**
 * Starts a process that keeps `open` calls of a gRPC method open on each of its connections. Each
 * call has this body, by default an empty message. Another call replaces one that has ended, and
 * another connection one that takes no more calls.
 */
export function floodOfCalls(
  baseUrl: string,
  path: string,
  {
    connections,
    open,
    body = frameOfMessage(Buffer.alloc(0)),
  }: { connections: number; open: number; body?: Buffer },
): CallFlood {
  const program = fileURLToPath(new URL("call-flood-program.ts", import.meta.url));
  const settings = [baseUrl, path, String(connections), String(open), body.toString("base64")];
  const child = spawn(process.execPath, [program, ...settings], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  let last: FloodReport = { statuses: {}, maxHeld: 0 };
  child.on("message", (report: FloodReport) => {
    last = report;
  });
  return {
    statuses: () => last.statuses,
    maxHeld: () => last.maxHeld,
    end: () => void child.kill("SIGKILL"),
  };
}

/** gRPC's frame of a message that is not packed. */
export function frameOfMessage(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
