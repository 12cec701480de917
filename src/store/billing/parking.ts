/**
 * Parks a subscription that cannot be billed, with the reason. Each pause doubles the last one
 * (POSTING-8). The arithmetic is the database's, on its own clock.
 */
import { sqlState, type Transaction } from "../database/pool.ts";

/** Characters of a stored reason: an error's message, not its whole context. */
const reasonLimit = 500;

/** Longest pause: a repaired cause is noticed within the hour, without a request. */
const longestPauseMs = 60 * 60_000;

/** First pause of a parked subscription. Each further pause doubles. */
const firstPauseMs = 60_000;

const parkText = `
UPDATE subscriptions s SET parked_reason = $3, parked_attempts = s.parked_attempts + 1,
  parked_until = now() + interval '1 millisecond'
    * least(${longestPauseMs}, ${firstPauseMs} * 2 ^ least(s.parked_attempts, 20))
WHERE s.organisation_id = $1 AND s.id = $2`;

/** Parks the subscription: it is not billed before its pause is over. */
export async function park(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
  reason: string,
): Promise<void> {
  await client.query({
    name: "park_subscription",
    text: parkText,
    values: [organisationId, subscriptionId, reason],
  });
}

/**
 * Whether an error passes by itself: conflict (SQLSTATE class 40), resources (53), another object's
 * state (55), intervention (57). The chunk is repeated. A statement timeout (57014) would recur
 * each time.
 */
export function isTransient(error: unknown): boolean {
  return /^(40|53|55|57(?!014))/.test(sqlState(error) ?? "");
}

/** Returns the stored reason of an error: its message, cut to 500 characters. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, reasonLimit);
}
