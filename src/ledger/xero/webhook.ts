/**
 * Reads Xero's webhooks, signed lists of created or changed objects (XERO-11). A body without
 * events is Xero's check that we validate signatures. Some of these are signed wrongly on purpose,
 * so only the signature decides.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import {
  type ExactObject,
  filledTextOf,
  objectOf,
  objectsOf,
  readExactJson,
} from "../port/exact-json.ts";
import type {
  LedgerChangeKind,
  LedgerNotification,
  LedgerWebhook,
  LedgerWebhookDelivery,
} from "../port/ledger.ts";
import { refusedId } from "./wire/failure.ts";

/** The header with the signature, in lower case. */
export const xeroSignatureHeader = "x-xero-signature";

/** The form of a signature: an HMAC-SHA256 in base64. */
export const xeroSignatureForm = /^[A-Za-z0-9+/]{43}=$/;

const kinds: ReadonlyMap<string, LedgerChangeKind> = new Map([
  ["CONTACT", "contacts"],
  ["CREDITNOTE", "credit_notes"],
  ["INVOICE", "invoices"],
]);

/**
 * Returns the base64 HMAC-SHA256 of the body's bytes, with the webhook's signing key as Xero shows
 * it.
 */
function signatureOf(rawBody: Uint8Array, key: string): string {
  return createHmac("sha256", key).update(rawBody).digest("base64");
}

/**
 * Returns the notifications of a delivery. Events of other categories and unreadable ones are left
 * out, because the incremental sync finds them (LEDGER-4).
 */
export function readXeroWebhook(
  { rawBody, signature }: LedgerWebhookDelivery,
  key: string,
): LedgerWebhook {
  const expected = Buffer.from(signatureOf(rawBody, key));
  const received = Buffer.from(signature);
  if (received.length !== expected.length || !timingSafeEqual(received, expected))
    return { kind: "invalid" };
  const body = objectOf(readExactJson(Buffer.from(rawBody).toString("utf8")));
  const notifications = objectsOf(body?.events).map(notificationOf);
  return {
    kind: "valid",
    notifications: notifications.filter((notification) => notification !== undefined),
  };
}

function notificationOf(event: ExactObject): LedgerNotification | undefined {
  const kind = kinds.get(filledTextOf(event.eventCategory) ?? "");
  const ledgerId = filledTextOf(event.resourceId)?.toLowerCase() ?? "";
  const tenantId = filledTextOf(event.tenantId)?.toLowerCase() ?? "";
  if (kind === undefined || refusedId(ledgerId) !== null || refusedId(tenantId) !== null)
    return undefined;
  return {
    tenantId,
    kind,
    ledgerId,
    changedAt: exactInstantOf(filledTextOf(event.eventDateUtc) ?? ""),
  };
}

// Without milliseconds an instant would seem earlier than a change in the same second.
function exactInstantOf(text: string): string | null {
  const match = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3})\d*Z?$/.exec(text);
  return match === null || Number.isNaN(Date.parse(`${match[1]}Z`)) ? null : `${match[1]}Z`;
}
