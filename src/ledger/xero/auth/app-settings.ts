/**
 * The settings of our app at Xero: its credentials, Xero's addresses, and the redirect URL of a
 * consent.
 */

import { addressesAt, type XeroAppSettings, xeroAddresses } from "./app.ts";
import { callbackPath } from "./callback-path.ts";

/** The app, and XERO_REDIRECT_URL. Null takes the callback of the admin port on this machine. */
export interface XeroAppConfig extends XeroAppSettings {
  readonly redirectUrl: string | null;
}

/**
 * Reads XERO_CLIENT_ID and XERO_CLIENT_SECRET, both or none. Without them the answer is null and
 * consent is not available. XERO_URL is the origin of a server that speaks like Xero (the demo
 * ledger) and replaces Xero's addresses. Throws an Error that names the wrong variable.
 */
export function xeroAppOf(env: NodeJS.ProcessEnv): XeroAppConfig | null {
  const { XERO_CLIENT_ID: clientId, XERO_CLIENT_SECRET: clientSecret } = env;
  const origin = addressOf(env, "XERO_URL", "https://ledger.example.com");
  const redirectUrl = addressOf(
    env,
    "XERO_REDIRECT_URL",
    `https://billing.example.com${callbackPath}`,
  );
  if (!clientId && !clientSecret) return null;
  if (!clientId) throw new Error("XERO_CLIENT_SECRET is set without XERO_CLIENT_ID.");
  if (!clientSecret) throw new Error("XERO_CLIENT_ID is set without XERO_CLIENT_SECRET.");
  const addresses = origin === null ? xeroAddresses : addressesAt(origin);
  return { clientId, clientSecret, ...addresses, redirectUrl };
}

/**
 * Returns the redirect URL of a consent, for an admin port at `port`. Xero accepts `localhost`
 * without TLS, but no IP address in its place.
 */
export function redirectUrlOf(
  { redirectUrl }: XeroAppConfig,
  isTls: boolean,
  port: number,
): string {
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
