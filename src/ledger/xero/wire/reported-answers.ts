/** What of Xero's answers goes into the log: bad ones by their correlation ids, and warnings in Xero's words. */
import { filledTextOf, objectOf, objectsOf, readExactJson } from "../../port/exact-json.ts";
import { cutText } from "../../port/texts.ts";
import type { XeroTold } from "./connection.ts";
import type { HttpReply } from "./exchange.ts";

/** Who asks, so that Xero can tell whom to write to. The version is that of the package. */
export const userAgent = "subscription-billing/1.0.0";

// Enough to understand a warning; a line of the log is no place for more.
const longestWarning = 500;
const mostWarnings = 20;

/** What is to be told of an answer; null where it is good and warns of nothing. */
export function publishedOf(method: string, path: string, reply: HttpReply): XeroTold | null {
  const warnings = warningsOf(path, reply);
  if (reply.status < 400 && warnings.length === 0) return null;
  const id = reply.headers["xero-correlation-id"] ?? "";
  return {
    method,
    path: maskedPath(path),
    status: reply.status,
    // Whatever else stands there is not for the log.
    correlationId: /^[\w-]{1,64}$/.test(id) ? id : null,
    warnings,
  };
}

// Ids stay out, and so do numbers and the codes of customers.
function maskedPath(path: string): string {
  return path
    .split("/")
    .map((part, index) => (index % 2 === 0 && index > 0 ? "{id}" : part))
    .join("/");
}

function warningsOf(path: string, { status, text }: HttpReply): readonly string[] {
  if (status > 299 || !text.includes('"Warnings"')) return [];
  const body = objectOf(readExactJson(text)) ?? {};
  const elements = Object.values(body).flatMap((value) => (typeof value === "object" ? objectsOf(value) : []));
  const texts = elements.flatMap((element) => objectsOf(element.Warnings).map(({ Message }) => filledTextOf(Message)));
  const found = [...new Set(texts.filter((one) => one !== undefined))].slice(0, mostWarnings);
  // What Xero says of a contact may name it.
  if (path.startsWith("/Contacts")) return found.map(() => "a warning about a contact");
  return found.map((one) => cutText(one.replace(/[^\s@]+@[^\s@]+/g, "{e-mail}"), longestWarning));
}
