/**
 * Stores API keys, operators and operators' tokens. Of keys and tokens only the hash is stored.
 * ACCESS-2, ADMIN-1.
 */
import { Refusal } from "../../domain/refusal.ts";
import type { ApiKey, Operator, OperatorToken } from "../../gen/prisma/client.ts";
import { isId } from "../database/ids.ts";
import { lockOperatorToken, lockOwnersAnd, lockRow } from "../database/lock-order.ts";
import type { PageRequest } from "../database/page.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { db, withoutUndefined } from "../database/prisma/client.ts";
import {
  type Actor,
  type Changed,
  type Changes,
  changed,
  changeOf,
  isTaken,
  refuseIfIdTaken,
} from "./changes.ts";
import { pageBySeq } from "./page-by-seq.ts";

/** A key or token to store: its hash, and the part of it that may be shown. */
interface NewCredential {
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
export interface Created<T> {
  readonly created: T;
  readonly isNew: boolean;
}

/** The fields of an operator that can change. Undefined leaves a field as it is. */
interface OperatorChanges {
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  readonly active?: boolean | undefined;
}

/** Creates the store of API keys over changes. Null stands for a key that does not exist. */
export function createApiKeyStore(pool: Pool, { run }: Changes) {
  return {
    create: (
      actor: Actor,
      organisationId: string,
      { hash, scopes, ...key }: NewCredential & { readonly scopes: readonly string[] },
    ) =>
      createOnce(
        () =>
          run(actor, async (tx) => {
            const data = { ...key, keyHash: new Uint8Array(hash), scopes: [...scopes] };
            const after = await db(tx).apiKey.create({ data: { ...data, organisationId } });
            return changed(after, changeOf("api_key", null, after));
          }),
        () => db(pool).apiKey.findFirst({ where: { organisationId, id: key.id } }),
      ),
    list: (organisationId: string, page: PageRequest) =>
      pageBySeq(page, ({ where, ...query }) =>
        db(pool).apiKey.findMany({ where: { ...where, organisationId }, ...query }),
      ),
    revoke: async (actor: Actor, organisationId: string, id: string) => {
      if (!isId(id)) return null;
      return run(actor, async (tx) => {
        await lockRow(tx, "api_keys", organisationId, id);
        const before = await db(tx).apiKey.findFirst({ where: { organisationId, id } });
        if (before === null || before.revokedAt !== null) return changed(before);
        const where = { organisationId, id };
        const after = await db(tx).apiKey.update({ where, data: { revokedAt: new Date() } });
        return changed(after, changeOf("api_key", before, after));
      });
    },
  };
}

/** Creates the store of operators over changes. Null stands for one that does not exist. */
export function createOperatorStore(pool: Pool, { run }: Changes) {
  const get = async (id: string) =>
    isId(id) ? db(pool).operator.findFirst({ where: { id } }) : null;
  const getToken = async (id: string) =>
    isId(id) ? db(pool).operatorToken.findFirst({ where: { id } }) : null;
  return {
    get,
    getToken,
    create: async (actor: Actor, data: Pick<OperatorRecord, "id" | "name" | "role">) => {
      const create = () => run(actor, (tx) => createOperator(tx, data));
      return (await createOnce(create, () => get(data.id))).created;
    },
    list: (page: PageRequest) => pageBySeq(page, (query) => db(pool).operator.findMany(query)),
    /** Refuses `invalid_state` for the last active owner: none would remain to undo it. */
    update: async (actor: Actor, id: string, changes: OperatorChanges) =>
      isId(id) ? run(actor, (tx) => updateOperator(tx, id, changes)) : null,
    createToken: (actor: Actor, operatorId: string, token: NewCredential) =>
      createOnce(
        () => run(actor, (tx) => createToken(tx, operatorId, token)),
        () => getToken(token.id),
      ),
    listTokens: (operatorId: string | null, page: PageRequest) =>
      pageBySeq(page, ({ where, ...query }) =>
        db(pool).operatorToken.findMany({
          where: operatorId === null ? where : { ...where, operatorId },
          ...query,
        }),
      ),
    revokeToken: async (actor: Actor, id: string) =>
      isId(id) ? run(actor, (tx) => revokeToken(tx, id)) : null,
  };
}

/** Creates the object, or finds the one that an earlier try with the same id created. */
async function createOnce<T>(
  create: () => Promise<T>,
  findEarlier: () => Promise<T | null>,
): Promise<Created<T>> {
  try {
    return { created: await create(), isNew: true };
  } catch (error) {
    const earlier = isTaken(error) ? await findEarlier() : null;
    if (earlier !== null) return { created: earlier, isNew: false };
    refuseIfIdTaken(error, "api_keys");
    throw error;
  }
}

/** Creates an operator in a transaction. */
export async function createOperator(
  tx: Transaction,
  data: Pick<OperatorRecord, "id" | "name" | "role">,
): Promise<Changed<OperatorRecord>> {
  const after = await db(tx).operator.create({ data });
  return changed(after, changeOf("operator", null, after));
}

/** Creates an operator's token in a transaction. */
export async function createToken(
  tx: Transaction,
  operatorId: string,
  { hash, ...token }: NewCredential,
): Promise<Changed<OperatorTokenRecord>> {
  const data = { ...token, operatorId, tokenHash: new Uint8Array(hash) };
  const after = await db(tx).operatorToken.create({ data });
  return changed(after, changeOf("operator_token", null, after));
}

async function updateOperator(
  tx: Transaction,
  id: string,
  changes: OperatorChanges,
): Promise<Changed<OperatorRecord | null>> {
  await lockOwnersAnd(tx, id);
  const before = await db(tx).operator.findFirst({ where: { id } });
  if (before === null) return changed(null);
  const after = { ...before, ...withoutUndefined(changes) };
  const wasOwner = before.active && before.role === "owner";
  if (wasOwner && !(after.active && after.role === "owner")) {
    const where = { role: "owner", active: true, id: { not: id } };
    if ((await db(tx).operator.count({ where })) === 0)
      throw new Refusal(
        "invalid_state",
        "This is the last active owner: create another one first.",
      );
  }
  const { name, role, active } = after;
  if (name === before.name && role === before.role && active === before.active)
    return changed(before);
  await db(tx).operator.update({ where: { id }, data: { name, role, active } });
  // Their end is for good: an operator who becomes active again signs in again.
  if (!active) await db(tx).consoleSession.deleteMany({ where: { operatorId: id } });
  return changed(after, changeOf("operator", before, after));
}

async function revokeToken(
  tx: Transaction,
  id: string,
): Promise<Changed<OperatorTokenRecord | null>> {
  await lockOperatorToken(tx, id);
  const before = await db(tx).operatorToken.findFirst({ where: { id } });
  if (before === null || before.revokedAt !== null) return changed(before);
  const data = { revokedAt: new Date() };
  const after = await db(tx).operatorToken.update({ where: { id }, data });
  await db(tx).consoleSession.deleteMany({ where: { tokenId: id } });
  return changed(after, changeOf("operator_token", before, after));
}
