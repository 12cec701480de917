/**
 * Stores the requests for consent to a ledger, one for each organisation, the newest. A state is
 * valid for one answer within its time. The operator who requested it must be an active owner with
 * the same valid token. Secrets are encrypted. ADMIN-4.
 */

import { Prisma } from "../../../gen/prisma/client.ts";
import type { Encryption } from "../../database/encryption.ts";
import type { Pool } from "../../database/pool.ts";
import type { Actor, Changes } from "../changes.ts";

/** A request for consent as it is stored: the hash of its state, never the state. */
export interface ConsentToAsk {
  /** The kind of ledger. */
  readonly kind: string;
  readonly operatorId: string;
  readonly tokenId: string;
  readonly stateHash: Uint8Array;
  readonly verifier: string;
  readonly redirectUrl: string;
  readonly lifeMs: number;
}

/** A request that is being answered, and the operator who started it. */
export interface AskedConsent {
  readonly organisationId: string;
  readonly kind: string;
  readonly operatorId: string;
  readonly operatorName: string;
  readonly tokenId: string;
  readonly verifier: string;
  readonly redirectUrl: string;
}

/** The tokens of a consent. `freshMs` is how long the access token may be used. */
export interface ConsentTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly freshMs: number;
}

/**
 * An organisation of the ledger that the tokens reach, and the ledger's own id of that connection.
 */
export interface ConsentTenant {
  readonly connectionId: string;
  readonly tenantId: string;
  readonly name: string;
}

/** The current state of an organisation's newest consent. */
export interface ConsentView {
  readonly status: "pending" | "choose" | "connected" | "failed" | "expired";
  readonly tenants: readonly ConsentTenant[];
  readonly failure: string | null;
  readonly expiresAt: Date;
}

/** Consents of organisations. */
export interface ConsentStore {
  /**
   * Starts a request and invalidates any earlier one. Returns the instant until which it is valid.
   */
  begin(actor: Actor, organisationId: string, consent: ConsentToAsk): Promise<Date>;
  /**
   * Uses up the state. Null if it is unknown, used or too old. Null also if its operator may no
   * longer connect ledgers, or the operator's token of that time is no longer valid. Rejects if the
   * secret cannot be decrypted, and records that as the failure.
   */
  use(stateHash: Uint8Array): Promise<AskedConsent | null>;
  /** Records that the request failed. */
  fail(organisationId: string, failure: string): Promise<void>;
  /** Stores the tokens until one of the tenants is chosen. */
  keepChoice(
    organisationId: string,
    tokens: ConsentTokens,
    tenants: readonly ConsentTenant[],
    lifeMs: number,
  ): Promise<void>;
  /** Null if consent was never requested. */
  view(organisationId: string): Promise<ConsentView | null>;
  /** Returns the tokens that wait for a choice, or null if there are none. */
  choice(organisationId: string): Promise<{
    readonly kind: string;
    readonly operatorId: string;
    readonly tokens: ConsentTokens;
    readonly tenants: readonly ConsentTenant[];
  } | null>;
}

const places = {
  verifier: (organisationId: string) => `${organisationId}/verifier`,
  tokens: (organisationId: string) => `${organisationId}/consent`,
} as const;

// A concurrent use waits for the row's lock and then finds the state used.
const useText = `UPDATE ledger_consents c SET used_at = now(), encrypted_verifier = NULL
  FROM (SELECT organisation_id, encrypted_verifier FROM ledger_consents WHERE state_hash = $1 FOR UPDATE) asked, operators o,
    operator_tokens t
  WHERE c.organisation_id = asked.organisation_id AND c.used_at IS NULL AND c.expires_at > now()
    AND o.id = c.operator_id AND o.active AND o.role = 'owner'
    AND t.id = c.token_id AND t.operator_id = o.id AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
  RETURNING c.organisation_id, c.operator_id, o.name AS operator_name, c.token_id, asked.encrypted_verifier, c.encryption_key_id,
    c.redirect_url, c.kind`;

const choiceText = `UPDATE ledger_consents SET encrypted_tokens = $2, tenants = $3, encryption_key_id = $4,
    expires_at = now() + $5 * interval '1 millisecond'
  WHERE organisation_id = $1 AND used_at IS NOT NULL AND connected_at IS NULL AND failure IS NULL`;

const failText = `UPDATE ledger_consents SET failure = $2, encrypted_tokens = NULL, tenants = NULL
  WHERE organisation_id = $1 AND used_at IS NOT NULL AND connected_at IS NULL`;

interface UsedRow {
  organisation_id: string;
  kind: string;
  operator_id: string;
  operator_name: string;
  token_id: string;
  encrypted_verifier: Buffer;
  encryption_key_id: string;
  redirect_url: string;
}

/**
 * The reported failure of a request that this process cannot decrypt, so that no operator waits for
 * its answer.
 */
const unopened = "What was kept of this question cannot be opened with our keys: begin anew.";

/** Creates the consent store over changes. The pool is for writes that no operator's call makes. */
export function createConsentStore(
  pool: Pool,
  { prisma, run }: Changes,
  sealing: Encryption,
): ConsentStore {
  const find = (organisationId: string) =>
    prisma.ledgerConsent.findUnique({ where: { organisationId } });
  const fail = async (organisationId: string, failure: string): Promise<void> => {
    await pool.query({ text: failText, values: [organisationId, failure] });
  };
  return {
    begin: (
      actor,
      organisationId,
      { kind, operatorId, tokenId, stateHash, verifier, redirectUrl, lifeMs },
    ) =>
      run(actor, async (transaction) => {
        const now = new Date();
        const expiresAt = new Date(now.getTime() + lifeMs);
        const sealed = sealing.seal(verifier, places.verifier(organisationId));
        const asked = {
          kind,
          operatorId,
          tokenId,
          stateHash: new Uint8Array(stateHash),
          redirectUrl,
          encryptedVerifier: new Uint8Array(sealed.bytes),
          encryptionKeyId: sealed.keyId,
          createdAt: now,
          expiresAt,
        };
        const none = {
          encryptedTokens: null,
          tenants: Prisma.DbNull,
          usedAt: null,
          connectedAt: null,
          failure: null,
        };
        const where = { organisationId };
        await transaction.ledgerConsent.upsert({
          where,
          create: { ...asked, organisationId },
          update: { ...asked, ...none },
        });
        const after = { authorisation: "asked for", redirectUrl, expiresAt };
        const target = {
          targetKind: "ledger_connection",
          targetId: organisationId,
          organisationId,
        } as const;
        return { result: expiresAt, changes: [{ ...target, before: null, after }] };
      }),
    use: async (stateHash) => {
      const { rows } = await pool.query<UsedRow>({
        text: useText,
        values: [Buffer.from(stateHash)],
      });
      const row = rows[0];
      if (row === undefined) return null;
      const { organisation_id: organisationId, redirect_url: redirectUrl } = row;
      const sealed = { keyId: row.encryption_key_id, bytes: row.encrypted_verifier };
      const who = {
        operatorId: row.operator_id,
        operatorName: row.operator_name,
        tokenId: row.token_id,
      };
      try {
        return {
          organisationId,
          kind: row.kind,
          ...who,
          verifier: sealing.open(sealed, places.verifier(organisationId)),
          redirectUrl,
        };
      } catch (error) {
        await fail(organisationId, unopened);
        throw error;
      }
    },
    fail,
    keepChoice: async (organisationId, tokens, tenants, lifeMs) => {
      const kept = { ...tokens, freshUntil: Date.now() + tokens.freshMs };
      const { keyId, bytes } = sealing.seal(JSON.stringify(kept), places.tokens(organisationId));
      await pool.query({
        text: choiceText,
        values: [organisationId, bytes, JSON.stringify(tenants), keyId, lifeMs],
      });
    },
    view: async (organisationId) => {
      const row = await find(organisationId);
      return row === null ? null : viewOf(row, new Date());
    },
    choice: async (organisationId) => {
      const row = await find(organisationId);
      if (
        row === null ||
        row.encryptedTokens === null ||
        viewOf(row, new Date()).status !== "choose"
      )
        return null;
      const sealed = { keyId: row.encryptionKeyId, bytes: Buffer.from(row.encryptedTokens) };
      const { freshUntil, ...tokens } = JSON.parse(
        sealing.open(sealed, places.tokens(organisationId)),
      ) as ConsentTokens & {
        freshUntil: number;
      };
      const freshMs = Math.max(0, freshUntil - Date.now());
      return {
        kind: row.kind,
        operatorId: row.operatorId,
        tokens: { ...tokens, freshMs },
        tenants: tenantsOf(row.tenants),
      };
    },
  };
}

function viewOf(
  row: {
    readonly tenants: unknown;
    readonly failure: string | null;
    readonly connectedAt: Date | null;
    readonly expiresAt: Date;
  },
  now: Date,
): ConsentView {
  const { failure, connectedAt, expiresAt } = row;
  const told = { tenants: [], failure, expiresAt };
  if (connectedAt !== null) return { ...told, status: "connected" };
  if (failure !== null) return { ...told, status: "failed" };
  if (expiresAt <= now) return { ...told, status: "expired" };
  if (row.tenants === null) return { ...told, status: "pending" };
  return { ...told, status: "choose", tenants: tenantsOf(row.tenants) };
}

function tenantsOf(value: unknown): readonly ConsentTenant[] {
  return Array.isArray(value) ? (value as ConsentTenant[]) : [];
}
