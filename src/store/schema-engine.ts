/**
 * Prisma's schema engine as WebAssembly over one database, so that migrations need no download.
 * It is the same engine and the same `_prisma_migrations` table as those of `prisma migrate deploy`.
 */
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindMigrationAwareSqlAdapterFactory, DriverAdapterError } from "@prisma/driver-adapter-utils";
import type { MigrationList, SchemaEngine, SchemaFilter } from "@prisma/schema-engine-wasm/schema_engine_bg";
import pg from "pg";

/** No table and no enum of ours is made by someone else. */
export const wholeSchema: SchemaFilter = { externalTables: [], externalEnums: [] };

/** The folder of this project's migrations. */
export const projectMigrations = fileURLToPath(new URL("../../prisma/migrations", import.meta.url));

type Connection = Awaited<ReturnType<PrismaPg["connect"]>>;

type EngineModule = typeof import("@prisma/schema-engine-wasm/schema_engine_bg") & {
  __wbg_set_wasm(exports: object): void;
};

/** The part of the WebAssembly API that is used here; its types come only with those of browsers. */
interface WebAssemblyApi {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: { __wbindgen_start(): void } } }>;
}

let loading: Promise<EngineModule> | undefined;

/** The module is compiled once a process: 5 MB. */
function loadModule(): Promise<EngineModule> {
  loading ??= (async () => {
    const name = "@prisma/schema-engine-wasm/schema_engine_bg";
    const module = (await import("@prisma/schema-engine-wasm/schema_engine_bg")) as EngineModule;
    // The engine hands its panics to this global, by name.
    const registry = {
      message: "",
      get: () => registry.message,
      set_message: (text: string) => {
        registry.message = text;
      },
    };
    Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: registry });
    const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi };
    const bytes = await readFile(
      createRequire(import.meta.url)
        .resolve(name)
        .replace(/\.js$/, ".wasm"),
    );
    const { instance } = await WebAssembly.instantiate(bytes, { "./schema_engine_bg.js": module });
    module.__wbg_set_wasm(instance.exports);
    instance.exports.__wbindgen_start();
    return module;
  })();
  return loading;
}

/** Which database an engine works on; `shadow` is an empty one that it may fill and empty, needed only for differences. */
export interface EngineTarget {
  readonly databaseUrl: string;
  readonly shadowUrl?: string;
  /** Prisma schemas, `[path, content]`, when the work needs one. */
  readonly schemas?: [string, string][];
}

/** Runs `work` with an engine over the database and closes its connections; throws an Error with the engine's own message. */
export async function withSchemaEngine<T>(
  target: EngineTarget,
  work: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  const module = await loadModule();
  // The engine does not close the connections that it opens; they are closed here, so that the process can end.
  const opened: Connection[] = [];
  const factory = new PrismaPg({ connectionString: target.databaseUrl, max: 2 });
  const shadow =
    target.shadowUrl === undefined ? factory : new PrismaPg({ connectionString: target.shadowUrl, max: 2 });
  const connect = factory.connect.bind(factory);
  const connectToShadow = shadow === factory ? factory.connectToShadowDb.bind(factory) : shadow.connect.bind(shadow);
  const prepare = (connection: Connection): Connection => {
    opened.push(connection);
    connection.executeScript = (script) => executeScript(connection, script);
    return connection;
  };
  factory.connect = async () => prepare(await connect());
  factory.connectToShadowDb = async () => prepare(await connectToShadow());
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
    for (const connection of opened) await connection.dispose();
  }
}

/**
 * The whole script as one query, as Prisma's native engine sends it: PostgreSQL makes it one transaction.
 * The adapter's own way cuts it at every semicolon, which breaks function bodies and leaves half of a failed migration.
 */
async function executeScript(connection: Connection, script: string): Promise<void> {
  try {
    await connection.underlyingDriver().query(script);
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

/** The engine's message without the list of its own functions that follows it. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : JSON.stringify(error);
  return text.replace(/\n\s+0: [\s\S]*$/, "");
}

/** The migrations of a folder as the engine wants them; none when the folder does not exist. */
export async function readMigrations(folder: string): Promise<MigrationList> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
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
        return { path, migrationFile: { path: "migration.sql", content: { tag: "ok", value: content } as const } };
      }),
    ),
  };
}
