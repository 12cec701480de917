/**
 * Prisma's typed client inside our own transactions. `db(tx).customer.update(…)` runs on the
 * connection of `tx`, so SQL and typed calls share one transaction, and only `inTransaction` begins
 * and commits it. Prisma never opens a connection and never commits (INVARIANT-7).
 */

import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { PrismaPg } from "@prisma/adapter-pg";
import { Prisma, PrismaClient } from "../../../gen/prisma/client.ts";
import type { Pool } from "../pool.ts";
import type { Executor } from "../sql/statement.ts";
import { PrismaPool } from "./prisma-pool.ts";

/**
 * The calls of a model. `findUnique` and `findUniqueOrThrow` are missing: Prisma merges the ones of
 * one tick into one statement, which may belong to different transactions. Use `findFirst`.
 */
const methods = [
  "count",
  "create",
  "createMany",
  "delete",
  "deleteMany",
  "findFirst",
  "findFirstOrThrow",
  "findMany",
  "update",
  "updateMany",
  "upsert",
] as const;

type Method = (typeof methods)[number];

/** The models by their names in the client, which has its own methods under names with `$`. */
type ModelName = Exclude<keyof PrismaClient & string, `$${string}`>;

/**
 * The typed client. `$transaction` is missing, because `inTransaction` is the one way to begin a
 * transaction.
 */
export type Db = { readonly [Name in ModelName]: Pick<PrismaClient[Name], Method> };

/**
 * How many parameters a named statement may have. Each length of a list is another statement, and
 * a connection keeps the plan of each named one until it ends.
 */
const maxNamedParameters = 40;

function statementName({ sql, args }: { readonly sql: string; readonly args: readonly unknown[] }) {
  if (args.length > maxNamedParameters) return undefined as unknown as string;
  return `prisma_${createHash("sha1").update(sql).digest("base64url")}`;
}

/**
 * The time limits of Prisma for a nested write in milliseconds. Prisma's limit is not atomic: it
 * rolls back between two statements of one call. It never comes first, because the server ends each
 * statement after ten seconds.
 */
const neverFirstMs = 600_000;

const pool = new PrismaPool();

let client: PrismaClient | null = null;

/** Returns the client of the process. It loads 50 ms long, so it is created by its first call. */
function prisma(): PrismaClient {
  client ??= new PrismaClient({
    adapter: new PrismaPg(pool, { statementNameGenerator: statementName }),
    transactionOptions: { maxWait: neverFirstMs, timeout: neverFirstMs },
  });
  return client;
}

/**
 * Returns the typed client over a connection or a pool. Each call on a model with an organisation
 * must name it, in `where` or in `data` (ACCESS-8). A call without it throws before a statement is
 * sent.
 */
export function db(executor: Executor): Db {
  return Object.create(ofTenants, { executor: { value: executor } });
}

/** The same for work that covers all organisations, such as operators' lists and cleanups. */
export function dbOfAll(executor: Executor): Db {
  return Object.create(ofAll, { executor: { value: executor } });
}

let loading: Promise<unknown> | null = null;

/**
 * Loads the client of the process. Its first call takes tens of milliseconds, and seconds on a busy
 * machine. Await this before a transaction, so that none is idle that long with its locks.
 */
export async function loadClient(executor: Pool): Promise<void> {
  loading ??= dbOfAll(executor).organisation.findFirst({ select: { id: true } });
  try {
    await loading;
  } catch (error) {
    loading = null;
    throw error;
  }
}

type Check = (model: ModelName, method: Method, args: unknown) => void;

const modelNames = Object.values(Prisma.ModelName).map(
  (model) => (model.charAt(0).toLowerCase() + model.slice(1)) as ModelName,
);

/** Returns what typed clients inherit: each model, over their own executor. */
function modelsWith(check: Check): object {
  const models = modelNames.map((name) => {
    const get = function (this: { readonly executor: Executor }) {
      return callsOf(name, this.executor, check);
    };
    return [name, { get }];
  });
  return Object.defineProperties({}, Object.fromEntries(models));
}

type Call = (args?: unknown) => Promise<unknown>;

/** The calls of a model over an executor. */
function callsOf(name: ModelName, executor: Executor, check: Check): Record<string, Call> {
  const model = prisma()[name] as unknown as Readonly<Record<Method, Call>>;
  const calls = methods.map((method) => {
    const call: Call = (args) => {
      check(name, method, args);
      // Prisma sends a statement when its promise is awaited, so it is awaited inside.
      return pool.run(executor, async () => await model[method](args));
    };
    return [method, call];
  });
  return Object.fromEntries(calls);
}

const ofTenants = modelsWith(requireOrganisation);
const ofAll = modelsWith(() => undefined);

/** The models with a column of the organisation. */
const tenantModels = new Set(
  modelNames.filter((name) => {
    const model = name.charAt(0).toUpperCase() + name.slice(1);
    const enums = Prisma as unknown as Readonly<Record<string, object | undefined>>;
    return "organisationId" in (enums[`${model}ScalarFieldEnum`] ?? {});
  }),
);

function requireOrganisation(model: ModelName, method: Method, args: unknown): void {
  if (!tenantModels.has(model)) return;
  const { where, data, create } = (args ?? {}) as Readonly<Record<string, unknown>>;
  const written = method.startsWith("create") ? [data].flat() : [where];
  if (method === "upsert") written.push(create);
  for (const one of written)
    assert(namesOrganisation(one), `${model}.${method} without an organisation`);
}

/** Whether a filter or record names the organisation, itself or by a compound key. */
function namesOrganisation(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { organisationId, organisation } = value as Readonly<Record<string, unknown>>;
  if (typeof organisationId === "string") return true;
  if (typeof organisation === "object" && organisation !== null) return true;
  return Object.entries(value).some(
    ([name, member]) =>
      name.includes("organisationId_") && typeof member === "object" && namesOrganisation(member),
  );
}

/** Removes undefined members. Those fields stay as they are, or take their defaults. */
export function withoutUndefined<T extends object>(
  members: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
