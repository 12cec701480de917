/**
 * Stores the encrypted tokens of connections by authorisation, shared by all processes. A process
 * that refreshes them holds a lease while it calls the ledger, outside of any transaction. A
 * process that lost its lease saves nothing. LEDGER-6. SQL for reads and saves of an
 * access token and for the claim of the lease, because the database's clock decides how long each
 * lasts.
 */
import { columns } from "../../gen/columns.ts";
import { msUntil } from "../database/clock.ts";
import type { Encryption } from "../database/encryption.ts";
import { newId } from "../database/ids.ts";
import { inTransaction, type Pool } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { float, pick } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { type Command, command, query } from "../database/sql/statement.ts";

/** The result of a refresh. `used` is the refresh token that was exchanged for it. */
interface FreshTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly used: string;
  readonly freshMs: number;
}

/** The reason that operators read for a connection that the ledger ended. */
export const endedByLedger =
  "The ledger no longer takes our authorisation (invalid_grant): " +
  "an owner must authorise the connection again.";

/** The places that the encrypted tokens are bound to. */
export const tokenPlaces = {
  refresh: (organisationId: string) => `${organisationId}/refresh`,
  access: (organisationId: string) => `${organisationId}/access`,
} as const;

const accessToken = pick(
  columns.ledgerAuthorisation,
  "generation",
  "encryptedAccess",
  "encryptionKeyId",
);

const readTokens = query({
  name: "read_ledger_tokens",
  text: sql`
    SELECT ${columnsOf(sql`a`, accessToken)}, ${msUntil(sql`a.fresh_until`)} AS fresh_ms
    FROM
      ledger_authorisations a
      JOIN ledger_connections c ON c.organisation_id = a.organisation_id
    WHERE a.organisation_id = $1 AND c.disconnected_at IS NULL
  `,
  row: { ...accessToken, freshMs: float },
});

const saveTokens = command({
  name: "save_ledger_tokens",
  text: sql`
    UPDATE ledger_authorisations
    SET
      generation = generation + 1,
      encrypted_access = $3,
      encrypted_refresh = $4,
      encrypted_previous = $5,
      encryption_key_id = $6,
      fresh_until = now() + $7 * interval '1 millisecond',
      lease_id = NULL,
      lease_until = NULL
    WHERE organisation_id = $1 AND lease_id = $2
  `,
});

const refreshToken = pick(
  columns.ledgerAuthorisation,
  "encryptedRefresh",
  "encryptedPrevious",
  "encryptionKeyId",
);

const takeRefresh = query({
  name: "take_ledger_refresh",
  text: sql`
    UPDATE ledger_authorisations a
    SET
      lease_id = $3,
      lease_until = clock_timestamp() + $4 * interval '1 millisecond'
    WHERE
      organisation_id = $1
      AND generation = $2
      AND (lease_until IS NULL OR lease_until <= clock_timestamp())
    RETURNING ${columnsOf(sql`a`, refreshToken)}
  `,
  row: refreshToken,
});

/** Creates the token store of an organisation over a pool. */
export function createLedgerTokens(pool: Pool, encryption: Encryption, organisationId: string) {
  const refreshPlace = tokenPlaces.refresh(organisationId);
  const accessPlace = tokenPlaces.access(organisationId);
  return {
    /**
     * The access token in use, and how much longer it may be used. The generation rises with each
     * refresh. Null if there are no tokens, or the connection is disconnected.
     */
    read: async () => {
      const [row] = await readTokens(pool, organisationId);
      if (row === undefined) return null;
      const { generation, encryptionKeyId: keyId, encryptedAccess: bytes, freshMs } = row;
      return {
        generation,
        accessToken: encryption.decrypt({ keyId, bytes }, accessPlace),
        freshMs,
      };
    },
    /**
     * The lease of a refresh, with the refresh token and the previous one. Null if another process
     * has the lease, or the tokens have another generation by now.
     */
    take: async (generation: string, leaseMs: number) => {
      const leaseId = newId();
      const [row] = await takeRefresh(pool, organisationId, generation, leaseId, leaseMs);
      if (row === undefined) return null;
      const { encryptionKeyId: keyId, encryptedRefresh, encryptedPrevious } = row;
      const open = (bytes: Buffer) => encryption.decrypt({ keyId, bytes }, refreshPlace);
      const previous = encryptedPrevious === null ? null : open(encryptedPrevious);
      return { leaseId, refreshToken: open(encryptedRefresh), previous };
    },
    /** False if the lease was lost. */
    save: async (leaseId: string, { accessToken, refreshToken, used, freshMs }: FreshTokens) => {
      const access = encryption.encrypt(accessToken, accessPlace);
      const [refresh, previous] = [refreshToken, used].map(
        (token) => encryption.encrypt(token, refreshPlace).bytes,
      );
      const values = [access.bytes, refresh, previous, access.keyId, freshMs];
      return (await saveTokens(pool, organisationId, leaseId, ...values)) === 1;
    },
    release: async (leaseId: string) => {
      await db(pool).ledgerAuthorisation.updateMany({
        where: { organisationId, leaseId },
        data: { leaseId: null, leaseUntil: null },
      });
    },
    /**
     * Ends the connection on our side, because the ledger no longer accepts its refresh token. Does
     * nothing if the lease was lost.
     */
    disconnect: (leaseId: string) => disconnect(pool, organisationId, leaseId),
  };
}

async function disconnect(pool: Pool, organisationId: string, leaseId: string): Promise<void> {
  await inTransaction(pool, async (tx) => {
    const where = { organisationId, leaseId };
    const { count } = await db(tx).ledgerAuthorisation.deleteMany({ where });
    if (count === 0) return;
    await db(tx).ledgerConnection.updateMany({
      where: { organisationId },
      data: { disconnectedAt: new Date(), disconnectedReason: endedByLedger },
    });
  });
}

/**
 * Deletes expired tokens over all organisations, at most `atMost`, and returns how many. Several
 * processes may run it at once.
 */
export const deleteExpiredConsents: Command<[atMost: number]> = command({
  name: "delete_expired_consents",
  text: sql`
    UPDATE ledger_consents
    SET
      failure = 'No tenant was chosen in time.',
      encrypted_tokens = NULL,
      tenants = NULL
    WHERE
      organisation_id IN (
        SELECT organisation_id
        FROM ledger_consents
        WHERE tenants IS NOT NULL AND expires_at <= now()
        LIMIT $1
        FOR UPDATE SKIP LOCKED
      )
  `,
});
