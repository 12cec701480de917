/**
 * What expires of a ledger connection lasts by the database's clock, whatever the clocks of the
 * machines show that write it and read it. LEDGER-6, ADMIN-4, POSTING-5.
 */
import { createHash, randomBytes } from "node:crypto";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createAdminStore } from "../../../src/store/admin/admin-store.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { newId } from "../../../src/store/database/ids.ts";
import {
  pauseConnection,
  readConnection,
} from "../../../src/store/ledger-connection/connections.ts";
import {
  createLedgerTokens,
  deleteExpiredConsents,
} from "../../../src/store/ledger-connection/oauth-tokens.ts";
import { loadReferenceData } from "../../../src/store/ledger-connection/reference-data.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { fromNow, tables } from "../../support/rows.ts";

const minuteMs = 60_000;
const lifeMs = 20 * minuteMs;

/** A test ends within this time, so that nothing expires meanwhile. */
const leastMs = 10 * minuteMs;

const encryption = createEncryption(randomBytes(32));

/** A connection to a tenant that no other organisation has. */
const connectionOf = (tenantId: string) =>
  ({
    kind: "xero",
    grantKind: "authorisation",
    tenantId,
    baseUrl: "http://ledger.example",
    identityUrl: "http://ledger.example",
    clientId: "app",
    clientSecret: "",
  }) as const;
const granted = {
  accessToken: "access",
  refreshToken: "refresh",
  freshMs: lifeMs,
  ledgerConnection: "connection",
};

let database: FreshDatabase;
let pool: pg.Pool;
let admin: ReturnType<typeof createAdminStore>;
let organisationId = "";
let actor = {
  operatorId: null as string | null,
  operatorName: "Test",
  tokenId: null as string | null,
  operation: "Test",
  requestId: "request",
};

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 4);
  admin = createAdminStore({ reading: pool, writing: pool }, encryption);
  const [operatorId, tokenId] = [newId(), newId()];
  await admin.operators.create(actor, { id: operatorId, name: "Olga", role: "owner" });
  const token = { id: tokenId, name: "token", hash: randomBytes(32), hint: "ab", expiresAt: null };
  await admin.operators.createToken(actor, operatorId, token);
  actor = { ...actor, operatorId, tokenId };
});

beforeEach(async () => {
  organisationId = newId();
  await pool.query(
    `INSERT INTO organisations (id, name, timezone, default_currency, livemode)
      VALUES ($1, 'Acme', 'UTC', 'EUR', true)`,
    [organisationId],
  );
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** Runs work on a machine whose clock is so many hours ahead of the database's. */
async function onMachine<Result>(hours: number, work: () => Promise<Result>): Promise<Result> {
  vi.useFakeTimers({ now: Date.now() + hours * 60 * minuteMs, toFake: ["Date"] });
  try {
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

function expectRemaining(ms: number | undefined): void {
  expect(ms).toBeGreaterThan(leastMs);
  expect(ms).toBeLessThanOrEqual(lifeMs);
}

describe.each([
  { writer: 1, reader: 0 },
  { writer: 0, reader: 1 },
  { writer: -1, reader: 0 },
  { writer: 0, reader: -1 },
])("written $writer hours ahead and read $reader hours ahead", ({ writer, reader }) => {
  test("an access token is used as long as the ledger allows", async () => {
    const tokens = createLedgerTokens(pool, encryption, organisationId);
    const read = () => onMachine(reader, () => tokens.read());
    await onMachine(writer, () =>
      admin.connections.save(actor, organisationId, connectionOf(organisationId), granted),
    );
    const first = await read();
    expectRemaining(first?.freshMs);
    const lease = await tokens.take(first?.generation ?? "", minuteMs);
    const { accessToken, refreshToken: used } = granted;
    const next = { accessToken, refreshToken: "next", used, freshMs: lifeMs };
    await onMachine(writer, () => tokens.save(lease?.leaseId ?? "", next));
    const second = await read();
    expect([first?.generation, second?.generation]).toEqual(["1", "2"]);
    expectRemaining(second?.freshMs);
    const over = "UPDATE ledger_authorisations SET fresh_until = now() WHERE organisation_id = $1";
    await pool.query(over, [organisationId]);
    expect((await read())?.freshMs).toBe(0);
  });

  test("a pause lasts as long as the ledger requires", async () => {
    const read = () =>
      onMachine(reader, async () => [
        (await readConnection(pool, encryption, organisationId))?.pausedMs,
        (await admin.connections.view(organisationId))?.pausedReason,
      ]);
    await admin.connections.save(actor, organisationId, connectionOf(organisationId), granted);
    await onMachine(writer, () => pauseConnection(pool, organisationId, lifeMs, "day limit"));
    const [pausedMs, reason] = await read();
    expectRemaining(Number(pausedMs));
    expect(reason).toBe("day limit");
    await onMachine(writer, () => pauseConnection(pool, organisationId, minuteMs, "shorter"));
    expectRemaining(Number((await read())[0]));
    const over = "UPDATE ledger_connections SET paused_until = now() WHERE organisation_id = $1";
    await pool.query(over, [organisationId]);
    expect(await read()).toEqual([0, null]);
  });

  test("a consent and the choice of a tenant wait as long as they may", async () => {
    const { consents } = admin;
    const status = () =>
      onMachine(reader, async () => (await consents.view(organisationId))?.status);
    const stateHash = createHash("sha256").update(organisationId).digest();
    await onMachine(writer, () =>
      consents.begin(actor, organisationId, {
        kind: "xero",
        operatorId: actor.operatorId ?? "",
        tokenId: actor.tokenId ?? "",
        stateHash,
        verifier: "verifier",
        redirectUrl: "http://billing.example",
        consoleOrigin: null,
        lifeMs,
      }),
    );
    expect(await status()).toBe("pending");
    expect(await consents.use(stateHash)).not.toBeNull();
    const tenants = [{ connectionId: "connection", tenantId: "tenant", name: "Acme" }];
    await onMachine(writer, () => consents.saveChoice(organisationId, granted, tenants, lifeMs));
    expect(await status()).toBe("choose");
    const choice = await onMachine(reader, () => consents.choice(organisationId));
    expectRemaining(choice?.tokens.freshMs);
    const deleteExpired = () => onMachine(reader, () => deleteExpiredConsents(pool, 10));
    expect(await deleteExpired()).toBe(0);
    const over = "UPDATE ledger_consents SET expires_at = now() WHERE organisation_id = $1";
    await pool.query(over, [organisationId]);
    expect(await status()).toBe("expired");
    expect(await deleteExpired()).toBe(1);
  });

  test("reference data rejects documents for half an hour", async () => {
    await admin.connections.save(actor, organisationId, connectionOf(organisationId), granted);
    const from = { tenantId: organisationId, ageMs: leastMs };
    await onMachine(writer, () =>
      admin.referenceData.save(organisationId, "currencies", { EUR: true }, from),
    );
    const read = () =>
      onMachine(reader, async () => (await loadReferenceData(pool, organisationId)).currencies);
    expect(await read()).toEqual({ EUR: true });
    await tables(pool).ledgerReferenceData.updateMany({
      where: { organisationId },
      data: { fetchedAt: fromNow(-31) },
    });
    expect(await read()).toBeNull();
  });
});
