/** The demo ledger's webhooks of `npm start`: what people do in its books is seen within seconds, with no setting. */
import { randomBytes } from "node:crypto";
import { xeroWebhookPath } from "../../transport/http/ledger-webhooks.ts";

/** Where the demo ledger sends its webhooks, and the key that signs them. */
export interface DemoWebhook {
  readonly url: string;
  readonly key: string;
}

/** The webhook of this start, by the environment's own key where it has one; undefined over TLS, whose certificate the ledger may not trust. */
export function newDemoWebhook(env: NodeJS.ProcessEnv, baseUrl: string): DemoWebhook | undefined {
  if (new URL(baseUrl).protocol !== "http:") return undefined;
  return { url: `${baseUrl}${xeroWebhookPath}`, key: env.XERO_WEBHOOK_KEY || randomBytes(24).toString("base64url") };
}

/** Tells the demo ledger, for all its organisations and those to come. Throws where the API does not take webhooks. */
export async function registerDemoWebhook(origin: string, webhook: DemoWebhook): Promise<void> {
  const answer = await fetch(`${origin}/demo/webhook`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(webhook),
  });
  if (!answer.ok) throw new Error(`The demo ledger sends no webhooks: ${answer.status} ${await answer.text()}`);
}
