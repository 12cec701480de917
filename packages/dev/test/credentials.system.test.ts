/**
 * `npm run credentials`: the first keys and the operator's token are replaced, and only in the
 * database of `npm start`.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { codeOf } from "../../../test/admin/services/request.ts";
import { perFile } from "../../../test/support/file-fixture.ts";
import { systemTest } from "../../../test/support/fixtures.ts";
import type { TestSystem } from "../../../test/support/system.ts";
import { createFirstData } from "../src/demo/first-data.ts";
import { replaceCredentials } from "../src/demo/new-credentials.ts";

const secretKey = randomBytes(32).toString("base64");
const program = fileURLToPath(new URL("../src/credentials.ts", import.meta.url));

const test = systemTest.extend("settings", perFile, { env: { SECRET_KEY: secretKey } });

/** The status of a read with a key. */
async function statusOf(system: TestSystem, key: string): Promise<number> {
  return (await system.ask("GET", "/v1/organisation", { key })).status;
}

const whoAmI = (system: TestSystem, key: string | null) =>
  system.askAdmin("OperatorService/GetCurrentOperator", { key: key ?? "" });

/** Runs the program; its exit code and what it wrote. */
function run(env: NodeJS.ProcessEnv): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [program], { env }, (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err }),
    ),
  );
}

test("a database without both organisations of a first start is left alone", async ({ system }) => {
  expect(await replaceCredentials(system.databaseUrl)).toBeNull();
  const { rows } = await system.pool.query("SELECT 1 FROM operators");
  expect(rows).toEqual([]);
});

test("new keys and a new token work, and the earlier ones no longer", async ({ system }) => {
  const { databaseUrl, demoUrl: demoLedgerUrl } = system;
  const first = await createFirstData({ databaseUrl, demoLedgerUrl, secretKey });
  if (first === null) throw new Error("the database was empty");
  const own = await system.organisation();
  const data = await replaceCredentials(databaseUrl);
  if (data === null) throw new Error("nothing was replaced");
  const keys = [first.liveKey, first.testKey, data.liveKey, data.testKey];
  const statuses = await Promise.all(keys.map((key) => statusOf(system, key)));
  expect(statuses).toEqual([401, 401, 200, 200]);
  expect([data.liveKey, data.testKey]).toEqual([
    expect.stringMatching(/^sk_live_/),
    expect.stringMatching(/^sk_test_/),
  ]);
  expect(codeOf(await whoAmI(system, first.operatorToken))).toBe("invalid_operator_token");
  expect((await whoAmI(system, data.operatorToken)).json.operator.role).toMatch(/OWNER$/);
  // A later organisation keeps its key.
  expect(await statusOf(system, own.apiKey)).toBe(200);
  const created = await system.ask("POST", "/v1/subscriptions", {
    key: data.liveKey,
    idempotencyKey: "first-try",
    body: { customer_code: "ACME", plan_code: "team", units: 10 },
  });
  expect([created.status, created.json.id]).toEqual([201, data.subscriptionId]);
  const { rows: entries } = await system.pool.query(
    "SELECT target_kind, operator_name FROM audit_log WHERE operation = 'credentials' ORDER BY seq",
  );
  const kinds = ["api_key", "api_key", "api_key", "api_key", "operator_token", "operator_token"];
  const operatorName = "the server's machine";
  expect(entries).toEqual(
    kinds.map((kind) => ({ target_kind: kind, operator_name: operatorName })),
  );
});

test("organisations on a ledger elsewhere keep their keys", async ({ system }) => {
  const { rows } = await system.pool.query("SELECT 1 FROM ledger_connections");
  expect(rows.length).toBeGreaterThan(1);
  const text = "UPDATE ledger_connections SET base_url = 'https://api.xero.com/api.xro/2.0'";
  await system.pool.query(text);
  const keysOf = async () =>
    (await system.pool.query("SELECT id, revoked_at FROM api_keys ORDER BY seq")).rows;
  const before = await keysOf();
  expect(await replaceCredentials(system.databaseUrl)).toBeNull();
  expect(await keysOf()).toEqual(before);
});

test("the command refuses another database, and a folder without one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "credentials-test-"));
  const { DATABASE_URL: _, DATABASE_URL_FILE: __, ...inherited } = process.env;
  const env = { ...inherited, DATA_FOLDER: folder };
  try {
    for (const setting of ["DATABASE_URL", "DATABASE_URL_FILE"]) {
      const elsewhere = await run({ ...env, [setting]: "postgresql://127.0.0.1:1/billing" });
      expect([elsewhere.code, elsewhere.out]).toEqual([1, ""]);
      expect(elsewhere.err).toMatch(/^DATABASE_URL is set, .* Nothing was changed\./);
    }
    const empty = await run(env);
    expect([empty.code, empty.out]).toEqual([1, ""]);
    expect(empty.err).toMatch(/^There is no database in .*: `npm start` creates one\.$/m);
    expect(await readdir(folder)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
