/** Our app at the demo ledger, so that `billing ledger authorise` works with no setting: made anew by each start, unless one is set. */
import { randomBytes } from "node:crypto";
import { callbackPath } from "../../ledger/xero/auth/callback-path.ts";

/** The app as the demo ledger is told of it. */
export interface DemoApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUrl: string;
}

/** The app of this start; undefined where the environment has one of its own. */
export function newDemoApp(env: NodeJS.ProcessEnv, adminPort: number): DemoApp | undefined {
  if (env.XERO_CLIENT_ID || env.XERO_CLIENT_SECRET || env.XERO_URL) return undefined;
  const scheme = env.TLS_CERT_FILE ? "https" : "http";
  const redirectUrl = env.XERO_REDIRECT_URL || `${scheme}://localhost:${adminPort}${callbackPath}`;
  // A connection outlives the start that made it: its refresh token is the app's, whatever the secret.
  return { clientId: "billing-demo", clientSecret: randomBytes(24).toString("base64url"), redirectUrl };
}

/** The settings of API and worker for it. */
export function demoAppEnv({ clientId, clientSecret, redirectUrl }: DemoApp, origin: string): NodeJS.ProcessEnv {
  return {
    XERO_CLIENT_ID: clientId,
    XERO_CLIENT_SECRET: clientSecret,
    XERO_URL: origin,
    XERO_REDIRECT_URL: redirectUrl,
  };
}

/** Tells the demo ledger of the app. Throws where it does not take it. */
export async function registerDemoApp(origin: string, { clientId, clientSecret, redirectUrl }: DemoApp): Promise<void> {
  const answer = await fetch(`${origin}/demo/apps`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ clientId, clientSecret, name: "Subscription billing", redirectUrls: [redirectUrl] }),
  });
  if (!answer.ok) throw new Error(`The demo ledger took no app: ${answer.status} ${await answer.text()}`);
}
