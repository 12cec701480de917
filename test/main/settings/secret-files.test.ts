/** Secrets from files: each by `NAME_FILE`, and faults that never show a content. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import {
  fileSettingOf,
  resolveSecrets,
  secretNames,
  withSecrets,
} from "../../../src/main/settings/secret-files.ts";

const database = "postgresql://user:hunter2@localhost:5432/billing";
const key = Buffer.alloc(32, 7);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "billing-secrets-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

test("every secret is read from its NAME_FILE without the final line break", async () => {
  const names = secretNames(ledgers);
  expect(names).toEqual(
    expect.arrayContaining(["DATABASE_URL", "TEMPORAL_API_KEY", "XERO_WEBHOOK_KEY"]),
  );
  const env: NodeJS.ProcessEnv = {};
  for (const [index, name] of names.entries())
    env[fileSettingOf(name)] = await file(name, `hunter2 of ${name}${index % 2 ? "\r\n" : "\n"}`);
  const { env: resolved, paths, faults } = resolveSecrets(env, names);
  expect(faults).toEqual([]);
  for (const name of names) {
    expect(resolved[name]).toBe(`hunter2 of ${name}`);
    expect(paths.get(name)).toBe(join(folder, name));
  }
});

test("only one final line break is dropped: a secret may end with white space", async () => {
  const path = await file("spaces", "hunter2 \n\n");
  expect(resolveSecrets({ SECRET_KEY_FILE: path }, ["SECRET_KEY"]).env.SECRET_KEY).toBe(
    "hunter2 \n",
  );
});

test("readConfig takes the database, keys and ledger secrets from files", async () => {
  const config = readConfig({
    DATABASE_URL_FILE: await file("url", `${database}\n`),
    SECRET_KEY_FILE: await file("key", `${key.toString("base64")}\n`),
    SECRET_KEYS_BEFORE_FILE: await file("before", Buffer.alloc(32, 8).toString("base64")),
    XERO_CLIENT_ID: "app",
    XERO_CLIENT_SECRET_FILE: await file("client", "hunter2\n"),
  });
  expect(config.database.url).toBe(database);
  expect(config.secretKey).toEqual(key);
  expect(config.secretKeysBefore).toEqual([Buffer.alloc(32, 8)]);
  expect(config.ledger.apps.xero?.clientSecret).toBe("hunter2");
});

test("a secret that is set twice, or whose file is empty or unreadable, is a fault", async () => {
  const [twice, empty] = [await file("twice", "hunter2"), await file("empty", "\n")];
  const missing = join(folder, "missing");
  const env = {
    SECRET_KEY: "hunter2",
    SECRET_KEY_FILE: twice,
    TEMPORAL_API_KEY_FILE: empty,
    DATABASE_URL_FILE: missing,
  };
  const { faults } = resolveSecrets(env, secretNames(ledgers));
  expect(faults.toSorted()).toEqual([
    `DATABASE_URL_FILE=${missing} cannot be read.`,
    "SECRET_KEY and SECRET_KEY_FILE are both set: set one of them.",
    `TEMPORAL_API_KEY_FILE=${empty} is empty.`,
  ]);
  expect(() => readConfig(env)).toThrow(`DATABASE_URL_FILE=${missing} cannot be read.`);
  expect(() => readConfig(env)).not.toThrow("hunter2");
});

test("a wrong secret of a file is a fault without its content", async () => {
  const path = await file("wrong", "hunter2");
  const read = () => readConfig({ DATABASE_URL: database, SECRET_KEY_FILE: path });
  expect(read).toThrow("SECRET_KEY must be 32 random bytes in base64");
  expect(read).not.toThrow("hunter2");
});

test("a program that starts others passes the secrets on and not their files", async () => {
  const env = withSecrets({ DATABASE_URL_FILE: await file("passed", "hunter2"), OTHER: "1" });
  expect(env).toMatchObject({ DATABASE_URL: "hunter2", OTHER: "1" });
  expect(env.DATABASE_URL_FILE).toBeUndefined();
  expect(() => withSecrets({ SECRET_KEY_FILE: "/nowhere" })).toThrow(
    "SECRET_KEY_FILE=/nowhere cannot be read.",
  );
});
