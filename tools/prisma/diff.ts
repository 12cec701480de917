/** Finds how the schema of Prisma and the migrations differ, in scratch databases of a server. */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { migrationsFolder } from "../../src/assets.ts";
import { withClient, withDatabase } from "../../src/store/database/migrations/migrate.ts";
import { readMigrations, wholeSchema, withSchemaEngine } from "./schema-engine.ts";

/**
 * What `diff` needs: a server on which it may create and drop scratch databases, and the Prisma
 * schema that the migrations should produce. `migrationsFolder` is this project's unless a test
 * passes its own.
 */
interface DiffOptions {
  readonly serverUrl: string;
  readonly schemaFile: string;
  readonly migrationsFolder?: string;
}

/** Returns the SQL that leads from the migrations to the schema, or undefined if they agree. */
export async function diff(options: DiffOptions): Promise<string | undefined> {
  const migrations = await readMigrations(options.migrationsFolder ?? migrationsFolder());
  const files = [{ path: options.schemaFile, content: await readFile(options.schemaFile, "utf8") }];
  return withScratchDatabase(options.serverUrl, (databaseUrl) =>
    withScratchDatabase(options.serverUrl, async (shadowUrl) => {
      const result = await withSchemaEngine({ databaseUrl, shadowUrl }, (engine) =>
        engine.diff({
          from: { tag: "migrations", ...migrations },
          to: { tag: "schemaDatamodel", files },
          script: true,
          exitCode: true,
          filters: wholeSchema,
        }),
      );
      return result.exitCode === 2 ? (result.stdout ?? "") : undefined;
    }),
  );
}

async function withScratchDatabase<T>(
  serverUrl: string,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const name = `scratch_${randomUUID().replaceAll("-", "")}`;
  const admin = withDatabase(serverUrl, "postgres");
  const send = (statement: string) => withClient(admin, (client) => client.query(statement));
  await send(`CREATE DATABASE ${name} TEMPLATE template0`);
  try {
    return await work(withDatabase(serverUrl, name));
  } finally {
    await send(`DROP DATABASE ${name} WITH (FORCE)`);
  }
}
