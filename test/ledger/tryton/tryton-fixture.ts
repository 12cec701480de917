/**
 * A Tryton for tests: one server for a file, with a new database for each that asks.
 * Where Python or its packages cannot be had, its tests are skipped, and one line says why.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { anyFreePort } from "../../../packages/dev/src/processes/ports.ts";
import { installTryton } from "../../../packages/dev/src/tryton/install.ts";
import {
  startTryton,
  type TrytonAccess,
  type TrytonServer,
} from "../../../packages/dev/src/tryton/server.ts";
import type { LedgerCredentials } from "../../../src/ledger/port/ledger-kind.ts";

/** Why there is no Tryton, or null. Read once, before the tests of a file are collected. */
export const whyNoTryton = await installTryton(process.env, () => undefined).then(
  () => null,
  (error: unknown) => (error instanceof Error ? error.message : String(error)),
);

if (whyNoTryton !== null) console.log(`Not run against Tryton: ${whyNoTryton}`);

let server: Promise<TrytonServer> | null = null;

async function startOnce(): Promise<TrytonServer> {
  const logFile = join(await mkdtemp(join(tmpdir(), "tryton-")), "tryton.log");
  const log = (line: string) => console.log(line);
  const postgresUrl = inject("postgresUrl");
  return startTryton({ env: process.env, postgresUrl, logFile, port: await anyFreePort(), log });
}

/** Stops the server. Each file does at its end, and the next file starts another. */
export async function stopTryton(): Promise<void> {
  const running = await server;
  server = null;
  await running?.child.stop();
}

/** Returns a new database with a company. */
export async function freshTryton(): Promise<TrytonAccess> {
  server ??= startOnce();
  return (await server).addDatabase(`${inject("databasePrefix")}${randomUUID().slice(0, 8)}`);
}

/** Returns the credentials of billing's connection to it, at another address if one is named. */
export function credentialsOf(
  { tenantId, clientSecret, baseUrl }: TrytonAccess,
  at: string = baseUrl,
): LedgerCredentials {
  return { tenantId, clientSecret, baseUrl: at, clientId: "", identityUrl: "" };
}
