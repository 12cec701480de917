/**
 * Xero's webhooks: a signed list of what was made or changed. A body without events is Xero's question whether we mean
 * to receive them, some of them signed wrongly on purpose: the signature alone decides. Facts: facts-ledger section 1.9.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type ExactObject, filledTextOf, objectOf, objectsOf, readExactJson } from "../port/exact-json.ts";
import type { LedgerChangeKind, LedgerNotification, LedgerWebhook, LedgerWebhookDelivery } from "../port/ledger.ts";
import { refusedId } from "./wire/failure.ts";

/** The header that carries the signature, in lower case. */
export const xeroSignatureHeader = "x-xero-signature";

const kinds: ReadonlyMap<string, LedgerChangeKind> = new Map([
  ["CONTACT", "contacts"],
  ["CREDITNOTE", "credit_notes"],
  ["INVOICE", "invoices"],
]);

/** base64 of the HMAC-SHA256 over the body's bytes, by the webhook's signing key as Xero shows it. */
export function signatureOf(rawBody: Uint8Array, key: string): string {
  return createHmac("sha256", key).update(rawBody).digest("base64");
}

/** What a delivery says. Events of other categories, and those that cannot be read, are left out: the sweep is behind them. */
export function readXeroWebhook({ rawBody, signature }: LedgerWebhookDelivery, key: string): LedgerWebhook {
  const wanted = Buffer.from(signatureOf(rawBody, key));
  const given = Buffer.from(signature);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return { kind: "invalid" };
  const body = objectOf(readExactJson(Buffer.from(rawBody).toString("utf8")));
  const hints = objectsOf(body?.events).map(notificationOf);
  return { kind: "hints", hints: hints.filter((hint) => hint !== undefined) };
}

function notificationOf(event: ExactObject): LedgerNotification | undefined {
  const kind = kinds.get(filledTextOf(event.eventCategory) ?? "");
  const ledgerId = filledTextOf(event.resourceId)?.toLowerCase() ?? "";
  const tenantId = filledTextOf(event.tenantId)?.toLowerCase() ?? "";
  if (kind === undefined || refusedId(ledgerId) !== null || refusedId(tenantId) !== null) return undefined;
  return { tenantId, kind, ledgerId, changedAt: exactInstantOf(filledTextOf(event.eventDateUtc) ?? "") };
}

// Without its milliseconds an instant would seem to lie before a change of the same second.
function exactInstantOf(text: string): string | null {
  const match = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3})\d*Z?$/.exec(text);
  return match === null || Number.isNaN(Date.parse(`${match[1]}Z`)) ? null : `${match[1]}Z`;
}
