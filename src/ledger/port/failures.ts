/**
 * The answers of a ledger: a value, or one of the ways in which a call can fail (LEDGER-2). Part of
 * the ledger's port. Import these types from `ledger.ts`.
 */
import type { HttpSilence } from "./http/exchange.ts";

/**
 * The reason of a refusal, for rules that depend on it. The failure's `messages` have the ledger's
 * words. `drift`: a person or another program changed what our amounts there mean, or removed a
 * line of ours. `not_permitted`: the person who connected the ledger lacks a right. `validation` is
 * the rest.
 */
export type LedgerRefusalReason =
  | "has_payment_or_credit"
  | "wrong_status"
  | "drift"
  | "duplicate_number"
  | "duplicate_contact"
  | "contact_name_invalid"
  | "contact_email_invalid"
  | "contact_inactive"
  | "account_invalid"
  | "tax_invalid"
  | "currency_not_enabled"
  | "period_locked"
  | "approval_limit"
  | "not_permitted"
  | "amount_exceeds"
  | "not_found"
  | "stale"
  | "validation";

/**
 * Every way in which a call can fail (LEDGER-2).
 * - `refused`: a final no. Nothing changed. `messages` are the ledger's words, unshortened.
 * - `unauthorised`: nothing happened. The connection's work stops until an operator acts.
 * - `rate_limited`: nothing happened, and no attempt is used up. The whole connection pauses. If
 *   our own budget is spent (`isOurs`), only this work waits; calls with a waiting caller may
 *   continue.
 * - `unavailable`: `not_sent` may be repeated freely. `unknown` may have taken effect: look up the
 *   reserved number first. `cause` is a short text for the log, without secrets. `isRemembered`:
 *   the ledger gives the same bad answer to the same key for a while.
 * - `high_volume`: the ledger has too many records to answer this query. Nothing happened, and the
 *   answer says nothing of the requested objects.
 */
export type LedgerFailure =
  | {
      readonly kind: "refused";
      readonly reason: LedgerRefusalReason;
      readonly messages: readonly string[];
    }
  | {
      readonly kind: "unauthorised";
      readonly why: "expired" | "disconnected" | "insufficient_scope";
      readonly message: string;
    }
  | {
      readonly kind: "rate_limited";
      readonly scope: "minute" | "day" | "concurrent" | "app";
      readonly retryAfterMs: number;
      readonly isOurs?: boolean;
    }
  | {
      readonly kind: "unavailable";
      readonly outcome: "not_sent" | "unknown";
      readonly cause: string;
      readonly isRemembered?: true;
    }
  | { readonly kind: "high_volume"; readonly message: string };

/** A ledger's answer: the value, or the failure. */
export type LedgerAnswer<T> = { readonly kind: "ok"; readonly value: T } | LedgerFailure;

/** Returns a refusal with one message. */
export function refused(reason: LedgerRefusalReason, message: string): LedgerFailure {
  return { kind: "refused", reason, messages: [message] };
}

/** The refusal of an id that nothing has. */
export const notFound = refused("not_found", "Not found in the ledger.");

/** Whether the ledger does not have the object. */
export function isMissing(answer: LedgerAnswer<unknown>): boolean {
  return answer.kind === "refused" && answer.reason === "not_found";
}

/** Returns the failure of an answer that cannot be parsed. A write may have taken effect. */
export function unreadable(cause: string, isWrite: boolean): LedgerFailure {
  return { kind: "unavailable", outcome: isWrite ? "unknown" : "not_sent", cause };
}

/** Returns the failure of a request without an answer. A read may always be repeated. */
export function failureOfSilence({ sent, cause }: HttpSilence, isWrite: boolean): LedgerFailure {
  return unreadable(cause, sent && isWrite);
}
