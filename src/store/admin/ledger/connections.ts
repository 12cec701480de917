/** Stores ledger connections. ADMIN-3. */

import { columns } from "../../../gen/columns.ts";
import { type LedgerConnection as ConnectionRecord, Prisma } from "../../../gen/prisma/client.ts";
import { databaseNow } from "../../database/clock.ts";
import type { Encryption } from "../../database/encryption.ts";
import {
  lockAuthorisation,
  lockName,
  lockOrganisation,
  orderedUpdate,
} from "../../database/lock-order.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { pick } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { type Executor, query } from "../../database/sql/statement.ts";
import { type LedgerConnection, readConnection } from "../../ledger-connection/connections.ts";
import { tokenPlaces } from "../../ledger-connection/oauth-tokens.ts";
import { type Actor, type Change, type Changed, type Changes, changed } from "../changes.ts";
import { createMappingStore } from "./account-mappings.ts";
import type { ConsentTokens } from "./consents.ts";

/** A connection without its secret. */
export type ConnectionView = Omit<ConnectionRecord, "encryptedSecret" | "encryptionKeyId">;

/**
 * Why a connection was not saved. `other_tenant`: customers exist, and their contacts belong to the
 * connected tenant. `taken`: the names of other organisations that are connected to the tenant.
 */
export type Unsaved =
  | { readonly unsaved: "other_tenant" }
  | { readonly unsaved: "taken"; readonly by: readonly string[] };

/** Whether the connection was not saved. */
export function isUnsaved(saved: ConnectionView | Unsaved): saved is Unsaved {
  return "unsaved" in saved;
}

/** The tokens of a connection by authorisation, and the ledger's own id of the connection. */
interface GrantedTokens extends ConsentTokens {
  readonly ledgerConnection: string;
}

/** Creates the connection store over changes. `encryption` is for the secrets. */
export function createConnectionStore(pool: Pool, changes: Changes, encryption: Encryption) {
  const { run } = changes;
  return {
    ...createMappingStore(pool, changes),
    /**
     * Returns the connection without its secret, or null if there is none. A pause that is over is
     * left out.
     */
    view: async (organisationId: string) => {
      const connection = await db(pool).ledgerConnection.findFirst({
        where: { organisationId },
        omit: { encryptedSecret: true, encryptionKeyId: true },
      });
      return connection && (await withoutPastPause(pool, connection));
    },
    /** The ledger's own id of a working connection by authorisation. Null if there is none. */
    inLedger: async (organisationId: string) => {
      const where = { organisationId };
      const authorisation = await db(pool).ledgerAuthorisation.findFirst({ where });
      return authorisation?.ledgerConnection ?? null;
    },
    /** Returns the connection with its decrypted secret, or null if there is none. */
    open: (organisationId: string) => readConnection(pool, encryption, organisationId),
    /**
     * Creates or replaces the connection and ends its pause. A connection by authorisation comes
     * with its tokens. One to the tenant that the organisation has is saved even if others have it
     * too.
     */
    save: (
      actor: Actor,
      organisationId: string,
      connection: LedgerConnection,
      granted?: GrantedTokens,
    ) => run(actor, (tx) => save(tx, encryption, organisationId, connection, granted)),
    /** The names of up to ten other organisations that are connected to the same tenant. */
    sharing: async (organisationId: string) => {
      const connection = await db(pool).ledgerConnection.findFirst({ where: { organisationId } });
      return connection === null ? [] : loadOthers(pool, organisationId, connection.tenantId);
    },
    /**
     * Ends the connection on our side: its secrets are deleted and its tenant is kept. Null if
     * there is none.
     */
    disconnect: (actor: Actor, organisationId: string, reason: string) =>
      run(actor, (tx) => disconnect(tx, organisationId, reason)),
  };
}

async function save(
  tx: Transaction,
  encryption: Encryption,
  organisationId: string,
  connection: LedgerConnection,
  granted: GrantedTokens | undefined,
): Promise<Changed<ConnectionView | Unsaved>> {
  const where = { organisationId };
  await lockConnection(tx, organisationId);
  const before = await db(tx).ledgerConnection.findFirst({ where });
  const isOtherKind = before !== null && before.kind !== connection.kind;
  if (before === null || isOtherKind || before.tenantId !== connection.tenantId) {
    if (before !== null && (await db(tx).customer.count({ where })) > 0)
      return changed({ unsaved: "other_tenant" });
    // Of two organisations that connect to a tenant at once the second one sees the first. ADMIN-7
    await lockName(tx, tenantLockClass, connection.tenantId.toLowerCase());
    const by = await loadOthers(tx, organisationId, connection.tenantId);
    if (by.length > 0) return changed({ unsaved: "taken", by });
  }
  const { clientSecret, ...shown } = connection;
  const secret = granted === undefined ? encryption.encrypt(clientSecret, organisationId) : null;
  const data = {
    ...shown,
    encryptedSecret: secret && new Uint8Array(secret.bytes),
    encryptionKeyId: secret?.keyId ?? null,
    ...callable,
  };
  const after = await db(tx).ledgerConnection.upsert({
    where,
    create: { ...data, organisationId },
    update: data,
  });
  if (granted === undefined) await db(tx).ledgerAuthorisation.deleteMany({ where });
  else await saveTokens(tx, encryption, organisationId, granted);
  // Another kind has other limits, and what was counted of this one says nothing about it.
  if (isOtherKind) await db(tx).ledgerBudget.deleteMany({ where });
  // The ledger's daily limit is read again. The calls so far still count.
  await db(tx).ledgerBudget.updateMany({
    where,
    data: { dayRemaining: null, dayObservedAt: null, othersCalls: 0 },
  });
  await resumeJobs(tx, organisationId);
  return changed(after, changeOf(before, after));
}

/** The class of the advisory lock on a tenant: "tena" in ASCII. */
const tenantLockClass = 0x74656e61;

/** SQL, because the index on tenants is over their lower case. */
const findOthers = query({
  name: "load_organisations_of_tenant",
  text: sql`
    SELECT o.name
    FROM
      ledger_connections c
      JOIN organisations o ON o.id = c.organisation_id
    WHERE lower(c.tenant_id) = lower($2) AND c.organisation_id <> $1 AND c.disconnected_at IS NULL
    ORDER BY o.name
    LIMIT 10
  `,
  row: pick(columns.organisation, "name"),
});

async function loadOthers(
  executor: Executor,
  organisationId: string,
  tenantId: string,
): Promise<readonly string[]> {
  const rows = await findOthers(executor, organisationId, tenantId);
  return rows.map(({ name }) => name);
}

/** A connection that is neither paused nor disconnected. */
const callable = {
  pausedUntil: null,
  pausedReason: null,
  disconnectedAt: null,
  disconnectedReason: null,
} as const;

/** Leaves out a pause that is over by the database's clock. */
async function withoutPastPause<View extends ConnectionView>(
  executor: Executor,
  connection: View,
): Promise<View> {
  if (connection.pausedUntil === null) return connection;
  if (connection.pausedUntil > (await databaseNow(executor))) return connection;
  return { ...connection, pausedUntil: null, pausedReason: null };
}

function changeOf(before: ConnectionRecord | null, after: ConnectionRecord): Change {
  const { organisationId } = after;
  const target = { targetKind: "ledger_connection", targetId: organisationId } as const;
  return { ...target, organisationId, before, after };
}

/**
 * Locks the organisation, then its tokens, then its connection. A refresh that ends an
 * authorisation takes them in the same order.
 */
async function lockConnection(tx: Transaction, organisationId: string): Promise<void> {
  await lockOrganisation(tx, organisationId);
  await lockAuthorisation(tx, organisationId);
}

/**
 * Makes the jobs due that the pause or the missing connection rescheduled. SQL, because the jobs
 * are locked by id and due by the server's clock.
 */
const resumeJobs = orderedUpdate({
  name: "resume_ledger_jobs",
  table: sql`ledger_jobs`,
  key: [sql`id`],
  where: sql`state = 'ready' AND not_before > now()`,
  set: sql`not_before = now()`,
});

async function saveTokens(
  tx: Transaction,
  encryption: Encryption,
  organisationId: string,
  { accessToken, refreshToken, freshMs, ledgerConnection }: GrantedTokens,
): Promise<void> {
  const access = encryption.encrypt(accessToken, tokenPlaces.access(organisationId));
  const refresh = encryption.encrypt(refreshToken, tokenPlaces.refresh(organisationId));
  const now = await databaseNow(tx);
  const data = {
    ledgerConnection,
    encryptedAccess: new Uint8Array(access.bytes),
    encryptedRefresh: new Uint8Array(refresh.bytes),
    encryptedPrevious: null,
    encryptionKeyId: access.keyId,
    freshUntil: new Date(now.getTime() + freshMs),
    leaseId: null,
    leaseUntil: null,
  };
  await db(tx).ledgerAuthorisation.upsert({
    where: { organisationId },
    create: { ...data, organisationId },
    update: { ...data, generation: { increment: 1 } },
  });
  // This invalidates a consent that was requested meanwhile.
  await db(tx).ledgerConsent.updateMany({
    where: { organisationId, usedAt: { not: null } },
    data: { connectedAt: now, failure: null, encryptedTokens: null, tenants: Prisma.DbNull },
  });
}

async function disconnect(
  tx: Transaction,
  organisationId: string,
  reason: string,
): Promise<Changed<ConnectionView | null>> {
  const where = { organisationId };
  await lockConnection(tx, organisationId);
  const before = await db(tx).ledgerConnection.findFirst({ where });
  if (before === null) return changed(before);
  if (before.disconnectedAt !== null) return changed(await withoutPastPause(tx, before));
  await db(tx).ledgerAuthorisation.deleteMany({ where });
  const after = await db(tx).ledgerConnection.update({
    where,
    data: {
      ...callable,
      encryptedSecret: null,
      encryptionKeyId: null,
      disconnectedAt: new Date(),
      disconnectedReason: reason,
    },
  });
  return changed(after, changeOf(before, after));
}
