/** The settings of our app at Xero: its credentials, where Xero is, and where a consent comes back to. */

import { addressesAt, type XeroAppSettings, xeroAddresses } from "./app.ts";
import { callbackPath } from "./callback-path.ts";

/** The app, and XERO_REDIRECT_URL: null takes the callback of the admin port on this machine. */
export interface XeroAppConfig extends XeroAppSettings {
  readonly redirectUrl: string | null;
}

/**
 * XERO_CLIENT_ID and XERO_CLIENT_SECRET, both or none (null: nobody can authorise by consent); XERO_URL, the origin of a server that
 * speaks as Xero does (the demo ledger) in place of Xero's own addresses. Throws an Error that names the wrong one.
 */
export function xeroAppOf(env: NodeJS.ProcessEnv): XeroAppConfig | null {
  const { XERO_CLIENT_ID: clientId, XERO_CLIENT_SECRET: clientSecret } = env;
  const origin = addressOf(env, "XERO_URL", "https://ledger.example.com");
  const redirectUrl = addressOf(env, "XERO_REDIRECT_URL", `https://billing.example.com${callbackPath}`);
  if (!clientId && !clientSecret) return null;
  if (!clientId) throw new Error("XERO_CLIENT_SECRET is set without XERO_CLIENT_ID.");
  if (!clientSecret) throw new Error("XERO_CLIENT_ID is set without XERO_CLIENT_SECRET.");
  const addresses = origin === null ? xeroAddresses : addressesAt(origin);
  return { clientId, clientSecret, ...addresses, redirectUrl };
}

/** Where a consent comes back to, with the admin port at `port`. Xero takes `localhost` without TLS, and no number in its place. */
export function redirectUrlOf({ redirectUrl }: XeroAppConfig, isTls: boolean, port: number): string {
  return redirectUrl ?? `${isTls ? "https" : "http"}://localhost:${port}${callbackPath}`;
}

function addressOf(env: NodeJS.ProcessEnv, name: string, example: string): string | null {
  const given = env[name];
  if (!given) return null;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new Error(`${name}=${given} must be an address such as ${example}.`);
  }
  return given.replace(/\/+$/, "");
}
