/** `npm run config`: each setting in force with its value and source, and no secret. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ledgers } from "../../../src/ledger/index.ts";
import { effectiveSettings } from "../../../src/main/settings/effective-settings.ts";

const script = fileURLToPath(new URL("../../../src/main/commands/config.ts", import.meta.url));

let folder: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "billing-config-"));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const profile = '[profile.default]\naddress = "temporal.example.com:7233"\napi_key = "hunter2"\n';
  env = {
    DATABASE_URL: "postgresql://user:hunter2@localhost:5432/billing?sslpassword=hunter2",
    SECRET_KEY_FILE: await file("key", `${Buffer.alloc(32, 7).toString("base64")}\n`),
    TEMPORAL_CONFIG_FILE: await file("profile.toml", profile),
    API_PORT: "9080",
    XERO_CLIENT_ID: "app",
    XERO_CLIENT_SECRET: "hunter2",
  };
});
afterAll(() => rm(folder, { recursive: true }));

test("each setting has its value, its source and no secret", () => {
  const found = effectiveSettings(env, ledgers);
  const of = (name: string) => found.find((one) => one.name === name);
  expect(of("API_PORT")).toEqual({ name: "API_PORT", value: "9080", source: "environment" });
  expect(of("ADMIN_PORT")).toEqual({ name: "ADMIN_PORT", value: "8081", source: "default" });
  expect(of("LOG_LEVEL")?.value).toBe("info");
  expect(of("SECRET_KEY")).toEqual({
    name: "SECRET_KEY",
    value: `(secret) of SECRET_KEY_FILE=${join(folder, "key")}`,
    source: "file",
  });
  expect(of("SECRET_KEYS_BEFORE")).toMatchObject({ value: null, source: "default" });
  expect(of("DATABASE_URL")?.value).toBe(
    "postgresql://user:secret@localhost:5432/billing?sslpassword=secret",
  );
  expect(of("TEMPORAL_ADDRESS")).toMatchObject({
    value: "temporal.example.com:7233",
    source: "file",
  });
  expect(of("TEMPORAL_API_KEY")).toMatchObject({ value: "(secret)", source: "file" });
  expect(of("XERO_CLIENT_SECRET")).toMatchObject({ value: "(secret)", source: "environment" });
  expect(of("XERO_REDIRECT_URL")?.value).toBe("http://localhost:8081/ledger/xero/callback");
  expect(JSON.stringify(found)).not.toContain("hunter2");

  const text = effectiveSettings({ TEMPORAL_TLS_CLIENT_KEY_DATA: "hunter2" }, ledgers);
  expect(text.find(({ value }) => value === "(secret)")?.name).toBe("TEMPORAL_TLS_CLIENT_KEY_DATA");
  expect(JSON.stringify(text)).not.toContain("hunter2");
});

/** Runs the command: its exit code and what it wrote. */
function run(settings: NodeJS.ProcessEnv) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [script], { env: settings }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

test("the command prints what is in force, unknown settings and all faults", async () => {
  const good = await run(env);
  expect(good.stdout).toMatch(/^API_PORT +9080 +environment$/m);
  expect([good.code, good.stderr]).toEqual([0, ""]);
  const bad = await run({ ...env, API_PORT: "x", LOG_LEVEL: "loud", API_PROT: "1" });
  expect(bad.code).toBe(1);
  expect(bad.stderr).toContain("API_PROT is no setting");
  expect(bad.stderr).toContain("API_PORT=x must be");
  expect(bad.stderr).toContain("LOG_LEVEL=loud must be");
  expect(bad.stdout + bad.stderr).not.toContain("hunter2");
  // No part starts without a key.
  const keyless = await run({ ...env, SECRET_KEY_FILE: "" });
  expect([keyless.code, keyless.stderr]).toEqual([
    1,
    "SECRET_KEY is not set: it encrypts the secrets of ledgers and webhooks.\n",
  ]);
});
