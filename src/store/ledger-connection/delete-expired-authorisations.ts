/**
 * Deletes the tokens of consents for which no tenant was chosen in time. Unused secrets are not
 * kept.
 */
import { Prisma } from "../../gen/prisma/client.ts";
import { dbOfAll } from "../database/client.ts";
import type { Pool } from "../database/pool.ts";

/**
 * Deletes expired tokens over all organisations, at most `atMost`, and returns how many. Several
 * processes may run it at once.
 */
export async function deleteExpiredConsents(
  pool: Pick<Pool, "query">,
  atMost: number,
): Promise<number> {
  const consents = dbOfAll(pool).ledgerConsent;
  const isExpired = { tenants: { not: Prisma.DbNull }, expiresAt: { lte: new Date() } };
  const expired = await consents.findMany({
    where: isExpired,
    select: { organisationId: true },
    take: atMost,
  });
  if (expired.length === 0) return 0;
  // A consent whose tenant is chosen at this moment no longer has any tenants, and is left.
  const { count } = await consents.updateMany({
    where: { ...isExpired, organisationId: { in: expired.map((one) => one.organisationId) } },
    data: {
      failure: "No tenant was chosen in time.",
      encryptedTokens: null,
      tenants: Prisma.DbNull,
    },
  });
  return count;
}
