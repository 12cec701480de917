/**
 * The address by which a client is limited, and the number of connections that one address may
 * hold.
 */
import type { Http2Session } from "node:http2";
import { type BlockList, isIPv6, type Socket } from "node:net";

/** Tells by which address a connection is limited. */
export type AddressOf = (connection: Socket | Http2Session) => string | null;

/**
 * Null for a trusted proxy, behind which there are many clients, and for a connection that is
 * already closed. An IPv6 address counts by its first 64 bits, because one client has all the
 * others.
 */
export function clientAddresses(trustedProxies: BlockList): AddressOf {
  const known = new WeakMap<object, string | null>();
  return (connection) => {
    const cached = known.get(connection);
    if (cached !== undefined) return cached;
    const address = addressOf(remoteAddress(connection), trustedProxies);
    known.set(connection, address);
    return address;
  };
}

function remoteAddress(connection: Socket | Http2Session): string | undefined {
  if ("remoteAddress" in connection) return connection.remoteAddress;
  return connection.destroyed ? undefined : connection.socket.remoteAddress;
}

/** How an IPv4 client looks to a socket that listens on both. */
const mappedPrefix = "::ffff:";

function addressOf(remote: string | undefined, trustedProxies: BlockList): string | null {
  if (remote === undefined) return null;
  const plain = remote.startsWith(mappedPrefix) ? remote.slice(mappedPrefix.length) : remote;
  if (!isIPv6(plain)) return trustedProxies.check(plain, "ipv4") ? null : plain;
  return trustedProxies.check(plain, "ipv6") ? null : networkOf(plain);
}

/**
 * The first four groups of an IPv6 address; a `::` among them stands for as many zeros as are
 * missing.
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

/** Counts the connections of every address. */
export interface ConnectionLimit {
  /**
   * Counts a connection until it closes; false, and not counted, if its address already holds as
   * many as it may.
   */
  admit(socket: Socket): boolean;
}

/** `onLimit` is called for every connection that is refused. */
export function limitConnections(
  addressOfConnection: AddressOf,
  most: number,
  onLimit: (address: string) => void,
): ConnectionLimit {
  const counts = new Map<string, number>();
  return {
    admit(socket) {
      const address = addressOfConnection(socket);
      if (address === null) return true;
      const count = counts.get(address) ?? 0;
      if (count >= most) {
        onLimit(address);
        return false;
      }
      counts.set(address, count + 1);
      socket.once("close", () => {
        const left = (counts.get(address) ?? 1) - 1;
        if (left === 0) counts.delete(address);
        else counts.set(address, left);
      });
      return true;
    },
  };
}
