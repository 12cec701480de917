/**
 * Prisma's typed client inside our own transactions. `db(tx).customer.update(…)` runs on the
 * connection of `tx`, so SQL and typed calls share one transaction, and only `inTransaction` begins
 * and commits it. Prisma never opens a connection and never commits (INVARIANT-7).
 */
import { strict as assert } from "node:assert";
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import { Prisma, PrismaClient } from "../../gen/prisma/client.ts";
import { nestedTransaction } from "./nested-transaction.ts";

/** Anything that runs statements: a pool, or a connection inside a transaction. */
export type Executor = Pick<pg.Pool, "query">;

/**
 * The typed client. `$transaction` is missing, because `inTransaction` is the one way to begin a
 * transaction. `findUnique` and `findUniqueOrThrow` are refused at run time: Prisma merges the ones
 * of one tick into one statement, which may belong to different transactions. Use `findFirst`.
 */
export type Db = Omit<PrismaClient, `$${string}`>;

/** The connection of the running call. Set for each call, never for code of a caller. */
const route = new AsyncLocalStorage<Executor>();

function currentExecutor(): Executor {
  const executor = route.getStore();
  assert(executor !== undefined, "a statement of Prisma without a connection: use db(…)");
  return executor;
}

/** The pool that Prisma's adapter is given. It has no connection, and routes each statement. */
function routedPool(): pg.Pool {
  const query = (...args: unknown[]) =>
    (currentExecutor().query as (...all: unknown[]) => unknown)(...args);
  const connect = async () => {
    const executor = currentExecutor();
    return executor instanceof pg.Pool ? executor.connect() : nestedTransaction(executor);
  };
  return Object.assign(new pg.Pool(), { query, connect }) as pg.Pool;
}

/**
 * How many parameters a named statement may have. Each length of a list is another statement, and
 * a connection keeps the plan of each named one until it ends.
 */
const mostNamedParameters = 40;

function statementName({ sql, args }: { readonly sql: string; readonly args: readonly unknown[] }) {
  if (args.length > mostNamedParameters) return undefined as unknown as string;
  return `prisma_${createHash("sha1").update(sql).digest("base64url")}`;
}

/**
 * The time limits of Prisma for a nested write in milliseconds. Prisma's limit is not atomic: it
 * rolls back between two statements of one call. It never comes first, because the server ends each
 * statement after ten seconds.
 */
const neverFirstMs = 600_000;

let client: PrismaClient | null = null;

/** Returns the client of the process. It loads 50 ms long, so it is created by its first call. */
function prisma(): PrismaClient {
  client ??= new PrismaClient({
    adapter: new PrismaPg(routedPool(), { statementNameGenerator: statementName }),
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
  return routed(executor, requireOrganisation);
}

/** The same for work that covers all organisations, such as operators' lists and cleanups. */
export function dbOfAll(executor: Executor): Db {
  return routed(executor, () => undefined);
}

let loading: Promise<unknown> | null = null;

/**
 * Loads the client of the process. Its first call takes tens of milliseconds, and seconds on a busy
 * machine. Await this before a transaction, so that none is idle that long with its locks.
 */
export async function loadClient(pool: pg.Pool): Promise<void> {
  loading ??= dbOfAll(pool).organisation.findFirst({ select: { id: true } });
  try {
    await loading;
  } catch (error) {
    loading = null;
    throw error;
  }
}

type Check = (model: string, method: string, args: unknown) => void;

function routed(executor: Executor, check: Check): Db {
  const models = new Map<string, unknown>();
  const handler: ProxyHandler<PrismaClient> = {
    get(target, name) {
      if (typeof name !== "string" || name.startsWith("$")) return undefined;
      if (!models.has(name)) models.set(name, routedModel(target, name, executor, check));
      return models.get(name);
    },
  };
  return new Proxy(prisma(), handler);
}

type Delegate = Readonly<Record<string, (args?: unknown) => PromiseLike<unknown>>>;

function routedModel(target: PrismaClient, name: string, executor: Executor, check: Check) {
  const delegate = (target as unknown as Readonly<Record<string, Delegate | undefined>>)[name];
  if (delegate === undefined) return undefined;
  const handler: ProxyHandler<Delegate> = {
    get(model, method) {
      const call = model[method as string];
      if (typeof call !== "function") return call;
      return (args?: unknown) => {
        assert(
          !String(method).startsWith("findUnique"),
          `use findFirst instead of ${name}.findUnique`,
        );
        check(name, String(method), args);
        // Prisma sends a statement when its promise is awaited, so it is awaited inside.
        return route.run(executor, async () => await call.call(model, args));
      };
    },
  };
  return new Proxy(delegate, handler);
}

/** The models with a column of the organisation, by their name in the client. */
const tenantModels = new Set(
  Object.values(Prisma.ModelName)
    .filter((model) => {
      const fields = (Prisma as unknown as Readonly<Record<string, object>>)[
        `${model}ScalarFieldEnum`
      ];
      return fields !== undefined && "organisationId" in fields;
    })
    .map((model) => model.charAt(0).toLowerCase() + model.slice(1)),
);

function requireOrganisation(model: string, method: string, args: unknown): void {
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
