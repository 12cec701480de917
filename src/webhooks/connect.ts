/**
 * Connections to webhook endpoints: a name is looked up once for each, every address that it has must be of the public network, and
 * what was connected to is looked at again before anything is sent, so that a name that changes its mind meanwhile gains nothing.
 */
import { Resolver, lookup as systemLookup } from "node:dns/promises";
import { once } from "node:events";
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { buildConnector } from "undici";
import { type AddressMode, isForbidden } from "./address.ts";

/** All addresses of a name, IPv4 and IPv6 in the order in which they are tried. Throws where it has none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Why nothing was sent, in words for the endpoint's owner. */
export class NotSent extends Error {
  /** For callers that tell errors apart by their codes. */
  readonly code = "ERR_NOT_SENT";
}

/** What connections are made by. */
export interface ConnectOptions {
  readonly mode: AddressMode;
  /** Until the connection stands, with the look-up before it and the TLS after it. */
  readonly connectMs: number;
  readonly lookup: Lookup;
}

/**
 * The look-up of a mode. `public`: name servers are asked (this machine's, unless others are named as `address:port`), no hosts file, no
 * search list and no thread that a name server can block by its silence. `development`: as everything on this machine looks names up.
 */
export function lookupOf(mode: AddressMode, nameServers?: readonly string[]): Lookup {
  if (mode === "development") {
    return async (hostname) => (await systemLookup(hostname, { all: true })).map((one) => one.address);
  }
  const resolver = new Resolver({ timeout: 2_500, tries: 2 });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
    return [ipv4, ipv6].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}

/** What undici connects by: HTTP/1.1 in cleartext or over TLS, where the certificate must be the host's. Fails with NotSent. */
export function createConnect(options: ConnectOptions): buildConnector.connector {
  return (target, callback) => {
    open(target, options).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

async function open(target: buildConnector.Options, { mode, connectMs, lookup }: ConnectOptions): Promise<Socket> {
  const host = target.hostname.replace(/^\[|\]$/g, "");
  const tooLate = new AbortController();
  const timer = setTimeout(() => tooLate.abort(), connectMs);
  let socket: Socket | undefined;
  try {
    const { signal } = tooLate;
    const addresses = await unlessAborted(checkedAddresses(host, mode, lookup), signal);
    socket = guarded(connectTcp({ host, port: portOf(target), lookup: answering(addresses), ...attempts }));
    await once(socket, "connect", { signal });
    const fault = peerFault(socket, host, mode);
    if (fault !== null) throw new NotSent(fault);
    socket.setNoDelay(true);
    if (target.protocol !== "https:") return socket;
    socket = guarded(connectTls({ socket, host, servername: isIP(host) === 0 ? host : "", ...verified }));
    await once(socket, "secureConnect", { signal });
    return socket;
  } catch (error) {
    socket?.destroy();
    if (!tooLate.signal.aborted) throw error;
    throw new NotSent(`no connection to ${host} stood after ${connectMs / 1000} seconds`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Far hosts answer within this time; where five addresses lead nowhere, the sixth still has its turn before the deadline. */
const attempts = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1_500 };

/** Said outright, since the environment can turn it off. No HTTP/2: one request a connection, and nobody waits behind another's. */
const verified = { rejectUnauthorized: true, ALPNProtocols: ["http/1.1"] };

/** A failure between two listeners would be the end of the process. */
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

/** However many a name has, and whosever they are: one request is no scan of a network. */
const addressesTried = 6;

/** One address that is not public refuses them all: which of them a connection goes to is nothing that a name may choose. */
async function checkedAddresses(host: string, mode: AddressMode, lookup: Lookup): Promise<readonly string[]> {
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
 * Why nothing may be sent over a connection; null where it may. A peer with the address of this end is this machine under a public
 * address of its own, whose services are open to it as to nobody outside.
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
  return address === host ? `the address ${host} is not public` : `the address ${address} of ${host} is not public`;
}

function answering(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, { all }, callback) => {
    const [first = { address: "", family: 4 }] = found;
    if (all) callback(null, found);
    else callback(null, first.address, first.family);
  };
}
