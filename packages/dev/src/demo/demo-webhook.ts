/**
 * The demo ledger's webhooks of `npm start`: the service sees changes by people in the demo ledger
 * within seconds, without settings.
 */
import { randomBytes } from "node:crypto";
import { ledgerWebhookPathOf } from "../../../../src/transport/http/ledger-webhooks.ts";

/** The address of the demo ledger's webhooks, and their signing key. */
export interface DemoWebhook {
  readonly url: string;
  readonly key: string;
}

/**
 * Returns the webhook of this start, with the environment's key if it is set. Undefined over TLS,
 * because the ledger may not trust the certificate.
 */
export function newDemoWebhook(env: NodeJS.ProcessEnv, baseUrl: string): DemoWebhook | undefined {
  if (new URL(baseUrl).protocol !== "http:") return undefined;
  return {
    url: `${baseUrl}${ledgerWebhookPathOf("xero")}`,
    key: env.XERO_WEBHOOK_KEY || randomBytes(24).toString("base64url"),
  };
}

/**
 * Registers the webhook with the demo ledger for all its present and future organisations. Throws
 * if the API refuses webhooks.
 */
export async function registerDemoWebhook(origin: string, webhook: DemoWebhook): Promise<void> {
  const answer = await fetch(`${origin}/demo/webhook`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(webhook),
  });
  if (!answer.ok)
    throw new Error(`The demo ledger sends no webhooks: ${answer.status} ${await answer.text()}`);
}
