/**
 * Reads the ledger connection of an organisation, and records the pause that its ledger requested.
 * SQL, because the database's clock decides how long a pause lasts.
 */

import { columns } from "../../gen/columns.ts";
import { binding } from "../database/bind.ts";
import { msUntil } from "../database/clock.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import { float, pick, text } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { type Command, command, query } from "../database/sql/statement.ts";

/**
 * A connection with its decrypted secret. Never logged. `custom` has its own credentials.
 * `authorisation` has the tokens of a person's consent to our app (`oauth-tokens.ts`) and no
 * secret: it is `""`.
 */
export interface LedgerConnection {
  readonly kind: string;
  readonly grantKind: GrantKind;
  readonly tenantId: string;
  readonly baseUrl: string;
  readonly identityUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /**
   * When a person last consented, as text that identifies the consent. Null while a new
   * consent is requested.
   */
  readonly consentedAt?: string | null;
}

/** How a connection is authorised: by its own credentials or by consent. */
type GrantKind = "custom" | "authorisation";

/**
 * The interval at which work checks a disconnected connection again. Reconnecting is up to a
 * person.
 */
const disconnectedPauseMs = 5 * 60_000;

const storedConnection = {
  ...pick(
    columns.ledgerConnection,
    "kind",
    "tenantId",
    "baseUrl",
    "identityUrl",
    "clientId",
    "encryptedSecret",
    "encryptionKeyId",
    "disconnectedReason",
    "pausedReason",
  ),
  grantKind: columns.ledgerConnection.grantKind.as<GrantKind>(),
};

const read = query({
  name: "read_connection",
  planned: "once",
  text: sql`
    SELECT
      ${columnsOf(sql`c`, storedConnection)},
      extract(epoch FROM a.connected_at)::text AS consented_at,
      ${msUntil(sql`c.paused_until`)} AS paused_ms
    FROM
      ledger_connections c
      LEFT JOIN ledger_consents a
        ON a.organisation_id = c.organisation_id AND c.grant_kind = 'authorisation'
    WHERE c.organisation_id = $1
  `,
  row: {
    ...storedConnection,
    /** In seconds since 1970. Null for a connection with its own credentials. */
    consentedAt: text.orNull(),
    pausedMs: float,
  },
});

/**
 * Returns the organisation's connection, or null if it has none. `pausedMs` is how long no call may
 * start, 0 if calls are allowed. A disconnected connection is paused too, until an owner connects
 * it again. That makes its waiting jobs due.
 */
export async function readConnection(pool: Pool, encryption: Encryption, organisationId: string) {
  const [row] = await read(pool, organisationId);
  if (row === undefined) return null;
  const { kind, grantKind, tenantId, baseUrl, identityUrl, clientId, consentedAt } = row;
  const { encryptedSecret: bytes, encryptionKeyId: keyId, disconnectedReason, pausedMs } = row;
  const clientSecret =
    bytes === null || keyId === null ? "" : encryption.decrypt({ keyId, bytes }, organisationId);
  const address = { kind, grantKind, tenantId, baseUrl, identityUrl, clientId };
  const connection: LedgerConnection = { ...address, clientSecret, consentedAt };
  const isDisconnected = disconnectedReason !== null;
  return {
    connection,
    isDisconnected,
    pausedMs: isDisconnected ? disconnectedPauseMs : pausedMs,
    pausedReason: disconnectedReason ?? row.pausedReason,
  };
}

/**
 * Pauses all calls of an organisation's connection. A longer pause that is already set stays, with
 * the new reason.
 */
export const pauseConnection: Command<[organisationId: string, pauseMs: number, reason: string]> =
  command({
    name: "pause_connection",
    text: sql`
      UPDATE ledger_connections
      SET
        paused_reason = $3,
        paused_until = greatest(paused_until, now() + $2 * interval '1 millisecond')
      WHERE organisation_id = $1
    `,
  });

/** Binds an organisation's connection to a pool. */
export function bindConnection(pool: Pool, encryption: Encryption, organisationId: string) {
  return {
    /** The connection with its secret decrypted, or null if there is none. */
    connection: () => readConnection(pool, encryption, organisationId),
    pause: binding(pool, organisationId)(pauseConnection),
  };
}
