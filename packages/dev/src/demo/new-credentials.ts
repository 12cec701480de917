/**
 * New credentials for the first data. Of keys and tokens only hashes are stored, so those that the
 * first start printed cannot be shown again. They are replaced, and stop working.
 */
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { type AdminStore, createAdminStore } from "../../../../src/store/admin/admin-store.ts";
import type { Actor } from "../../../../src/store/admin/changes.ts";
import { createFirstOperator, firstTokenName } from "../../../../src/store/admin/first-operator.ts";
import { createEncryption } from "../../../../src/store/database/encryption.ts";
import { newId } from "../../../../src/store/database/ids.ts";
import type { Page, PageRequest } from "../../../../src/store/database/page.ts";
import {
  generateApiKey,
  generateOperatorToken,
} from "../../../../src/transport/rpc/gate/api-key.ts";
import { postgresFolderOf, withDatabaseUrl } from "../postgres/database-url.ts";
import { localHost } from "../processes/ports.ts";
import { allScopes, type FirstData, firstKeyName, firstSubscriptionId } from "./first-data.ts";

/** The writes are the machine's, as those of `npm run operator`. */
const actor: Actor = {
  operatorId: null,
  operatorName: "the server's machine",
  tokenId: null,
  operation: "credentials",
  requestId: null,
};

/**
 * Replaces the credentials in the embedded database of `npm start`, which is started for it unless
 * it runs. Throws an Error that says why for any other database.
 */
export async function newCredentials(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<FirstData> {
  if (env.DATABASE_URL || env.DATABASE_URL_FILE) {
    throw new Error(
      "DATABASE_URL is set, and that database may not be the one of `npm start`. Nothing was " +
        "changed. An operator creates keys there: `billing api-keys create`.",
    );
  }
  const folder = postgresFolderOf(env);
  if ((await stat(join(folder, "cluster")).catch(() => undefined)) === undefined)
    throw new Error(`There is no database in ${folder} yet: \`npm start\` creates one.`);
  const data = await withDatabaseUrl(env, log, replaceCredentials);
  if (data !== null) return data;
  throw new Error(
    `The database in ${folder} has not the organisations of a first start. Nothing was changed. ` +
      "An operator creates keys: `billing api-keys create`.",
  );
}

/**
 * Replaces the keys of the first live organisation and the first sandbox, and the first owner's
 * token. Returns null, and changes nothing, if the database has not both organisations.
 */
export async function replaceCredentials(databaseUrl: string): Promise<FirstData | null> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  // No secret of a ledger is read or written.
  const store = createAdminStore(
    { reading: pool, writing: pool },
    createEncryption(randomBytes(32)),
  );
  try {
    const [live, sandbox] = [await findFirst(store, true), await findFirst(store, false)];
    if (live === null || sandbox === null) return null;
    const liveKey = await replaceKey(store, live, true);
    const testKey = await replaceKey(store, sandbox, false);
    const operatorToken = await replaceToken(store, pool);
    const subscriptionId = firstSubscriptionId(liveKey.id);
    return { liveKey: liveKey.value, testKey: testKey.value, operatorToken, subscriptionId };
  } finally {
    await pool.end();
  }
}

/** Returns the id of the oldest such organisation with a first key, on a ledger of this machine. */
async function findFirst(store: AdminStore, livemode: boolean): Promise<string | null> {
  const all = await everyOf((page) => store.organisations.list(null, page));
  for (const { id } of all.filter((one) => one.livemode === livemode).toReversed()) {
    const connection = await store.connections.view(id);
    if (connection === null || new URL(connection.baseUrl).hostname !== localHost) continue;
    const keys = await everyOf((page) => store.apiKeys.list(id, page));
    if (keys.some(({ name }) => name === firstKeyName)) return id;
  }
  return null;
}

/** Creates a key, then revokes the earlier ones of its name. */
async function replaceKey({ apiKeys }: AdminStore, organisationId: string, livemode: boolean) {
  const earlier = await everyOf((page) => apiKeys.list(organisationId, page));
  const { value, hash, hint } = generateApiKey(livemode);
  const key = { id: newId(), name: firstKeyName, hash, hint, expiresAt: null };
  await apiKeys.create(actor, organisationId, { ...key, scopes: allScopes });
  for (const { id, name, revokedAt } of earlier) {
    if (name === firstKeyName && revokedAt === null)
      await apiKeys.revoke(actor, organisationId, id);
  }
  return { id: key.id, value };
}

/** Creates a token of the first active owner, then revokes the earlier ones of its name. */
async function replaceToken({ operators }: AdminStore, pool: pg.Pool): Promise<string> {
  const { value, hash, hint } = generateOperatorToken();
  const owner = (await everyOf((page) => operators.list(page))).findLast(
    ({ active, role }) => active && role === "owner",
  );
  if (owner === undefined) {
    await createFirstOperator(pool, "First operator", { hash, hint });
    return value;
  }
  const earlier = await everyOf((page) => operators.listTokens(owner.id, page));
  const token = { id: newId(), name: firstTokenName, hash, hint, expiresAt: null };
  await operators.createToken(actor, owner.id, token);
  for (const { id, name, revokedAt } of earlier)
    if (name === firstTokenName && revokedAt === null) await operators.revokeToken(actor, id);
  return value;
}

/** Returns all objects of a list, newest first. */
async function everyOf<T extends { readonly id: string }>(
  list: (page: PageRequest) => Promise<Page<T>>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (;;) {
    const { data, hasMore } = await list({ limit: 100, startingAfter: all.at(-1)?.id ?? null });
    all.push(...data);
    if (!hasMore) return all;
  }
}
