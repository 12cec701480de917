/** Tryton for tests: one server for all files of a run, and a new database for each that asks. */
import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import { type TrytonAccess, trytonAt } from "../../../packages/dev/src/tryton/server.ts";
import type { LedgerCredentials } from "../../../src/ledger/port/ledger-kind.ts";

/** Why there is no Tryton, or null. */
export const whyNoTryton = inject("whyNoTryton");

/** Returns a new database with a company. */
export function freshTryton(): Promise<TrytonAccess> {
  const place = { postgresUrl: inject("postgresUrl"), port: inject("trytonPort") };
  return trytonAt(place).addDatabase(`${inject("databasePrefix")}${randomUUID().slice(0, 8)}`);
}

/** Returns the credentials of billing's connection to it, at another address if one is named. */
export function credentialsOf(
  { tenantId, clientSecret, baseUrl }: TrytonAccess,
  at: string = baseUrl,
): LedgerCredentials {
  return { tenantId, clientSecret, baseUrl: at, clientId: "", identityUrl: "" };
}
