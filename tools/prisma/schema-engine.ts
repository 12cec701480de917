/**
 * Runs Prisma's schema engine as WebAssembly over one database, because the command line downloads
 * its native one at the first use. It computes the difference of schema and migrations, and in
 * tests it diagnoses what `src/store/database/migrations` has applied.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  DriverAdapterError,
} from "@prisma/driver-adapter-utils";
import type {
  MigrationList,
  SchemaEngine,
  SchemaFilter,
} from "@prisma/schema-engine-wasm/schema_engine_bg";
import pg from "pg";

/** Every table and enum belongs to this schema. None is managed externally. */
export const wholeSchema: SchemaFilter = { externalTables: [], externalEnums: [] };

type Connection = Awaited<ReturnType<PrismaPg["connect"]>>;

type EngineModule = typeof import("@prisma/schema-engine-wasm/schema_engine_bg") & {
  __wbg_set_wasm(exports: object): void;
};

/**
 * The part of the WebAssembly API that is used here. Its types come only with those of browsers.
 */
interface WebAssemblyApi {
  instantiate(
    bytes: Uint8Array,
    imports: object,
  ): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>;
}

const schemaEngineFile = createRequire(import.meta.url)
  .resolve("@prisma/schema-engine-wasm/schema_engine_bg")
  .replace(/\.js$/, ".wasm");

let loading: Promise<EngineModule> | undefined;

/** The module (5 MB) is compiled once a process. */
function loadModule(): Promise<EngineModule> {
  loading ??= (async () => {
    const module = (await import("@prisma/schema-engine-wasm/schema_engine_bg")) as EngineModule;
    // The engine reports its panics to this global, by name, and then traps, which ends the
    // process.
    const registry = {
      message: "",
      get: () => registry.message,
      set_message: (text: string) => {
        registry.message = text;
        process.stderr.write(`${text}\n`);
      },
    };
    Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: registry });
    const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi };
    const bytes = await readFile(schemaEngineFile);
    const { instance } = await WebAssembly.instantiate(bytes, { "./schema_engine_bg.js": module });
    module.__wbg_set_wasm(instance.exports);
    instance.exports.__wbindgen_start();
    return module;
  })();
  return loading;
}

/**
 * The database that an engine works on. `shadow` is an empty database that it may fill and empty,
 * needed only for differences.
 */
interface EngineTarget {
  readonly databaseUrl: string;
  readonly shadowUrl?: string;
  /** Prisma schemas, `[path, content]`, if the work needs one. */
  readonly schemas?: [string, string][];
}

/**
 * Runs `work` with an engine over the database and closes its connections. Throws an Error with the
 * engine's own message.
 */
export async function withSchemaEngine<T>(
  target: EngineTarget,
  work: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  const module = await loadModule();
  // The pools are ours, because the engine closes only some of the connections that it opens.
  const pools: pg.Pool[] = [];
  const connect = (url: string): Promise<Connection> => {
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    // A pool has ended before its connections have. Dropping their database then ends them, and an
    // error without a listener would end the process.
    pool.on("connect", (client) => client.on("error", () => undefined));
    pools.push(pool);
    return connectTo(pool);
  };
  const factory = new PrismaPg(target.databaseUrl);
  factory.connect = () => connect(target.databaseUrl);
  factory.connectToShadowDb = () => {
    assert(
      target.shadowUrl !== undefined,
      "this work of the schema engine needs a shadow database",
    );
    return connect(target.shadowUrl);
  };
  try {
    const options = { datamodels: target.schemas };
    const engine = await module.SchemaEngine.new(
      options,
      () => undefined,
      bindMigrationAwareSqlAdapterFactory(factory),
    );
    try {
      return await work(engine);
    } finally {
      engine.free();
    }
  } catch (cause) {
    throw new Error(messageOf(cause), { cause });
  } finally {
    for (const pool of pools) await pool.end();
  }
}

/**
 * The object id of PostgreSQL's internal one-letter type "char", in which its catalogue stores
 * kinds, and of its type text.
 */
const charType = 18;
const textType = 25;

/**
 * Returns a connection that the engine can work with. The adapter does not know the type "char",
 * which the engine reads from the catalogue. Its columns pass the adapter as text. They are renamed
 * Character afterwards, as the engine expects.
 */
async function connectTo(pool: pg.Pool): Promise<Connection> {
  const charColumns = new WeakMap<unknown[], number[]>();
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<pg.QueryResult>;
  const retyped = async (...args: unknown[]): Promise<pg.QueryResult> => {
    const result = await query(...args);
    const columns = [...(result.fields ?? []).entries()].filter(
      ([, field]) => field.dataTypeID === charType,
    );
    for (const [, field] of columns) field.dataTypeID = textType;
    if (columns.length > 0)
      charColumns.set(
        result.rows,
        Array.from(columns, ([index]) => index),
      );
    return result;
  };
  pool.query = retyped as typeof pool.query;
  const connection = await new PrismaPg(pool).connect();
  const queryRaw = connection.queryRaw.bind(connection);
  connection.queryRaw = async (sql) => {
    const set = await queryRaw(sql);
    for (const index of charColumns.get(set.rows) ?? [])
      set.columnTypes[index] = ColumnTypeEnum.Character;
    return set;
  };
  connection.executeScript = (script) => executeScript(pool, script);
  return connection;
}

/**
 * Sends the whole script as one query, as Prisma's native engine does: PostgreSQL runs it in one
 * transaction. The adapter splits it at every semicolon, which breaks function bodies and leaves
 * half of a failed migration.
 */
async function executeScript(pool: pg.Pool, script: string): Promise<void> {
  try {
    await pool.query(script);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    throw new DriverAdapterError({
      kind: "postgres",
      code: error.code ?? "XX000",
      severity: error.severity ?? "ERROR",
      message: error.message,
      detail: error.detail,
      column: error.column,
      hint: error.hint,
    });
  }
}

/**
 * Returns the engine's message without the list of engine functions that follows it. Only the
 * migration's name is taken from that list.
 */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : JSON.stringify(error);
  const migration = /migration_name="([^"]+)"/.exec(text)?.[1];
  const message = text.replace(/\n\s+0: [\s\S]*$/, "");
  return migration === undefined ? message : `Migration ${migration} failed: ${message}`;
}

/** Returns the migrations of a folder in the engine's format. None if the folder does not exist. */
export async function readMigrations(folder: string): Promise<MigrationList> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    },
  );
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return {
    baseDir: resolve(folder),
    lockfile: {
      path: "migration_lock.toml",
      content: await readFile(join(folder, "migration_lock.toml"), "utf8").catch(() => null),
    },
    shadowDbInitScript: "",
    migrationDirectories: await Promise.all(
      names.sort().map(async (path) => {
        const content = await readFile(join(folder, path, "migration.sql"), "utf8");
        return {
          path,
          migrationFile: { path: "migration.sql", content: { tag: "ok", value: content } as const },
        };
      }),
    ),
  };
}
