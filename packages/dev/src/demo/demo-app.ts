/**
 * Our app at the demo ledger, so that `billing ledger authorise` works without settings. Each start
 * creates a new one unless an app is set.
 */
import { randomBytes } from "node:crypto";
import { redirectUrlOf } from "../../../../src/ledger/ledger-settings.ts";

/** The app as it is registered with the demo ledger. */
export interface DemoApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUrl: string;
}

/** Returns the app of this start, or undefined if the environment sets one. */
export function newDemoApp(env: NodeJS.ProcessEnv, adminPort: number): DemoApp | undefined {
  if (env.XERO_CLIENT_ID || env.XERO_CLIENT_SECRET || env.XERO_URL) return undefined;
  const registered = { redirectUrl: env.XERO_REDIRECT_URL || null };
  const redirectUrl = redirectUrlOf("xero", registered, Boolean(env.TLS_CERT_FILE), adminPort);
  // A connection outlives the start that created it: its refresh token belongs to the app, whatever
  // the secret.
  return {
    clientId: "billing-demo",
    clientSecret: randomBytes(24).toString("base64url"),
    redirectUrl,
  };
}

/** Returns the settings of this app for API and worker. */
export function demoAppEnv(
  { clientId, clientSecret, redirectUrl }: DemoApp,
  origin: string,
): NodeJS.ProcessEnv {
  return {
    XERO_CLIENT_ID: clientId,
    XERO_CLIENT_SECRET: clientSecret,
    XERO_URL: origin,
    XERO_REDIRECT_URL: redirectUrl,
  };
}

/** Registers the app with the demo ledger. Throws if the demo ledger refuses it. */
export async function registerDemoApp(
  origin: string,
  { clientId, clientSecret, redirectUrl }: DemoApp,
): Promise<void> {
  const answer = await fetch(`${origin}/demo/apps`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      clientId,
      clientSecret,
      name: "Subscription billing",
      redirectUrls: [redirectUrl],
    }),
  });
  if (!answer.ok)
    throw new Error(`The demo ledger took no app: ${answer.status} ${await answer.text()}`);
}
