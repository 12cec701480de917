/**
 * Readiness is true: of the database's schema, of Temporal, and of a process that is ending.
 */
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import pg from "pg";
import { describe, expect } from "vitest";
import { migrationsFolder } from "../../../src/assets.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../src/gen/proto/grpc/health/v1/health_pb.ts";
import { migrate } from "../../../src/store/database/migrations/migrate.ts";
import { createSchemaCheck } from "../../../src/store/database/migrations/schema-state.ts";
import { freshDatabase } from "../../support/database.ts";
import { perFile } from "../../support/file-fixture.ts";
import { systemTest } from "../../support/fixtures.ts";
import { freePort } from "../../support/ports.ts";
import { type TestSystem, until } from "../../support/system.ts";

const projectMigrations = migrationsFolder();
const test = systemTest.extend("settings", perFile, { without: ["worker"], areSeparate: true });

const urls = (system: TestSystem) => [system.baseUrl, system.adminUrl];

/** The status and the report over a new connection, as a balancer may request them. */
function readyz(baseUrl: string): Promise<[number | undefined, unknown]> {
  return new Promise((resolve, reject) => {
    get(`${baseUrl}/readyz`, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("end", () => resolve([response.statusCode, JSON.parse(text)]));
    }).once("error", reject);
  });
}

const health = (baseUrl: string) => createClient(Health, createGrpcTransport({ baseUrl }));

async function rows(
  databaseUrl: string,
  text: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** A database without a schema, whose name nothing else uses. */
async function emptyDatabase() {
  const database = await freshDatabase();
  await rows(database.url, "DROP SCHEMA public CASCADE");
  await rows(database.url, "CREATE SCHEMA public");
  return database;
}

describe("the check of the schema", () => {
  const needed = async () =>
    (await readdir(projectMigrations)).filter((name) => /^\d/.test(name)).sort();

  async function stateOf(databaseUrl: string, migrationsFolder = projectMigrations) {
    const settings = { databaseUrl, migrationsFolder, onError: () => undefined };
    const { check, close } = createSchemaCheck(settings);
    return check().finally(close);
  }

  test("names what it found and what it needs, and lets newer migrations be", async () => {
    const names = await needed();
    const newest = names.at(-1);
    const database = await emptyDatabase();
    const needs = `This process needs migration ${newest}; the newest one found in the database is`;
    expect(await stateOf(database.url)).toBe(`${needs} none`);

    await migrate(database.url);
    expect(await stateOf(database.url)).toBeNull();
    const later = await mkdtemp(join(tmpdir(), "billing-migrations-"));
    await cp(projectMigrations, later, { recursive: true });
    await cp(join(later, String(newest)), join(later, "29980101000000_next"), { recursive: true });
    expect(await stateOf(database.url, later)).toBe(
      "This process needs migration 29980101000000_next; the newest one found in the database " +
        `is ${newest}`,
    );
    await rm(later, { recursive: true });
    await rows(
      database.url,
      `INSERT INTO _prisma_migrations
         (id, checksum, migration_name, finished_at, applied_steps_count)
       VALUES ('1', '', '29990101000000_newer', now(), 1)`,
    );
    expect(await stateOf(database.url)).toBeNull();

    // A migration that failed, or was taken back, is not there.
    for (const change of ["finished_at = NULL", "finished_at = now(), rolled_back_at = now()"]) {
      await rows(
        database.url,
        `UPDATE _prisma_migrations SET ${change} WHERE migration_name = '${newest}'`,
      );
      expect(await stateOf(database.url)).toBe(`${needs} 29990101000000_newer`);
    }
    await database.drop();
  });

  test("names what its role may not read, and rejects without a database", async ({ system }) => {
    const database = await freshDatabase();
    const role = `reader_${Date.now()}`;
    await rows(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'reader'`);
    const url = new URL(database.url);
    [url.username, url.password] = [role, "reader"];
    expect(await stateOf(url.href)).toBe(
      "The role of DATABASE_URL may not read _prisma_migrations",
    );
    await database.drop();
    await rows(system.databaseUrl, `DROP ROLE ${role}`);
    await expect(stateOf(database.url)).rejects.toThrow("does not exist");
  });
});

test("a process is not ready on either port until its database is migrated", async ({ system }) => {
  const database = await emptyDatabase();
  await system.api.stop();
  const started = system.api.start({ DATABASE_URL: database.url });
  // If a step below fails, the test shows that step, not the start.
  started.catch(() => undefined);
  const both = () => Promise.all(urls(system).map((url) => readyz(url).catch(() => [null, null])));
  // The first check of a process that is still loading may be too late for an answer.
  const notReady = await until("both ports have checked", async () => {
    const answers = await both();
    return (
      answers.every(([, report]) => /"temporal":"ok".*"reasons"/.test(JSON.stringify(report))) &&
      answers
    );
  });
  const reason = expect.stringMatching(
    /^This process needs migration \d+_\w+; the newest .* is none$/,
  );
  const expected = {
    status: "not_ready",
    checks: { database: "failed", temporal: "ok" },
    reasons: { database: reason },
  };
  expect(notReady).toEqual([
    [503, expected],
    [503, expected],
  ]);
  for (const url of urls(system))
    expect((await health(url).check({})).status).toBe(Status.NOT_SERVING);
  await migrate(database.url);
  await started;
  await until("both ports are ready", async () =>
    (await both()).every(([status]) => status === 200),
  );
  for (const url of urls(system)) expect((await health(url).check({})).status).toBe(Status.SERVING);
  await system.api.stop();
  await database.drop();
  await system.api.start();
});

test("a process without Temporal is ready and reports Temporal separately", async ({ system }) => {
  await system.api.stop();
  await system.api.start({ TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` });
  for (const url of urls(system)) {
    await expect
      .poll(() => readyz(url))
      .toEqual([200, { status: "ready", checks: { database: "ok", temporal: "failed" } }]);
  }
  await system.api.stop();
  await system.api.start();
});

test("the check has one separate connection for all callers", async ({ system }) => {
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => readyz(urls(system)[index % 2] ?? "")),
  );
  const text =
    "SELECT count(*)::int FROM pg_stat_activity " +
    "WHERE application_name = 'readiness' AND datname = current_database()";
  expect(await rows(system.databaseUrl, text)).toEqual([{ count: 1 }]);
});

describe("a process that is ending", () => {
  test("says so at once, and answers until DRAIN_SECONDS are over", async ({ system }) => {
    await system.api.stop();
    await system.api.start({ DRAIN_SECONDS: "300" });
    const { apiKey: key } = await system.organisation();
    const heard: number[] = [];
    const watches = urls(system).map(async (url) => {
      // They end with the process.
      const watching = async () => {
        for await (const { status } of health(url).watch({})) heard.push(status);
      };
      await watching().catch(() => undefined);
    });
    await until("both watches have begun", async () => heard.length === 2);
    const gone = system.api.stop();
    await until("both watches have heard", async () => heard.length === 4);
    expect(heard.slice(2)).toEqual([Status.NOT_SERVING, Status.NOT_SERVING]);
    for (const url of urls(system)) {
      expect(await readyz(url)).toMatchObject([503, { status: "stopping" }]);
      expect((await health(url).check({})).status).toBe(Status.NOT_SERVING);
    }
    expect((await system.ask("GET", "/v1/organisation", { key })).status).toBe(200);
    await system.api.kill();
    await gone;
    await Promise.all(watches);
  });

  test("closes its ports when they are over", async ({ system }) => {
    await system.api.start({ DRAIN_SECONDS: "1" });
    await system.api.stop();
    for (const url of urls(system)) await expect(readyz(url)).rejects.toThrow("ECONNREFUSED");
    await system.api.start();
  });
});
