/** Stores ledger connections and account mappings. */

import { type LedgerConnection as ConnectionRecord, Prisma } from "../../../gen/prisma/client.ts";
import type { Encryption } from "../../database/encryption.ts";
import { isId } from "../../database/ids.ts";
import type { Pool } from "../../database/pool.ts";
import {
  type ConnectionState,
  type LedgerConnection,
  readConnection,
} from "../../ledger-connection/connections.ts";
import { tokenPlaces } from "../../ledger-connection/oauth-tokens.ts";
import type { Actor, Changed, Changes, PrismaTransaction } from "../changes.ts";
import type { ConsentTokens } from "./consents.ts";

/** A connection without its secret. */
export type ConnectionView = Omit<ConnectionRecord, "encryptedSecret" | "encryptionKeyId">;

/** An account and a tax type of the ledger. Null uses the next wider mapping. */
export interface Mapping {
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}

/** The mapping of a plan, charge or meter. */
export interface CatalogueMapping extends Mapping {
  readonly id: string;
  readonly code: string;
  readonly name: string;
}

/** The tokens of a connection by authorisation, and the ledger's own id of the connection. */
export interface GrantedTokens extends ConsentTokens {
  readonly ledgerConnection: string;
}

/** All mappings of an organisation: its default, and those of single plans, charges and meters. */
export interface Mappings {
  readonly default: Mapping;
  readonly plans: readonly CatalogueMapping[];
  readonly charges: readonly CatalogueMapping[];
  readonly meters: readonly CatalogueMapping[];
}

/** The plan, charge, meter or organisation that a mapping belongs to. */
export interface MappingTarget {
  readonly kind: "organisation" | "plan" | "charge" | "meter";
  /** The id of the target. */
  readonly id: string;
}

/** Connections and mappings of organisations. */
export interface ConnectionStore {
  /** Returns the connection without its secret, or null if there is none. */
  view(organisationId: string): Promise<ConnectionView | null>;
  /**
   * Returns the ledger's own id of a working connection by authorisation, or null if there is none.
   */
  inLedger(organisationId: string): Promise<string | null>;
  /** Returns the connection with its decrypted secret, or null if there is none. */
  open(organisationId: string): Promise<ConnectionState | null>;
  /**
   * Creates or replaces the connection and ends its pause. A connection by authorisation comes with
   * its tokens. `other_tenant`: nothing was changed, because customers exist, and their contacts
   * belong to the connected tenant.
   */
  save(
    actor: Actor,
    organisationId: string,
    connection: LedgerConnection,
    granted?: GrantedTokens,
  ): Promise<ConnectionView | "other_tenant">;
  /**
   * Ends the connection on our side: its secrets are deleted and its tenant is kept. Null if there
   * is none.
   */
  disconnect(actor: Actor, organisationId: string, reason: string): Promise<ConnectionView | null>;
  mappings(organisationId: string): Promise<Mappings>;
  /** Sets and returns the mapping. Null if the plan, charge or meter does not exist. */
  map(
    actor: Actor,
    organisationId: string,
    target: MappingTarget,
    mapping: Mapping,
  ): Promise<Mapping | null>;
}

/**
 * Creates the connection store over changes. Without `sealing` no connection can be saved or
 * decrypted.
 */
export function createConnectionStore(
  pool: Pool,
  { prisma, run }: Changes,
  sealing: Encryption,
): ConnectionStore {
  return {
    view: (organisationId) =>
      prisma.ledgerConnection.findUnique({
        where: { organisationId },
        omit: { encryptedSecret: true, encryptionKeyId: true },
      }),
    inLedger: async (organisationId) => {
      const kept = await prisma.ledgerAuthorisation.findUnique({ where: { organisationId } });
      return kept?.ledgerConnection ?? null;
    },
    open: (organisationId) => readConnection(pool, sealing, organisationId),
    save: (actor, organisationId, connection, granted = undefined) =>
      run(actor, (transaction) =>
        save(transaction, sealing, organisationId, connection, granted ?? null),
      ),
    disconnect: (actor, organisationId, reason) =>
      run(actor, (transaction) => disconnect(transaction, organisationId, reason)),
    mappings: async (organisationId) => {
      const own = {
        organisationId,
        OR: [{ revenueAccount: { not: null } }, { taxType: { not: null } }],
      };
      const select = { id: true, code: true, name: true, revenueAccount: true, taxType: true };
      const orderBy = { code: "asc" } as const;
      const [organisation, plans, charges, meters] = await Promise.all([
        prisma.organisation.findUniqueOrThrow({ where: { id: organisationId } }),
        prisma.plan.findMany({ where: own, select, orderBy }),
        prisma.charge.findMany({ where: own, select, orderBy }),
        prisma.meter.findMany({ where: own, select, orderBy }),
      ]);
      return { default: mappingOf(organisation), plans, charges, meters };
    },
    map: async (actor, organisationId, target, mapping) =>
      isId(target.id)
        ? run(actor, (transaction) => map(transaction, organisationId, target, mapping))
        : null,
  };
}

async function save(
  transaction: PrismaTransaction,
  sealing: Encryption,
  organisationId: string,
  connection: LedgerConnection,
  granted: GrantedTokens | null,
): Promise<Changed<ConnectionView | "other_tenant">> {
  await lock(transaction, organisationId);
  const before = await transaction.ledgerConnection.findUnique({ where: { organisationId } });
  const isOtherKind = before !== null && before.kind !== connection.kind;
  if (before !== null && (isOtherKind || before.tenantId !== connection.tenantId)) {
    const customers = await transaction.customer.count({ where: { organisationId } });
    if (customers > 0) return { result: "other_tenant", changes: [] };
  }
  const { clientSecret, ...shown } = connection;
  const sealed = granted === null ? sealing.seal(clientSecret, organisationId) : null;
  const data = {
    ...shown,
    encryptedSecret: sealed && new Uint8Array(sealed.bytes),
    encryptionKeyId: sealed?.keyId ?? null,
    ...welcome,
  };
  const after = await transaction.ledgerConnection.upsert({
    where: { organisationId },
    create: { ...data, organisationId },
    update: data,
  });
  if (granted === null)
    await transaction.ledgerAuthorisation.deleteMany({ where: { organisationId } });
  else await saveTokens(transaction, sealing, organisationId, granted);
  // Another kind has other limits, and what was counted of this one says nothing about it.
  if (isOtherKind) await transaction.ledgerBudget.deleteMany({ where: { organisationId } });
  // The ledger's daily limit is read again. The calls so far still count.
  await transaction.ledgerBudget.updateMany({
    where: { organisationId },
    data: { dayRemaining: null, dayObservedAt: null, othersCalls: 0 },
  });
  // Jobs that the pause or the missing connection rescheduled are due again.
  await transaction.$executeRaw`UPDATE ledger_jobs o SET not_before = now() FROM (
      SELECT id FROM ledger_jobs WHERE organisation_id = ${organisationId}::uuid AND state = 'ready' AND not_before > now()
      ORDER BY id FOR NO KEY UPDATE) AS waiting
    WHERE o.organisation_id = ${organisationId}::uuid AND o.id = waiting.id`;
  const change = {
    targetKind: "ledger_connection",
    targetId: organisationId,
    organisationId,
    before,
    after,
  } as const;
  return { result: after, changes: [change] };
}

/** A connection that is neither paused nor disconnected. */
const welcome = {
  pausedUntil: null,
  pausedReason: null,
  disconnectedAt: null,
  disconnectedReason: null,
} as const;

/**
 * Locks the organisation, then its tokens, then its connection. A refresh that ends an
 * authorisation takes them in the same order.
 */
async function lock(transaction: PrismaTransaction, organisationId: string): Promise<void> {
  await transaction.$executeRaw`SELECT 1 FROM organisations WHERE id = ${organisationId}::uuid FOR NO KEY UPDATE`;
  await transaction.$executeRaw`SELECT 1 FROM ledger_authorisations WHERE organisation_id = ${organisationId}::uuid FOR UPDATE`;
}

async function saveTokens(
  transaction: PrismaTransaction,
  sealing: Encryption,
  organisationId: string,
  { accessToken, refreshToken, freshMs, ledgerConnection }: GrantedTokens,
): Promise<void> {
  const access = sealing.seal(accessToken, tokenPlaces.access(organisationId));
  const refresh = sealing.seal(refreshToken, tokenPlaces.refresh(organisationId));
  const data = {
    ledgerConnection,
    encryptedAccess: new Uint8Array(access.bytes),
    encryptedRefresh: new Uint8Array(refresh.bytes),
    encryptedPrevious: null,
    encryptionKeyId: access.keyId,
    freshUntil: new Date(Date.now() + freshMs),
    leaseId: null,
    leaseUntil: null,
    refreshedAt: new Date(),
  };
  await transaction.ledgerAuthorisation.upsert({
    where: { organisationId },
    create: { ...data, organisationId },
    update: { ...data, generation: { increment: 1 } },
  });
  // This invalidates a consent that was requested meanwhile.
  await transaction.ledgerConsent.updateMany({
    where: { organisationId, usedAt: { not: null } },
    data: { connectedAt: new Date(), failure: null, encryptedTokens: null, tenants: Prisma.DbNull },
  });
}

async function disconnect(
  transaction: PrismaTransaction,
  organisationId: string,
  reason: string,
): Promise<Changed<ConnectionView | null>> {
  await lock(transaction, organisationId);
  const before = await transaction.ledgerConnection.findUnique({ where: { organisationId } });
  if (before === null || before.disconnectedAt !== null) return { result: before, changes: [] };
  await transaction.ledgerAuthorisation.deleteMany({ where: { organisationId } });
  const after = await transaction.ledgerConnection.update({
    where: { organisationId },
    data: {
      ...welcome,
      encryptedSecret: null,
      encryptionKeyId: null,
      disconnectedAt: new Date(),
      disconnectedReason: reason,
    },
  });
  const change = {
    targetKind: "ledger_connection",
    targetId: organisationId,
    organisationId,
    before,
    after,
  } as const;
  return { result: after, changes: [change] };
}

async function map(
  transaction: PrismaTransaction,
  organisationId: string,
  { kind, id }: MappingTarget,
  mapping: Mapping,
): Promise<Changed<Mapping | null>> {
  // Makes creations that used the old mapping decide again. The organisation's row is the lock of
  // all its mappings.
  await transaction.organisation.update({
    where: { id: organisationId },
    data: { catalogueVersion: { increment: 1 } },
  });
  const where = { organisationId, id };
  const data = { ...mapping };
  const change = (before: object, after: object) =>
    ({ targetKind: "account_mapping", targetId: id, organisationId, before, after }) as const;
  const told = (before: Mapping, named: object = {}) => ({
    result: mapping,
    changes: [
      change(
        { target: kind, ...named, ...mappingOf(before) },
        { target: kind, ...named, ...mapping },
      ),
    ],
  });
  switch (kind) {
    case "organisation": {
      const before = await transaction.organisation.findUniqueOrThrow({
        where: { id: organisationId },
      });
      if (isSame(before, mapping)) return { result: mapping, changes: [] };
      await transaction.organisation.update({ where: { id: organisationId }, data });
      return told(before);
    }
    case "plan": {
      const before = await transaction.plan.findFirst({ where });
      if (before === null) return { result: null, changes: [] };
      if (isSame(before, mapping)) return { result: mapping, changes: [] };
      await transaction.plan.updateMany({ where, data });
      return told(before, { code: before.code });
    }
    case "charge": {
      const before = await transaction.charge.findFirst({ where });
      if (before === null) return { result: null, changes: [] };
      if (isSame(before, mapping)) return { result: mapping, changes: [] };
      await transaction.charge.updateMany({ where, data });
      return told(before, { code: before.code });
    }
    case "meter": {
      const before = await transaction.meter.findFirst({ where });
      if (before === null) return { result: null, changes: [] };
      if (isSame(before, mapping)) return { result: mapping, changes: [] };
      await transaction.meter.updateMany({ where, data });
      return told(before, { code: before.code });
    }
  }
}

function isSame(left: Mapping, right: Mapping): boolean {
  return left.revenueAccount === right.revenueAccount && left.taxType === right.taxType;
}

function mappingOf({ revenueAccount, taxType }: Mapping): Mapping {
  return { revenueAccount, taxType };
}
