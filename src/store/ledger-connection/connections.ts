/**
 * Reads the ledger connection of an organisation, and records the pause that its ledger requested.
 */
import { db } from "../database/client.ts";

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

/** Returns the organisation's connection, or null if it has none. */
export async function readConnection(
  pool: Pool,
  encryption: Encryption,
  organisationId: string,
): Promise<ConnectionState | null> {
  const row = await db(pool).ledgerConnection.findFirst({ where: { organisationId } });
  if (row === null) return null;
  const grantKind = row.grantKind === "authorisation" ? "authorisation" : "custom";
  const consentedAt = grantKind === "custom" ? null : await readConsent(pool, organisationId);
  const { encryptedSecret, encryptionKeyId: keyId, disconnectedReason, pausedUntil } = row;
  const clientSecret =
    encryptedSecret === null || keyId === null
      ? ""
      : encryption.decrypt({ keyId, bytes: Buffer.from(encryptedSecret) }, organisationId);
  const { kind, tenantId, baseUrl, identityUrl, clientId } = row;
  const address = { kind, grantKind, tenantId, baseUrl, identityUrl, clientId } as const;
  const isDisconnected = disconnectedReason !== null;
  const pausedMs = Math.max(0, (pausedUntil?.getTime() ?? 0) - Date.now());
  return {
    connection: { ...address, clientSecret, consentedAt },
    isDisconnected,
    pausedMs: isDisconnected ? disconnectedPauseMs : pausedMs,
    pausedReason: disconnectedReason ?? row.pausedReason,
  };
}

/** When a person last consented, in seconds since 1970 with three decimals, or null. */
async function readConsent(pool: Pool, organisationId: string): Promise<string | null> {
  const consent = await db(pool).ledgerConsent.findFirst({
    where: { organisationId },
    select: { connectedAt: true },
  });
  const connectedAt = consent?.connectedAt ?? null;
  return connectedAt === null ? null : (connectedAt.getTime() / 1_000).toFixed(3);
}

/**
 * Pauses all calls of an organisation's connection. A longer pause that is already set stays, with
 * the new reason.
 */
export async function pauseConnection(
  pool: Pool,
  organisationId: string,
  pauseMs: number,
  reason: string,
): Promise<void> {
  const pausedUntil = new Date(Date.now() + pauseMs);
  const { count } = await db(pool).ledgerConnection.updateMany({
    where: { organisationId, OR: [{ pausedUntil: null }, { pausedUntil: { lt: pausedUntil } }] },
    data: { pausedUntil, pausedReason: reason },
  });
  if (count > 0) return;
  await db(pool).ledgerConnection.updateMany({
    where: { organisationId },
    data: { pausedReason: reason },
  });
}

/** What work that calls one organisation's ledger does with its connection. */
export interface ConnectionAccess {
  /** The connection with its secret decrypted, or null if there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
}

/** Binds an organisation's connection to a pool. */
export function bindConnection(
  pool: Pool,
  encryption: Encryption,
  organisationId: string,
): ConnectionAccess {
  return {
    connection: () => readConnection(pool, encryption, organisationId),
    pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
  };
}
