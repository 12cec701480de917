/**
 * Connects to ledgers under the rule of webhook endpoints: only addresses of the public network.
 */
import { isIPv6 } from "node:net";
import type { buildConnector } from "undici";
import { type AddressMode, urlFault } from "../../webhooks/address.ts";
import { createConnect, type Lookup, lookupOf, NotSent } from "../../webhooks/connect.ts";

/** A slower connection will not recover within a caller's 15 seconds. */
const connectMs = 5_000;

/**
 * Opens connections to ledgers. Each connection checks the address again. A name may resolve to
 * another host by then, and a connection may be older than the current setting.
 */
export function createLedgerConnect(
  mode: AddressMode,
  lookup: Lookup = lookupOf(mode),
): buildConnector.connector {
  const connect = createConnect({ mode, connectMs, lookup });
  return (target, callback) => {
    const { protocol, hostname, port } = target;
    const host = isIPv6(hostname) ? `[${hostname}]` : hostname;
    const fault = urlFault(`${protocol}//${host}${port === "" ? "" : `:${port}`}`, mode);
    if (fault === null) connect(target, callback);
    else callback(new NotSent(`the address of the ledger ${fault}`), null);
  };
}
