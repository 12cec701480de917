/**
 * A setting with which a process cannot start stops it with one line that names the setting, and no
 * stack.
 */
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { certificate } from "../transport/http/tls-fixture.ts";

/** Nothing listens on port 1: the ports are opened all the same. */
const nowhere = "postgresql://nobody@127.0.0.1:1/nothing";

/** Also against settings of the shell that runs the tests. */
const key = Buffer.alloc(32, 7).toString("base64");
const defaults = { DATABASE_URL: nowhere, SECRET_KEY: key, API_PORT: "0", ADMIN_PORT: "0" };

let folder: string;
let taken: Server;
let takenPort: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "billing-pem-"));
  taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  takenPort = String((taken.address() as AddressInfo).port);
});
afterAll(async () => {
  await new Promise((resolve) => taken.close(resolve));
  await rm(folder, { recursive: true });
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** Runs a program until it ends by itself: its exit code, its standard error and its log. */
async function run(
  script: string,
  env: Record<string, string>,
): Promise<{ code: number | null; output: string; log: string }> {
  const path = fileURLToPath(new URL(`../../src/${script}`, import.meta.url));
  const child = spawn(process.execPath, [path], {
    env: { ...process.env, ...defaults, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let log = "";
  child.stdout.on("data", (chunk) => {
    log += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    output += String(chunk);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output, log };
}

describe("a port that is taken names its setting, and a misspelt setting is a warning", () => {
  test.each([
    ["the API", "server.ts", "API_PORT"],
    ["the admin port", "server.ts", "ADMIN_PORT"],
    ["the worker", "worker.ts", "WORKER_PORT"],
  ])("of %s", async (_, script, setting) => {
    const env = { [setting]: takenPort, API_HOTS: "x" };
    const { code, output, log } = await run(script, env);
    expect(output).toBe(
      `Port ${takenPort} on 127.0.0.1 is taken by another process: set ${setting} to a free one\n`,
    );
    expect(code).toBe(1);
    expect(log).toContain("API_HOTS is no setting of this service and has no effect.");
  });
});

test("two taken ports are named at once, and so is one port for both", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const otherPort = String((other.address() as AddressInfo).port);
  const { code, output } = await run("server.ts", { API_PORT: takenPort, ADMIN_PORT: otherPort });
  await new Promise((resolve) => other.close(resolve));
  expect([code, output]).toEqual([
    1,
    `Port ${takenPort} on 127.0.0.1 is taken by another process: set API_PORT to a free one\n` +
      `Port ${otherPort} on 127.0.0.1 is taken by another process: set ADMIN_PORT to a free one\n`,
  ]);
  const both = () => readConfig({ DATABASE_URL: nowhere, API_PORT: "8081" });
  expect(both).toThrow("API_PORT and ADMIN_PORT are both 8081: change one of them.");
});

test("a taken port and misspelt settings are named in addition to wrong settings", async () => {
  const { code, output } = await run("server.ts", {
    DATABASE_URL: "",
    DATABASE_ULR: nowhere,
    API_PORT: takenPort,
    // A port whose setting is wrong is not tried out.
    ADMIN_PORT: "x",
  });
  expect([code, output.trim().split("\n")]).toEqual([
    1,
    [
      "ADMIN_PORT=x must be a whole number from 0 to 65535.",
      expect.stringMatching(/^DATABASE_URL is not set/),
      `Port ${takenPort} on 127.0.0.1 is taken by another process: set API_PORT to a free one`,
      "DATABASE_ULR is no setting of this service and has no effect. Is DATABASE_URL meant?",
    ],
  ]);
  const worker = await run("worker.ts", { LOG_LEVEL: "loud", WORKER_PORT: takenPort });
  expect(worker.output).toContain("LOG_LEVEL=loud must be one of");
  expect(worker.output).toContain("set WORKER_PORT to a free one\n");
});

test("all wrong settings are named at once, one line each", async () => {
  const { code, output } = await run("worker.ts", {
    DATABASE_URL: "",
    SECRET_KEY: "",
    LOG_LEVEL: "loud",
    DRAIN_SECONDS: "x",
    TRUSTED_PROXIES: "me",
    TLS_CERT_FILE: "/nowhere/cert.pem",
    TLS_KEY_FILE: "/nowhere/key.pem",
    SECRET_KEYS_BEFORE: "hunter2",
    TEMPORAL_TLS: "maybe",
    XERO_URL: "ftp://x",
    XERO_CLIENT_SECRET: "hunter2",
    PUBLIC_URL: "here",
    SUPPORT_CONTACT: "ask me",
    TEMPORAL_UI_URL: "there",
  });
  expect(code).toBe(1);
  const settings = output
    .trim()
    .split("\n")
    .map((line) => /^[A-Z_]+/.exec(line)?.[0]);
  expect(settings.toSorted()).toEqual([
    "DATABASE_URL",
    "DRAIN_SECONDS",
    "LOG_LEVEL",
    "PUBLIC_URL",
    "SECRET_KEY",
    "SECRET_KEYS_BEFORE",
    "SUPPORT_CONTACT",
    "TEMPORAL_TLS",
    "TEMPORAL_UI_URL",
    "TLS_CERT_FILE",
    "TLS_KEY_FILE",
    "TRUSTED_PROXIES",
    "XERO_CLIENT_SECRET",
    "XERO_URL",
  ]);
  expect(output).not.toContain("hunter2");
});

test("a host that is none of this machine's names its setting", async () => {
  for (const setting of ["API_HOST", "ADMIN_HOST"]) {
    const { code, output } = await run("server.ts", { [setting]: "192.0.2.1" });
    expect([code, output]).toEqual([1, `${setting}=192.0.2.1 is no address of this machine\n`]);
  }
});

describe("a pair of PEM files names the one at fault and shows no key", () => {
  const pairs = async () => {
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const locked = {
      type: "pkcs8",
      format: "pem",
      cipher: "aes-256-cbc",
      passphrase: "hunter2",
    } as const;
    return {
      cert: await file("cert.pem", certificate.cert),
      key: await file("key.pem", certificate.key),
      text: await file("text.pem", "no PEM at all\n"),
      other: await file("other.pem", other.export({ type: "pkcs8", format: "pem" }).toString()),
      locked: await file("locked.pem", other.export(locked).toString()),
    };
  };
  const read = (cert: string, key: string) => () =>
    readConfig({ DATABASE_URL: nowhere, TLS_CERT_FILE: cert, TLS_KEY_FILE: key });

  test("as it is read", async () => {
    const { cert, key, text, other, locked } = await pairs();
    expect(read(cert, key)().api.tls).toEqual(certificate);
    expect(read(text, key)).toThrow(`TLS_CERT_FILE=${text} is no certificate in PEM.`);
    expect(read(key, key)).toThrow(`TLS_CERT_FILE=${key} is no certificate in PEM.`);
    for (const wrong of [text, cert, locked]) {
      expect(read(cert, wrong)).toThrow(
        `TLS_KEY_FILE=${wrong} is no private key in PEM without a passphrase.`,
      );
    }
    const unequal =
      `TLS_KEY_FILE=${other} is not the key of the first certificate` +
      ` in TLS_CERT_FILE=${cert}.`;
    expect(read(cert, other)).toThrow(unequal);
  });

  test("and stops the process with that line alone", async () => {
    const { key, text } = await pairs();
    const { code, output } = await run("server.ts", { TLS_CERT_FILE: text, TLS_KEY_FILE: key });
    expect([code, output]).toEqual([1, `TLS_CERT_FILE=${text} is no certificate in PEM.\n`]);
  });
});

test.each([
  "server.ts",
  "worker.ts",
])("%s does not start without SECRET_KEY, and a silent log does not hide why", async (script) => {
  const { code, output } = await run(script, { SECRET_KEY: "", LOG_LEVEL: "silent" });
  expect([code, output]).toEqual([
    1,
    "SECRET_KEY is not set: it encrypts the secrets of ledgers and webhooks.\n",
  ]);
});
