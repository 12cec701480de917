/**
 * Stores the encrypted tokens of connections by authorisation, shared by all processes. A process
 * that refreshes them holds a lease while it calls the ledger, outside of any transaction. A
 * process that lost its lease saves nothing. LEDGER-6.
 */

import type { Encryption } from "../database/encryption.ts";
import { newId } from "../database/ids.ts";
import type { Pool } from "../database/pool.ts";

/**
 * The access token in use. `freshMs` is how much longer it may be used. `generation` rises with
 * each refresh.
 */
export interface StoredTokens {
  readonly generation: string;
  readonly accessToken: string;
  readonly freshMs: number;
}

/** The lease of a refresh, with the refresh token and the previous one. */
export interface RefreshLease {
  readonly leaseId: string;
  readonly refreshToken: string;
  readonly previous: string | null;
}

/** The result of a refresh. `used` is the refresh token that was exchanged for it. */
export interface FreshTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly used: string;
  readonly freshMs: number;
}

/** The tokens of one organisation. */
export interface LedgerTokens {
  /** Null if there are no tokens, or the connection is disconnected. */
  read(): Promise<StoredTokens | null>;
  /** Null if another process has the lease, or the tokens have another generation by now. */
  take(generation: string, leaseMs: number): Promise<RefreshLease | null>;
  /** False if the lease was lost. */
  save(leaseId: string, tokens: FreshTokens): Promise<boolean>;
  release(leaseId: string): Promise<void>;
  /**
   * Ends the connection on our side, because the ledger no longer accepts its refresh token. Does
   * nothing if the lease was lost.
   */
  disconnect(leaseId: string): Promise<void>;
}

/** The reason that operators read for a connection that the ledger ended. */
export const endedByLedger =
  "The ledger no longer takes our authorisation (invalid_grant): an owner must authorise the connection again.";

/** The places that the encrypted tokens are bound to. */
export const tokenPlaces = {
  refresh: (organisationId: string) => `${organisationId}/refresh`,
  access: (organisationId: string) => `${organisationId}/access`,
} as const;

const readText = `SELECT a.generation, a.encrypted_access, a.encryption_key_id,
    greatest(0, floor(1000 * extract(epoch FROM a.fresh_until - now())))::float8 AS fresh_ms
  FROM ledger_authorisations a JOIN ledger_connections c USING (organisation_id)
  WHERE a.organisation_id = $1 AND c.disconnected_at IS NULL`;

const takeText = `UPDATE ledger_authorisations SET lease_id = $3, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE organisation_id = $1 AND generation = $2 AND (lease_until IS NULL OR lease_until <= clock_timestamp())
  RETURNING encrypted_refresh, encrypted_previous, encryption_key_id`;

const saveText = `UPDATE ledger_authorisations SET generation = generation + 1, encrypted_access = $3, encrypted_refresh = $4,
    encrypted_previous = $5, encryption_key_id = $6, fresh_until = clock_timestamp() + $7 * interval '1 millisecond',
    refreshed_at = clock_timestamp(), lease_id = NULL, lease_until = NULL
  WHERE organisation_id = $1 AND lease_id = $2`;

const releaseText = `UPDATE ledger_authorisations SET lease_id = NULL, lease_until = NULL
  WHERE organisation_id = $1 AND lease_id = $2`;

const disconnectText = `WITH ended AS (
    DELETE FROM ledger_authorisations WHERE organisation_id = $1 AND lease_id = $2 RETURNING organisation_id)
  UPDATE ledger_connections SET disconnected_at = now(), disconnected_reason = $3
  WHERE organisation_id IN (SELECT organisation_id FROM ended)`;

/** Creates the token store of an organisation over a pool. */
export function createLedgerTokens(
  pool: Pick<Pool, "query">,
  sealing: Encryption,
  organisationId: string,
): LedgerTokens {
  const refreshPlace = tokenPlaces.refresh(organisationId);
  const accessPlace = tokenPlaces.access(organisationId);
  return {
    read: async () => {
      const { rows } = await pool.query<{
        generation: string;
        encrypted_access: Buffer;
        encryption_key_id: string;
        fresh_ms: number;
      }>({ name: "read_ledger_tokens", text: readText, values: [organisationId] });
      const row = rows[0];
      if (row === undefined) return null;
      const sealed = { keyId: row.encryption_key_id, bytes: row.encrypted_access };
      const accessToken = sealing.open(sealed, accessPlace);
      return { generation: row.generation, accessToken, freshMs: row.fresh_ms };
    },
    take: async (generation, leaseMs) => {
      const leaseId = newId();
      const { rows } = await pool.query<{
        encrypted_refresh: Buffer;
        encrypted_previous: Buffer | null;
        encryption_key_id: string;
      }>({
        name: "take_ledger_refresh",
        text: takeText,
        values: [organisationId, generation, leaseId, leaseMs],
      });
      const row = rows[0];
      if (row === undefined) return null;
      const open = (bytes: Buffer) =>
        sealing.open({ keyId: row.encryption_key_id, bytes }, refreshPlace);
      const { encrypted_refresh: refresh, encrypted_previous: previous } = row;
      return {
        leaseId,
        refreshToken: open(refresh),
        previous: previous === null ? null : open(previous),
      };
    },
    save: async (leaseId, { accessToken, refreshToken, used, freshMs }) => {
      const access = sealing.seal(accessToken, accessPlace);
      const [refresh, previous] = [refreshToken, used].map(
        (token) => sealing.seal(token, refreshPlace).bytes,
      );
      const { rowCount } = await pool.query({
        name: "save_ledger_tokens",
        text: saveText,
        values: [organisationId, leaseId, access.bytes, refresh, previous, access.keyId, freshMs],
      });
      return rowCount === 1;
    },
    release: async (leaseId) => {
      await pool.query({
        name: "release_ledger_refresh",
        text: releaseText,
        values: [organisationId, leaseId],
      });
    },
    disconnect: async (leaseId) => {
      const values = [organisationId, leaseId, endedByLedger];
      await pool.query({ name: "disconnect_ledger", text: disconnectText, values });
    },
  };
}
