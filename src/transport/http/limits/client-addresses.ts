/** The address that a client is limited by, and the limit of connections for one address. */
import type { Http2Session } from "node:http2";
import { type BlockList, isIPv6, type Socket } from "node:net";
import { createPlaces } from "../../places.ts";

/** Returns the address that a connection is limited by, or null for no limit. */
export type AddressOf = (connection: Socket | Http2Session) => string | null;

/**
 * Returns null for a trusted proxy, because many clients share it, and for a connection that is
 * already closed. An IPv6 address counts by its first 64 bits, because one client has all the
 * others.
 */
export function clientAddresses(trustedProxies: BlockList): AddressOf {
  return (connection) => addressOf(remoteAddress(connection), trustedProxies);
}

function remoteAddress(connection: Socket | Http2Session): string | undefined {
  if ("remoteAddress" in connection) return connection.remoteAddress;
  return connection.destroyed ? undefined : connection.socket.remoteAddress;
}

/** The prefix of an IPv4 client's address on a socket that listens on both versions. */
const mappedPrefix = "::ffff:";

function addressOf(remote: string | undefined, trustedProxies: BlockList): string | null {
  if (remote === undefined) return null;
  const plain = remote.startsWith(mappedPrefix) ? remote.slice(mappedPrefix.length) : remote;
  if (!isIPv6(plain)) return trustedProxies.check(plain, "ipv4") ? null : plain;
  return trustedProxies.check(plain, "ipv6") ? null : networkOf(plain);
}

/**
 * Returns the first four groups of an IPv6 address. A `::` stands for as many zeros as are missing.
 */
function networkOf(address: string): string {
  const [head = "", tail] = address.split("::");
  const first = head.split(":").filter((group) => group !== "");
  if (tail !== undefined) {
    const last = tail.split(":").filter((group) => group !== "");
    while (first.length + last.length < 8) first.push("0");
    first.push(...last);
  }
  return `${first.slice(0, 4).join(":")}::/64`;
}

/**
 * Creates the limit. It counts a connection until it closes, and returns false, without counting,
 * if its address already holds the allowed number. `onLimit` is called for every refused
 * connection.
 */
export function limitConnections(
  addressOfConnection: AddressOf,
  max: number,
  onLimit: (address: string) => void,
): (socket: Socket) => boolean {
  const enter = createPlaces<string>({ inAll: Number.POSITIVE_INFINITY, ofOne: max });
  return (socket) => {
    const address = addressOfConnection(socket);
    if (address === null) return true;
    const leave = enter(address);
    if (leave === null) onLimit(address);
    else socket.once("close", leave);
    return leave !== null;
  };
}
