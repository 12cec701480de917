/**
 * Maps Tryton's answers to answers of the port. Its words are for people and translated, so only
 * the status decides (LEDGER-21).
 */
import { type ExactJson, filledTextOf, objectOf, readExactJson } from "../../port/exact-json.ts";
import { notFound, refused, unreadable } from "../../port/failures.ts";
import type { HttpReply } from "../../port/http/exchange.ts";
import type { LedgerAnswer, LedgerFailure } from "../../port/ledger.ts";

/** Returns the refusal of an id that is not a whole number, or null. Tryton's ids are numbers. */
export function refusedId(id: string): LedgerFailure | null {
  return /^[1-9]\d{0,17}$/.test(id) ? null : notFound;
}

/** Before a document is posted nothing counts, so that a lost answer can be repeated freely. */
export function beforePosting(failure: LedgerFailure): LedgerFailure {
  return failure.kind === "unavailable" ? { ...failure, outcome: "not_sent" } : failure;
}

/** Returns the JSON of a good answer, or the failure. */
export function readReply(reply: HttpReply, isWrite: boolean): LedgerAnswer<ExactJson> {
  if (reply.status === 204) return { kind: "ok", value: null };
  if (reply.status < 200 || reply.status > 299) return failureOfReply(reply, isWrite);
  const value = readExactJson(reply.text);
  return value === undefined
    ? unreadable("the answer is not JSON", isWrite)
    : { kind: "ok", value };
}

/**
 * 400 is a rule of Tryton, and nothing changed. 403 is an action without a right, or the loser of
 * two changes of one document at once: the caller reads the document again before it believes it.
 * 500 is also the answer to a key without a user.
 */
function failureOfReply({ status, text, headers }: HttpReply, isWrite: boolean): LedgerFailure {
  switch (status) {
    case 400:
      return { kind: "refused", reason: "validation", messages: messagesOf(text) };
    case 401:
      return { kind: "unauthorised", why: "expired", message: "Tryton does not accept the key." };
    case 403:
      return refused("not_permitted", "The user of the key may not do this in Tryton.");
    case 404:
      return notFound;
    case 429: {
      const seconds = Number(headers["retry-after"]);
      const retryAfterMs = seconds > 0 ? seconds * 1_000 : 60_000;
      return { kind: "rate_limited", scope: "minute", retryAfterMs };
    }
    default:
      return unreadable(`the ledger answered ${status}`, isWrite);
  }
}

function messagesOf(text: string): readonly string[] {
  const body = objectOf(readExactJson(text));
  const words = [filledTextOf(body?.message), filledTextOf(body?.description)];
  const known = words.filter((one) => one !== undefined);
  return known.length > 0 ? known : ["Tryton refused without a reason."];
}
