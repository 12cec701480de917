/**
 * Reads the ledger connection of an organisation, and records the pause that its ledger requested.
 */

import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";

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
export type GrantKind = "custom" | "authorisation";

/**
 * The current state of a connection. `pausedMs` is how long no call may start, 0 if calls are
 * allowed. A disconnected connection is paused too, until an owner connects it again. That makes
 * its waiting jobs due.
 */
export interface ConnectionState {
  readonly connection: LedgerConnection;
  readonly isDisconnected: boolean;
  readonly pausedMs: number;
  readonly pausedReason: string | null;
}

/**
 * The interval at which work checks a disconnected connection again. Reconnecting is up to a
 * person.
 */
const disconnectedPauseMs = 5 * 60_000;

interface ConnectionRow {
  kind: string;
  grant_kind: GrantKind;
  tenant_id: string;
  base_url: string;
  identity_url: string;
  client_id: string;
  encrypted_secret: Buffer | null;
  encryption_key_id: string | null;
  consented_at: string | null;
  disconnected_reason: string | null;
  paused_ms: number;
  paused_reason: string | null;
}

/** Returns the organisation's connection, or null if it has none. */
export async function readConnection(
  pool: Pool,
  encryption: Encryption,
  organisationId: string,
): Promise<ConnectionState | null> {
  const { rows } = await pool.query<ConnectionRow>({
    name: "read_connection",
    text: `SELECT c.kind, c.grant_kind, c.tenant_id, c.base_url, c.identity_url, c.client_id, c.encrypted_secret, c.encryption_key_id,
        c.disconnected_reason, c.paused_reason, extract(epoch FROM a.connected_at)::text AS consented_at,
        greatest(0, coalesce(ceil(1000 * extract(epoch FROM c.paused_until - now())), 0))::float8 AS paused_ms
      FROM ledger_connections c LEFT JOIN ledger_consents a ON a.organisation_id = c.organisation_id
        AND c.grant_kind = 'authorisation'
      WHERE c.organisation_id = $1`,
    values: [organisationId],
  });
  const row = rows[0];
  if (row === undefined) return null;
  const {
    encrypted_secret: bytes,
    encryption_key_id: keyId,
    disconnected_reason: disconnected,
  } = row;
  const secret =
    bytes === null || keyId === null ? "" : encryption.decrypt({ keyId, bytes }, organisationId);
  return {
    connection: {
      kind: row.kind,
      grantKind: row.grant_kind,
      tenantId: row.tenant_id,
      baseUrl: row.base_url,
      identityUrl: row.identity_url,
      clientId: row.client_id,
      clientSecret: secret,
      consentedAt: row.consented_at,
    },
    isDisconnected: disconnected !== null,
    pausedMs: disconnected === null ? row.paused_ms : disconnectedPauseMs,
    pausedReason: disconnected ?? row.paused_reason,
  };
}

/** Pauses all calls of an organisation's connection. A longer pause that is already set stays. */
export async function pauseConnection(
  pool: Pool,
  organisationId: string,
  pauseMs: number,
  reason: string,
): Promise<void> {
  await pool.query({
    name: "pause_connection",
    text: `UPDATE ledger_connections SET paused_reason = $3,
        paused_until = greatest(paused_until, now() + $2 * interval '1 millisecond')
      WHERE organisation_id = $1`,
    values: [organisationId, pauseMs, reason],
  });
}
