/**
 * A name server for tests, on 127.0.0.1: answers A and AAAA queries from a table, as RFC 1035 says.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIP } from "node:net";

/**
 * The answer for a name: its addresses, or a failure. IPv6 addresses are written with all eight
 * groups.
 */
interface NamedAddresses {
  readonly A: readonly string[] | "SERVFAIL";
  readonly AAAA: readonly string[] | "SERVFAIL";
  /** The name whose addresses they really are. */
  readonly CNAME?: string;
}

/** A name server that runs. */
export interface TestNameServer {
  /** `address:port`. */
  readonly address: string;
  /** Each resolved name, in order. */
  readonly asked: () => readonly string[];
  readonly stop: () => void;
}

const types = { A: 1, CNAME: 5, AAAA: 28 };
const codes = { none: 0, SERVFAIL: 2, NXDOMAIN: 3 };

/** Starts a name server; names that the table does not have do not exist. */
export async function startNameServer(
  table: Readonly<Record<string, NamedAddresses>>,
): Promise<TestNameServer> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, type, question } = readQuestion(query);
    asked.push(name);
    const known = table[name];
    const found = type === types.A ? known?.A : type === types.AAAA ? known?.AAAA : [];
    const records =
      typeof found === "string" || found === undefined
        ? []
        : found.map((one) => record(known?.CNAME ?? name, type, bytesOf(one)));
    if (known?.CNAME !== undefined)
      records.unshift(record(name, types.CNAME, encoded(known.CNAME)));
    const code =
      known === undefined ? codes.NXDOMAIN : found === "SERVFAIL" ? codes.SERVFAIL : codes.none;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([head, question, ...records]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked: () => asked,
    stop: () => socket.close(),
  };
}

function readQuestion(query: Buffer): { name: string; type: number; question: Buffer } {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const length = query.readUInt8(at);
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const question = query.subarray(12, at + 5);
  // Resolvers write names in mixed case, against forged answers.
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), question };
}

function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(60, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encoded(name), fixed, data]);
}

function encoded(name: string): Buffer {
  const labels = name
    .split(".")
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function bytesOf(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  return Buffer.concat(
    address.split(":").map((group) => Buffer.from(group.padStart(4, "0"), "hex")),
  );
}
