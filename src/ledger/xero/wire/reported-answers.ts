/**
 * Selects what is logged of Xero's answers: correlation ids of bad answers, and warnings in Xero's
 * words.
 */
import { filledTextOf, objectOf, objectsOf, readExactJson } from "../../port/exact-json.ts";
import type { HttpReply } from "../../port/http/exchange.ts";
import type { ReportedAnswer } from "../../port/ledger-kind.ts";
import { cutText } from "../../port/texts.ts";

/** Identifies the client, so that Xero can contact us. The version is the package's. */
export const userAgent = "subscription-billing/1.0.0";

// Enough to understand a warning. A log line should not be longer.
const maxWarningLength = 500;
const maxWarnings = 20;

/** Returns the log entry of an answer, or null for a good answer without warnings. */
export function reportedAnswerOf(
  method: string,
  path: string,
  reply: HttpReply,
): ReportedAnswer | null {
  const warnings = warningsOf(path, reply);
  if (reply.status < 400 && warnings.length === 0) return null;
  return {
    method,
    path: maskedPath(path),
    status: reply.status,
    correlationId: correlationIdOf(reply),
    warnings,
  };
}

/** Returns the id by which Xero finds the request. Other content of its header is left out. */
export function correlationIdOf({ headers }: HttpReply): string | null {
  const id = headers["xero-correlation-id"] ?? "";
  return /^[\w-]{1,64}$/.test(id) ? id : null;
}

// Ids, numbers and customer codes are not logged.
function maskedPath(path: string): string {
  return path
    .split("/")
    .map((part, index) => (index % 2 === 0 && index > 0 ? "{id}" : part))
    .join("/");
}

function warningsOf(path: string, { status, text }: HttpReply): readonly string[] {
  if (status > 299 || !text.includes('"Warnings"')) return [];
  const body = objectOf(readExactJson(text)) ?? {};
  const elements = Object.values(body).flatMap((value) =>
    typeof value === "object" ? objectsOf(value) : [],
  );
  const texts = elements.flatMap((element) =>
    objectsOf(element.Warnings).map(({ Message }) => filledTextOf(Message)),
  );
  const found = [...new Set(texts.filter((one) => one !== undefined))].slice(0, maxWarnings);
  // Xero's text about a contact may contain its name.
  if (path.startsWith("/Contacts")) return found.map(() => "a warning about a contact");
  return found.map((one) => cutText(one.replace(/[^\s@]+@[^\s@]+/g, "{e-mail}"), maxWarningLength));
}
