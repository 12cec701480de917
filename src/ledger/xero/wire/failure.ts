/**
 * Maps Xero's answers to answers of the port: the failure of each status, and the refusal reason of
 * each text (LEDGER-2).
 */
import {
  type ExactJson,
  type ExactObject,
  filledTextOf,
  objectOf,
  objectsOf,
  readExactJson,
} from "../../port/exact-json.ts";
import { notFound, refused, unreadable } from "../../port/failures.ts";
import { type HttpReply, tooLargeCause } from "../../port/http/exchange.ts";
import type { LedgerAnswer, LedgerFailure, LedgerRefusalReason } from "../../port/ledger.ts";

// Only the text distinguishes the reasons, and texts change. The first pattern that fits any
// message wins. The default is `validation`.
const reasonPatterns: readonly (readonly [RegExp, LedgerRefusalReason])[] = [
  [/payments? or credit notes? allocated/i, "has_payment_or_credit"],
  [
    /invoice # must be unique|credit note # must be unique|number must be unique/i,
    "duplicate_number",
  ],
  [
    /contact name .* is already assigned|another contact has this contact number/i,
    "duplicate_contact",
  ],
  [/angle brackets|the (contact )?name (field )?(exceeds|cannot|must)/i, "contact_name_invalid"],
  [/e-?mail ?address/i, "contact_email_invalid"],
  [/contact .*(archived|GDPR|deleted|cannot be used)/i, "contact_inactive"],
  [/lock date/i, "period_locked"],
  [/reached the limit of invoices/i, "approval_limit"],
  [
    /\b(user|you) (does|do) not have (the )?(permission|access|rights?)|not permitted to/i,
    "not_permitted",
  ],
  [/not subscribed to currency|currency .* (not enabled|is not valid)/i, "currency_not_enabled"],
  // Before the amounts: a missing or removed document has nothing due, and Xero reports both.
  [/(invoice|credit note)\b.* could not be found/i, "not_found"],
  [/not of (a )?valid status/i, "wrong_status"],
  [
    /greater than (the )?(amount )?(outstanding|remaining)|already been paid off|remaining credit/i,
    "amount_exceeds",
  ],
  // Before the accounts: "The TaxType code x cannot be used with account code y."
  [/the tax ?type code/i, "tax_invalid"],
  [/account code|account must be valid/i, "account_invalid"],
  [/tax rate must be valid/i, "tax_invalid"],
  // Last: accounts and contacts can be "deleted" too.
  [/status \w+ cannot be applied|(must be|is not|only) (authorised|approved)/i, "wrong_status"],
  [
    /(invoice|credit note|document) (is|has been) (already )?(paid|voided|deleted)/i,
    "wrong_status",
  ],
];

// The text of a 403 which says that the connection itself is gone. Any other 403 is about one right
// of one person.
const goneConnectionPattern =
  /authentication ?unsuccessful|authorization ?unsuccessful|tenant .*not (found|connected)/i;

// The ErrorNumber of a refusal because of too many records (XERO-5).
const highVolumeNumber = "51";

// A key that was used for other content does not say whether this content was accepted.
const keyMismatchPattern = /used with a different request/i;

// The wait without Retry-After. A concurrent slot is free after one call; the other limits are
// fixed windows.
const defaultRetryAfterMs = {
  concurrent: 1_000,
  minute: 60_000,
  app: 60_000,
  day: 3_600_000,
} as const;

/** Returns the reason for a refusal's texts, or `validation` if none is known. */
export function refusalReasonOf(messages: readonly string[]): LedgerRefusalReason {
  for (const [pattern, reason] of reasonPatterns) {
    if (messages.some((message) => pattern.test(message))) return reason;
  }
  return "validation";
}

/**
 * Returns a refusal in the ledger's words. The list is never empty, so that an operator always sees
 * a message.
 */
export function refusedBecause(messages: readonly string[]): LedgerFailure {
  const texts = messages.length > 0 ? messages : ["The ledger refused without a reason."];
  return { kind: "refused", reason: refusalReasonOf(texts), messages: texts };
}

/**
 * Returns the refusal of an id that is not a UUID, or null. Xero's ids are UUIDs, and other text
 * could name another resource in a path.
 */
export function refusedId(id: string): LedgerFailure | null {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? null : notFound;
}

/**
 * Returns all error texts of an element, once each: its own, and those of its contact, invoice,
 * lines and allocations.
 */
export function messagesOf(element: ExactObject): readonly string[] {
  const parts = [...objectsOf(element.LineItems), ...objectsOf(element.Allocations)];
  const holders = [element, objectOf(element.Contact), objectOf(element.Invoice), ...parts];
  const texts = holders.flatMap((holder) =>
    objectsOf(holder?.ValidationErrors).map((one) => filledTextOf(one.Message)),
  );
  return [...new Set(texts.filter((text) => text !== undefined))];
}

/** Returns true if Xero answered 200 and still refused this element. */
export function isElementRefused(element: ExactObject): boolean {
  return (
    element.HasErrors === true ||
    element.HasValidationErrors === true ||
    element.StatusAttributeString === "ERROR" ||
    messagesOf(element).length > 0
  );
}

/**
 * Returns a 2xx answer as an object. Any other answer, and a 2xx that cannot be parsed, becomes a
 * failure.
 */
export function readReply(reply: HttpReply, isWrite: boolean): LedgerAnswer<ExactObject> {
  if (reply.status < 200 || reply.status > 299) return failureOfReply(reply, isWrite);
  const value = objectOf(readExactJson(reply.text));
  return value === undefined
    ? unreadable("the answer is not a JSON object", isWrite)
    : { kind: "ok", value };
}

/** Returns true if the answer was above the size limit. A smaller request may succeed. */
export function isTooLarge(failure: LedgerFailure): boolean {
  return failure.kind === "unavailable" && failure.cause === tooLargeCause;
}

/** A bad answer that the ledger repeats for the same idempotency key (XERO-2). */
function remembered(cause: string, isWrite: boolean): LedgerFailure {
  const outcome = isWrite ? "unknown" : "not_sent";
  return { kind: "unavailable", outcome, cause, isRemembered: true };
}

/** Returns the failure for a status other than 2xx. */
export function failureOfReply(reply: HttpReply, isWrite: boolean): LedgerFailure {
  const body = objectOf(readExactJson(reply.text));
  switch (reply.status) {
    case 400: {
      const messages = refusalMessages(body);
      if (filledTextOf(body?.ErrorNumber) === highVolumeNumber) {
        return {
          kind: "high_volume",
          message: messages.join(" ") || "Too many records for this query.",
        };
      }
      if (messages.some((message) => keyMismatchPattern.test(message))) {
        return remembered("the idempotency key was used for another request", isWrite);
      }
      return refusedBecause(messages);
    }
    case 401:
      return unauthorised(reply, body);
    case 403:
      return forbidden(body);
    case 404:
      return refused("not_found", detailOf(body) ?? "Not found in the ledger.");
    case 409:
    case 412:
      return refused("stale", detailOf(body) ?? "Changed in the ledger meanwhile.");
    case 429:
      return rateLimited(reply);
  }
  const isClientFault = reply.status > 400 && reply.status < 500 && reply.status !== 408;
  if (isClientFault)
    return refusedBecause([`The ledger answered ${reply.status}.`, ...refusalMessages(body)]);
  const cause = `the ledger answered ${reply.status}`;
  return isOnTheWay(reply.status) ? unreadable(cause, isWrite) : remembered(cause, isWrite);
}

// A proxy in front of the ledger sends these statuses. The request may still be running behind the
// proxy, under its key.
function isOnTheWay(status: number): boolean {
  return status < 500 || (status >= 502 && status <= 504);
}

/** Returns the elements of a 400, or an empty list. `Elements` may be absent. */
export function refusedElements(reply: HttpReply): readonly ExactObject[] {
  return objectsOf(objectOf(readExactJson(reply.text))?.Elements);
}

function refusalMessages(body: ExactObject | undefined): readonly string[] {
  const elements = objectsOf(body?.Elements).flatMap(messagesOf);
  if (elements.length > 0) return [...new Set(elements)];
  const causes = body ? [...messagesOf(body), detailOf(body)] : [];
  return [...new Set(causes.filter((text) => text !== undefined))];
}

function detailOf(body: ExactObject | undefined): string | undefined {
  const texts: (ExactJson | undefined)[] = [
    body?.Detail,
    body?.detail,
    body?.Message,
    body?.Title,
    body?.title,
  ];
  return texts.map(filledTextOf).find((text) => text !== undefined);
}

function unauthorised(reply: HttpReply, body: ExactObject | undefined): LedgerFailure {
  // Xero uses both spellings.
  const isScope = /insuffici?ent_scope/i.test(reply.headers["www-authenticate"] ?? "");
  return {
    kind: "unauthorised",
    why: isScope ? "insufficient_scope" : "expired",
    message: detailOf(body) ?? "Unauthorized",
  };
}

// A 403 without Xero's text comes from an intermediary that blocked the request. It says nothing
// about rights.
function forbidden(body: ExactObject | undefined): LedgerFailure {
  const detail = detailOf(body);
  if (detail === undefined) return unreadable("the ledger answered 403", false);
  if (goneConnectionPattern.test(detail))
    return { kind: "unauthorised", why: "disconnected", message: detail };
  const lack = "The person who connected the ledger lacks a right there.";
  return refused("not_permitted", `${lack} The ledger says: ${detail}`);
}

function rateLimited(reply: HttpReply): LedgerFailure {
  const scope = limitScopeOf(reply.headers["x-rate-limit-problem"] ?? "");
  const seconds = Number(reply.headers["retry-after"]);
  const retryAfterMs =
    Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : defaultRetryAfterMs[scope];
  return { kind: "rate_limited", scope, retryAfterMs };
}

function limitScopeOf(problem: string): "minute" | "day" | "concurrent" | "app" {
  const text = problem.toLowerCase();
  if (text.startsWith("app")) return "app";
  if (text.includes("day")) return "day";
  return text.includes("concurrent") ? "concurrent" : "minute";
}
