/** A call never uses a rejected token again, nor one of an earlier consent. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ledgers } from "../../../src/ledger/index.ts";
import { beginCall } from "../../../src/ledger/port/call.ts";
import type { SharedTokens, TokenStore } from "../../../src/ledger/port/oauth-app.ts";
import { createXeroWire } from "../../../src/ledger/xero/wire/wire.ts";
import { createLedgerAdapters } from "../../../src/main/ledger/ledger-adapters.ts";
import { createLedgerConnect } from "../../../src/main/ledger/ledger-connect.ts";
import { createLog } from "../../../src/main/telemetry/log.ts";
import { createProcessMetrics } from "../../../src/main/telemetry/process-metrics.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import type { LedgerConnection } from "../../../src/store/ledger-connection/connections.ts";

let server: Server;
let origin: string;
/** What the ledger answers to a call with each token. */
let statuses: Readonly<Record<string, number>> = {};
let shown: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const token = (request.headers.authorization ?? "").slice("Bearer ".length);
    shown.push(token);
    response.writeHead(statuses[token] ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ Detail: "AuthenticationUnsuccessful" }));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

beforeEach(() => {
  shown = [];
  statuses = {};
});

const connection = (): LedgerConnection => ({
  kind: "xero",
  grantKind: "authorisation",
  tenantId: "tenant",
  baseUrl: `${origin}/api.xro/2.0`,
  identityUrl: `${origin}/connect/token`,
  clientId: "app",
  clientSecret: "",
});

/** A token store with these tokens, which are never refreshed. */
function storeOf(tokens: () => SharedTokens): TokenStore {
  const never = () => Promise.reject(new Error("nothing is to be refreshed here"));
  return {
    read: async () => tokens(),
    take: async () => null,
    save: never,
    release: never,
    disconnect: never,
  };
}

test.each([
  401, 403,
])("a token that was answered %i is not shown again once there is another", async (status) => {
  let kept: SharedTokens = { generation: "1", accessToken: "first", freshMs: 1_700_000 };
  const authorisation = { app: null, tokens: storeOf(() => kept) };
  const wire = createXeroWire(connection(), { authorisation });
  const ask = () =>
    wire.ask(beginCall({ deadlineMs: 20_000, jobKeys: [] }), { method: "GET", path: "/Contacts" });
  try {
    expect((await ask()).kind).toBe("ok");
    statuses = { first: status };
    expect((await ask()).kind).toBe("unauthorised");
    // A person has consented again, at another process.
    kept = { generation: "2", accessToken: "second", freshMs: 1_700_000 };
    expect((await ask()).kind).toBe("ok");
    expect(shown).toEqual(["first", "first", "second"]);
  } finally {
    await wire.close();
  }
});

test("an adapter is cached until its connection changes or is consented to", async () => {
  const pool = new pg.Pool();
  const adapters = createLedgerAdapters(pool, {
    metrics: createProcessMetrics(),
    callDeadlineMs: 1_000,
    connect: createLedgerConnect("development"),
    encryption: createEncryption(Buffer.alloc(32)),
    kinds: ledgers,
    apps: {},
    log: createLog("test", "silent"),
  });
  const open = (consentedAt: string | null) =>
    adapters.open("organisation", { ...connection(), consentedAt });
  try {
    const first = open("2026-11-21 10:00:00+00");
    expect(open("2026-11-21 10:00:00+00")).toBe(first);
    // While one is asked for, the consent of before stands.
    expect(open(null)).toBe(first);
    const second = open("2026-11-21 11:00:00+00");
    expect(second).not.toBe(first);
    expect(open("2026-11-21 11:00:00+00")).toBe(second);
    expect(
      adapters.open("organisation", { ...connection(), tenantId: "other", consentedAt: null }),
    ).not.toBe(second);
  } finally {
    await adapters.close();
    await pool.end();
  }
});
