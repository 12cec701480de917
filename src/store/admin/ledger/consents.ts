/**
 * Stores the requests for consent to a ledger, one for each organisation, the newest. A state is
 * valid for one answer within its time. The operator who requested it must be an active owner with
 * the same valid token. Secrets are encrypted. ADMIN-4. SQL for the use of a state, which is a
 * claim by the database's clock.
 */

import { columns } from "../../../gen/columns.ts";
import { type LedgerConsent, Prisma } from "../../../gen/prisma/client.ts";
import { databaseNow } from "../../database/clock.ts";
import type { Encryption } from "../../database/encryption.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { pick, text } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { type Actor, type Changed, type Changes, changed } from "../changes.ts";

/** A request for consent as it is stored: the hash of its state, never the state. */
interface NewConsent
  extends Pick<LedgerConsent, "kind" | "operatorId" | "tokenId" | "redirectUrl" | "consoleOrigin"> {
  readonly stateHash: Uint8Array;
  readonly verifier: string;
  readonly lifeMs: number;
}

/** A request that is being answered, and the operator who started it. */
export type UsedConsent = NonNullable<Awaited<ReturnType<typeof use>>>;

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
interface ConsentView {
  readonly status: "pending" | "choose" | "connected" | "failed" | "expired";
  readonly tenants: readonly ConsentTenant[];
  readonly failure: string | null;
  readonly expiresAt: Date;
}

/** Creates the consent store over changes. The pool is for writes that no operator's call makes. */
export function createConsentStore(pool: Pool, { run }: Changes, encryption: Encryption) {
  return {
    /**
     * Starts a request and invalidates any earlier one. Returns the instant until which it is
     * valid.
     */
    begin: (actor: Actor, organisationId: string, consent: NewConsent) =>
      run(actor, (tx) => begin(tx, encryption, organisationId, consent)),
    /**
     * Uses up the state. Null if it is unknown, used or too old. Null also if its operator may no
     * longer connect ledgers, or the operator's token of that time is no longer valid. Rejects if
     * the secret cannot be decrypted, and records that as the failure.
     */
    use: (stateHash: Uint8Array) => use(pool, encryption, stateHash),
    /** Records that the request failed. */
    fail: (organisationId: string, failure: string) => fail(pool, organisationId, failure),
    /** Stores the tokens until one of the tenants is chosen. */
    saveChoice: async (
      organisationId: string,
      tokens: ConsentTokens,
      tenants: readonly ConsentTenant[],
      lifeMs: number,
    ) => {
      const now = (await databaseNow(pool)).getTime();
      const stored = { ...tokens, freshUntil: now + tokens.freshMs };
      const secret = encryption.encrypt(JSON.stringify(stored), places.tokens(organisationId));
      await db(pool).ledgerConsent.updateMany({
        where: { ...unanswered(organisationId), failure: null },
        data: {
          encryptedTokens: new Uint8Array(secret.bytes),
          encryptionKeyId: secret.keyId,
          tenants: tenants.map((tenant) => ({ ...tenant })),
          expiresAt: new Date(now + lifeMs),
        },
      });
    },
    /** Null if consent was never requested. */
    view: async (organisationId: string) => {
      const consent = await db(pool).ledgerConsent.findFirst({ where: { organisationId } });
      return consent && viewOf(consent, await databaseNow(pool));
    },
    /** Returns the tokens that wait for a choice, or null if there are none. */
    choice: async (organisationId: string) => {
      const consent = await db(pool).ledgerConsent.findFirst({ where: { organisationId } });
      return consent && choiceOf(consent, encryption, await databaseNow(pool));
    },
  };
}

/** Where each secret belongs: it cannot be decrypted for another place. */
const places = {
  verifier: (organisationId: string) => `${organisationId}/verifier`,
  tokens: (organisationId: string) => `${organisationId}/consent`,
} as const;

/** Selects the consent if its state was used and no connection came of it yet. */
function unanswered(organisationId: string) {
  return { organisationId, usedAt: { not: null }, connectedAt: null };
}

async function begin(
  tx: Transaction,
  encryption: Encryption,
  organisationId: string,
  { stateHash, verifier, lifeMs, redirectUrl, ...consent }: NewConsent,
): Promise<Changed<Date>> {
  const createdAt = await databaseNow(tx);
  const expiresAt = new Date(createdAt.getTime() + lifeMs);
  const secret = encryption.encrypt(verifier, places.verifier(organisationId));
  const requested = {
    ...consent,
    stateHash: new Uint8Array(stateHash),
    redirectUrl,
    encryptedVerifier: new Uint8Array(secret.bytes),
    encryptionKeyId: secret.keyId,
    createdAt,
    expiresAt,
  };
  const none = {
    encryptedTokens: null,
    tenants: Prisma.DbNull,
    usedAt: null,
    connectedAt: null,
    failure: null,
  };
  await db(tx).ledgerConsent.upsert({
    where: { organisationId },
    create: { ...requested, organisationId },
    update: { ...requested, ...none },
  });
  return changed(expiresAt, {
    targetKind: "ledger_connection",
    targetId: organisationId,
    organisationId,
    before: null,
    after: { authorisation: "requested", redirectUrl, expiresAt },
  });
}

const consentRow = pick(
  columns.ledgerConsent,
  "organisationId",
  "kind",
  "operatorId",
  "tokenId",
  "encryptionKeyId",
  "redirectUrl",
  "consoleOrigin",
);

// A claim, so it is SQL. A concurrent use waits for the row's lock and then finds the state used.
const useState = query({
  name: "use_ledger_consent",
  text: sql`
    UPDATE ledger_consents c
    SET
      used_at = now(),
      encrypted_verifier = NULL
    FROM
      (
        SELECT organisation_id, encrypted_verifier
        FROM ledger_consents
        WHERE state_hash = $1
        FOR UPDATE
      ) before,
      operators o, operator_tokens t
    WHERE
      c.organisation_id = before.organisation_id
      AND c.used_at IS NULL
      AND c.expires_at > now()
      AND o.id = c.operator_id
      AND o.active
      AND o.role = 'owner'
      AND t.id = c.token_id
      AND t.operator_id = o.id
      AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > now())
    RETURNING ${columnsOf(sql`c`, consentRow)}, o.name AS operator_name, before.encrypted_verifier
  `,
  row: {
    ...consentRow,
    operatorName: text,
    encryptedVerifier: columns.ledgerConsent.encryptedVerifier.present(),
  },
});

/**
 * The reported failure of a request that this process cannot decrypt, so that no operator waits for
 * its answer.
 */
const unreadable = "The stored request cannot be decrypted with our keys: start another one.";

async function use(pool: Pool, encryption: Encryption, stateHash: Uint8Array) {
  const [row] = await useState(pool, Buffer.from(stateHash));
  if (row === undefined) return null;
  const { encryptedVerifier: bytes, encryptionKeyId: keyId, ...consent } = row;
  const place = places.verifier(consent.organisationId);
  try {
    return { ...consent, verifier: encryption.decrypt({ keyId, bytes }, place) };
  } catch (error) {
    await fail(pool, consent.organisationId, unreadable);
    throw error;
  }
}

async function fail(pool: Pool, organisationId: string, failure: string): Promise<void> {
  await db(pool).ledgerConsent.updateMany({
    where: unanswered(organisationId),
    data: { failure, encryptedTokens: null, tenants: Prisma.DbNull },
  });
}

/** Returns the tokens that wait for the choice of a tenant by this operator. */
function choiceOf(consent: LedgerConsent, encryption: Encryption, now: Date) {
  const { organisationId, kind, operatorId, encryptedTokens, encryptionKeyId: keyId } = consent;
  const { status, tenants } = viewOf(consent, now);
  if (encryptedTokens === null || status !== "choose") return null;
  const secret = { keyId, bytes: Buffer.from(encryptedTokens) };
  const text = encryption.decrypt(secret, places.tokens(organisationId));
  const { freshUntil, ...tokens } = JSON.parse(text) as ConsentTokens & { freshUntil: number };
  const freshMs = Math.max(0, freshUntil - now.getTime());
  return { kind, operatorId, tokens: { ...tokens, freshMs }, tenants };
}

function viewOf(
  { tenants, failure, connectedAt, expiresAt }: LedgerConsent,
  now: Date,
): ConsentView {
  const view = { tenants: [], failure, expiresAt };
  if (connectedAt !== null) return { ...view, status: "connected" };
  if (failure !== null) return { ...view, status: "failed" };
  if (expiresAt <= now) return { ...view, status: "expired" };
  if (tenants === null) return { ...view, status: "pending" };
  return { ...view, status: "choose", tenants: tenantsOf(tenants) };
}

function tenantsOf(value: unknown): readonly ConsentTenant[] {
  return Array.isArray(value) ? (value as ConsentTenant[]) : [];
}
