/**
 * Stores API keys, operators and operators' tokens. Of keys and tokens only the hash is stored.
 * ACCESS-2, ADMIN-1.
 */
import type { ApiKey, Operator, OperatorToken, PrismaClient } from "../../gen/prisma/client.ts";
import { isId } from "../database/ids.ts";
import type { Page, PageRequest } from "../database/page.ts";
import {
  type Actor,
  type Changed,
  type Changes,
  isTaken,
  type PrismaTransaction,
} from "./changes.ts";
import { given } from "./organisations.ts";
import { pageBySeq } from "./page-by-seq.ts";

/** A key or token to store: its hash, and the part of it that may be shown. */
export interface NewCredential {
  readonly id: string;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly hint: string;
  readonly expiresAt: Date | null;
}

/** A stored API key, without its hash. */
export type ApiKeyRecord = Omit<ApiKey, "keyHash" | "seq">;

/** A stored token, without its hash. */
export type OperatorTokenRecord = Omit<OperatorToken, "tokenHash" | "seq">;

/** A stored operator. */
export type OperatorRecord = Omit<Operator, "seq">;

/**
 * A created object. `isNew` is false if an earlier try with the same id created it. The value of
 * that key or token cannot be recovered.
 */
export interface Made<T> {
  readonly made: T;
  readonly isNew: boolean;
}

/** An organisation's keys. Null stands for a key that does not exist. */
export interface ApiKeyStore {
  create(
    actor: Actor,
    organisationId: string,
    key: NewCredential & { readonly scopes: readonly string[] },
  ): Promise<Made<ApiKeyRecord>>;
  list(organisationId: string, page: PageRequest): Promise<Page<ApiKeyRecord>>;
  revoke(actor: Actor, organisationId: string, id: string): Promise<ApiKeyRecord | null>;
}

/** The fields of an operator that can change. Undefined leaves a field as it is. */
export interface OperatorChanges {
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  readonly active?: boolean | undefined;
}

/** Operators and their tokens. Null stands for one that does not exist. */
export interface OperatorStore {
  get(id: string): Promise<OperatorRecord | null>;
  create(
    actor: Actor,
    operator: Pick<OperatorRecord, "id" | "name" | "role">,
  ): Promise<OperatorRecord>;
  list(page: PageRequest): Promise<Page<OperatorRecord>>;
  /** `last_owner`: nothing was changed, because no active owner would remain to undo it. */
  update(
    actor: Actor,
    id: string,
    changes: OperatorChanges,
  ): Promise<OperatorRecord | "last_owner" | null>;
  getToken(id: string): Promise<OperatorTokenRecord | null>;
  createToken(
    actor: Actor,
    operatorId: string,
    token: NewCredential,
  ): Promise<Made<OperatorTokenRecord>>;
  listTokens(operatorId: string | null, page: PageRequest): Promise<Page<OperatorTokenRecord>>;
  revokeToken(actor: Actor, id: string): Promise<OperatorTokenRecord | null>;
}

/** Creates the store of API keys over changes. */
export function createApiKeyStore({ prisma, run }: Changes): ApiKeyStore {
  return {
    create: async (actor, organisationId, { hash, scopes, ...key }) => {
      const data = { ...key, organisationId, keyHash: new Uint8Array(hash), scopes: [...scopes] };
      try {
        const made = await run(actor, async (transaction) => {
          const after = await transaction.apiKey.create({ data });
          const change = {
            targetKind: "api_key",
            targetId: key.id,
            organisationId,
            before: null,
            after,
          } as const;
          return { result: after, changes: [change] };
        });
        return { made, isNew: true };
      } catch (error) {
        const earlier =
          isTaken(error) &&
          (await prisma.apiKey.findFirst({ where: { id: key.id, organisationId } }));
        if (!earlier) throw error;
        return { made: earlier, isNew: false };
      }
    },
    list: (organisationId, page) =>
      pageBySeq(page, {
        seqOf: (id) =>
          prisma.apiKey.findFirst({ where: { organisationId, id }, select: { seq: true } }),
        below: (seq, take) =>
          prisma.apiKey.findMany({
            where: { organisationId, ...given({ seq }) },
            orderBy: { seq: "desc" },
            take,
          }),
      }),
    revoke: async (actor, organisationId, id) => {
      if (!isId(id)) return null;
      return run(actor, async (transaction) => {
        await transaction.$executeRaw`SELECT 1 FROM api_keys
          WHERE organisation_id = ${organisationId}::uuid AND id = ${id}::uuid FOR NO KEY UPDATE`;
        const before = await transaction.apiKey.findFirst({ where: { organisationId, id } });
        if (before === null || before.revokedAt !== null) return { result: before, changes: [] };
        const after = await transaction.apiKey.update({
          where: { id },
          data: { revokedAt: new Date() },
        });
        const change = {
          targetKind: "api_key",
          targetId: id,
          organisationId,
          before,
          after,
        } as const;
        return { result: after, changes: [change] };
      });
    },
  };
}

/** Creates the store of operators over changes. */
export function createOperatorStore({ prisma, run }: Changes): OperatorStore {
  const get = async (id: string) =>
    isId(id) ? prisma.operator.findUnique({ where: { id } }) : null;
  const getToken = async (id: string) =>
    isId(id) ? prisma.operatorToken.findUnique({ where: { id } }) : null;
  return {
    get,
    getToken,
    create: async (actor, data) => {
      try {
        return await run(actor, (transaction) => createOperator(transaction, data));
      } catch (error) {
        const earlier = isTaken(error) ? await get(data.id) : null;
        if (earlier === null) throw error;
        return earlier;
      }
    },
    list: (page) =>
      pageBySeq(page, {
        seqOf: (id) => prisma.operator.findUnique({ where: { id }, select: { seq: true } }),
        below: (seq, take) =>
          prisma.operator.findMany({ where: given({ seq }), orderBy: { seq: "desc" }, take }),
      }),
    update: async (actor, id, changes) =>
      isId(id) ? run(actor, (transaction) => updateOperator(transaction, id, changes)) : null,
    createToken: async (actor, operatorId, token) => {
      try {
        const made = await run(actor, (transaction) => createToken(transaction, operatorId, token));
        return { made, isNew: true };
      } catch (error) {
        const earlier = isTaken(error) ? await getToken(token.id) : null;
        if (earlier === null) throw error;
        return { made: earlier, isNew: false };
      }
    },
    listTokens: (operatorId, page) => listTokens(prisma, operatorId, page),
    revokeToken: async (actor, id) =>
      isId(id) ? run(actor, (transaction) => revokeToken(transaction, id)) : null,
  };
}

/** Creates an operator in a transaction. */
export async function createOperator(
  transaction: PrismaTransaction,
  data: Pick<OperatorRecord, "id" | "name" | "role">,
) {
  const after = await transaction.operator.create({ data });
  const change = {
    targetKind: "operator",
    targetId: data.id,
    organisationId: null,
    before: null,
    after,
  } as const;
  return { result: after, changes: [change] };
}

/** Creates an operator's token in a transaction. */
export async function createToken(
  transaction: PrismaTransaction,
  operatorId: string,
  { hash, ...token }: NewCredential,
) {
  const data = { ...token, operatorId, tokenHash: new Uint8Array(hash) };
  const after = await transaction.operatorToken.create({ data });
  const change = {
    targetKind: "operator_token",
    targetId: token.id,
    organisationId: null,
    before: null,
    after,
  } as const;
  return { result: after, changes: [change] };
}

async function updateOperator(
  transaction: PrismaTransaction,
  id: string,
  changes: OperatorChanges,
): Promise<Changed<OperatorRecord | "last_owner" | null>> {
  // Locks all owners together. Otherwise two owners who deactivate each other could leave no active
  // owner.
  await transaction.$executeRaw`SELECT 1 FROM operators WHERE role = 'owner' OR id = ${id}::uuid ORDER BY id FOR NO KEY UPDATE`;
  const before = await transaction.operator.findUnique({ where: { id } });
  if (before === null) return { result: null, changes: [] };
  const after = { ...before, ...given(changes) };
  const wasOwner = before.active && before.role === "owner";
  if (wasOwner && !(after.active && after.role === "owner")) {
    const others = await transaction.operator.count({
      where: { role: "owner", active: true, id: { not: id } },
    });
    if (others === 0) return { result: "last_owner", changes: [] };
  }
  const { name, role, active } = after;
  if (name === before.name && role === before.role && active === before.active)
    return { result: before, changes: [] };
  await transaction.operator.update({ where: { id }, data: { name, role, active } });
  const change = {
    targetKind: "operator",
    targetId: id,
    organisationId: null,
    before,
    after,
  } as const;
  return { result: after, changes: [change] };
}

async function revokeToken(transaction: PrismaTransaction, id: string) {
  await transaction.$executeRaw`SELECT 1 FROM operator_tokens WHERE id = ${id}::uuid FOR NO KEY UPDATE`;
  const before = await transaction.operatorToken.findUnique({ where: { id } });
  if (before === null || before.revokedAt !== null) return { result: before, changes: [] };
  const after = await transaction.operatorToken.update({
    where: { id },
    data: { revokedAt: new Date() },
  });
  const change = {
    targetKind: "operator_token",
    targetId: id,
    organisationId: null,
    before,
    after,
  } as const;
  return { result: after, changes: [change] };
}

function listTokens(
  prisma: PrismaClient,
  operatorId: string | null,
  page: PageRequest,
): Promise<Page<OperatorTokenRecord>> {
  const own = operatorId === null ? {} : { operatorId };
  return pageBySeq(page, {
    seqOf: (id) => prisma.operatorToken.findFirst({ where: { ...own, id }, select: { seq: true } }),
    below: (seq, take) =>
      prisma.operatorToken.findMany({
        where: { ...own, ...given({ seq }) },
        orderBy: { seq: "desc" },
        take,
      }),
  });
}
