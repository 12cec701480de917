/**
 * Connections to webhook endpoints. A name is resolved once for each connection, and all its
 * addresses must be public. The connected address is checked again before anything is sent, so that
 * a changed DNS answer gains nothing (WEBHOOK-3).
 */
import { Resolver, lookup as systemLookup } from "node:dns/promises";
import { once } from "node:events";
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { buildConnector } from "undici";
import { type AddressMode, isForbidden } from "./address.ts";

/**
 * Returns all addresses of a name, IPv4 and IPv6, in the order in which they are tried. Throws if
 * it has none.
 */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Why nothing was sent, in words for the endpoint's owner. */
export class NotSent extends Error {
  /** For callers that distinguish errors by their codes. */
  readonly code = "ERR_NOT_SENT";
}

/** The options of a connector. */
interface ConnectOptions {
  readonly mode: AddressMode;
  /** The time until the connection is ready, DNS and TLS included, in milliseconds. */
  readonly connectMs: number;
  readonly lookup: Lookup;
}

/**
 * Returns the DNS lookup of a mode. `public`: queries name servers (this machine's, unless others
 * are named as `address:port`). It uses no hosts file, no search list, and no thread that a silent
 * name server can block. `development`: resolves names as everything on this machine does.
 */
export function lookupOf(mode: AddressMode, nameServers?: readonly string[]): Lookup {
  if (mode === "development") {
    return async (hostname) =>
      (await systemLookup(hostname, { all: true })).map((one) => one.address);
  }
  const resolver = new Resolver({ timeout: 2_500, tries: 2 });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
    return [ipv4, ipv6].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}

/**
 * Returns the connector for undici: HTTP/1.1 in cleartext, or over TLS with a certificate that must
 * be the host's. Fails with NotSent.
 */
export function createConnect(options: ConnectOptions): buildConnector.connector {
  return (target, callback) => {
    open(target, options).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

async function open(
  target: buildConnector.Options,
  { mode, connectMs, lookup }: ConnectOptions,
): Promise<Socket> {
  const host = target.hostname.replace(/^\[|\]$/g, "");
  const tooLate = new AbortController();
  const timer = setTimeout(() => tooLate.abort(), connectMs);
  let socket: Socket | undefined;
  try {
    const { signal } = tooLate;
    const addresses = await unlessAborted(checkedAddresses(host, mode, lookup), signal);
    socket = guarded(
      connectTcp({ host, port: portOf(target), lookup: answering(addresses), ...attempts }),
    );
    await once(socket, "connect", { signal });
    const fault = peerFault(socket, host, mode);
    if (fault !== null) throw new NotSent(fault);
    socket.setNoDelay(true);
    if (target.protocol !== "https:") return socket;
    socket = guarded(
      connectTls({ socket, host, servername: isIP(host) === 0 ? host : "", ...verified }),
    );
    await once(socket, "secureConnect", { signal });
    return socket;
  } catch (error) {
    socket?.destroy();
    if (!tooLate.signal.aborted) throw error;
    throw new NotSent(`no connection to ${host} stood after ${connectMs / 1000} seconds`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Distant hosts answer within this time. If five addresses are unreachable, the sixth is still
 * tried before the deadline.
 */
const attempts = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1_500 };

/**
 * Set explicitly, because the environment can turn it off. No HTTP/2: with one request a
 * connection, no request waits for another.
 */
const verified = { rejectUnauthorized: true, ALPNProtocols: ["http/1.1"] };

/** A failure between two listeners would end the process. */
function guarded<S extends Socket>(socket: S): S {
  return socket.on("error", () => undefined);
}

function portOf({ protocol, port }: buildConnector.Options): number {
  return Number(port || (protocol === "https:" ? 443 : 80));
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return await Promise.race([work, promise]);
}

/** The most addresses tried, whatever a name has: one request must not scan a network. */
const addressesTried = 6;

/**
 * Returns the addresses to try. One address that is not public refuses all: a name must not choose
 * which of them is connected.
 */
async function checkedAddresses(
  host: string,
  mode: AddressMode,
  lookup: Lookup,
): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await namedAddresses(host, lookup) : [host];
  const forbidden = addresses.find((address) => isForbidden(address, mode));
  if (forbidden !== undefined) throw new NotSent(notPublic(forbidden, host));
  return addresses.slice(0, addressesTried);
}

async function namedAddresses(host: string, lookup: Lookup): Promise<readonly string[]> {
  const addresses = await lookup(host).catch((error: unknown) => {
    throw new NotSent(`the name ${host} could not be looked up`, { cause: error });
  });
  if (addresses.length === 0) throw new NotSent(`the name ${host} has no address`);
  return addresses;
}

/**
 * Returns why nothing may be sent over a connection, or null if it may. A peer with this end's own
 * address is this machine under a public address, whose services are open to it but not to the
 * outside.
 */
export function peerFault(
  { remoteAddress, localAddress }: Pick<Socket, "remoteAddress" | "localAddress">,
  host: string,
  mode: AddressMode,
): string | null {
  if (remoteAddress === undefined) return "the connection was closed before an answer came";
  const isOwn = mode === "public" && remoteAddress === localAddress;
  return isOwn || isForbidden(remoteAddress, mode) ? notPublic(remoteAddress, host) : null;
}

function notPublic(address: string, host: string): string {
  return address === host
    ? `the address ${host} is not public`
    : `the address ${address} of ${host} is not public`;
}

function answering(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, { all }, callback) => {
    const [first = { address: "", family: 4 }] = found;
    if (all) callback(null, found);
    else callback(null, first.address, first.family);
  };
}
