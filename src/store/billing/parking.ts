/**
 * Parks a subscription that cannot be billed, with the reason. Each pause doubles the last one
 * (POSTING-8).
 */

import type { Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";

/** Characters of a stored reason: an error's message, not its whole context. */
const reasonLimit = 500;

/** Longest pause: a repaired cause is noticed within the hour, without a request. */
const maxPauseMs = 60 * 60_000;

/** First pause of a parked subscription. Each further pause doubles. */
const firstPauseMs = 60_000;

/**
 * Parks the subscription: it is not billed before its pause is over. `databaseNow` is the
 * database's time, also in a sandbox.
 */
export async function park(
  client: Transaction,
  organisationId: string,
  id: string,
  { reason, databaseNow }: { readonly reason: string; readonly databaseNow: Date },
): Promise<void> {
  const where = { organisationId, id };
  const subscription = await db(client).subscription.findFirst({
    where,
    select: { parkedAttempts: true },
  });
  const pauseMs = firstPauseMs * 2 ** (subscription?.parkedAttempts ?? 0);
  await db(client).subscription.updateMany({
    where,
    data: {
      parkedReason: reason,
      parkedAttempts: { increment: 1 },
      parkedUntil: new Date(databaseNow.getTime() + Math.min(maxPauseMs, pauseMs)),
    },
  });
}

/** Returns the stored reason of an error: its message, cut to 500 characters. */
export function storedReason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, reasonLimit);
}
