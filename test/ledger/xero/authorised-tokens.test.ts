/** What a refresh does with each answer of the identity service, over tokens in memory. */

import { MockAgent } from "undici";
import { afterEach, beforeEach, expect, test } from "vitest";
import type {
  RenewedTokens,
  SharedTokens,
  TokenStore,
} from "../../../src/ledger/port/oauth-app.ts";
import { createSharedTokenSource } from "../../../src/ledger/xero/auth/authorised-tokens.ts";

const app = {
  identityUrl: "http://identity.test/connect/token",
  clientId: "app",
  clientSecret: "hunter2",
};

let agent: MockAgent;
let shown: string[];
let events: string[];

beforeEach(() => {
  agent = new MockAgent();
  agent.disableNetConnect();
  shown = [];
  events = [];
});

afterEach(() => agent.close());

/** The next answers, in order; what was shown for them is noted. */
function answers(...replies: readonly (readonly [number, unknown])[]): void {
  for (const [status, body] of replies) {
    agent
      .get("http://identity.test")
      .intercept({ path: "/connect/token", method: "POST" })
      .reply((request) => {
        shown.push(new URLSearchParams(String(request.body)).get("refresh_token") ?? "");
        return { statusCode: status, data: typeof body === "string" ? body : JSON.stringify(body) };
      });
  }
}

const stale: SharedTokens = { generation: "1", accessToken: "old", freshMs: 0 };
const given = { access_token: "new", refresh_token: "refresh-3", expires_in: 1_800 };

function storeOf(previous: string | null = "refresh-1"): TokenStore {
  let tokens: SharedTokens | null = stale;
  return {
    read: async () => tokens,
    take: async () => ({ leaseId: "lease", refreshToken: "refresh-2", previous }),
    save: async (_, { accessToken, refreshToken, used, freshMs }: RenewedTokens) => {
      tokens = { generation: "2", accessToken, freshMs };
      events.push(
        `saved ${refreshToken} for ${used}, usable for ${Math.round(freshMs / 60_000)} minutes`,
      );
      return true;
    },
    release: async () => void events.push("released"),
    disconnect: async () => {
      tokens = null;
      events.push("disconnected");
    },
  };
}

const ask = (store: TokenStore, rejected: string | null = null, client: typeof app | null = app) =>
  createSharedTokenSource(agent, { app: client, tokens: store }).token(
    rejected,
    AbortSignal.timeout(20_000),
  );

test("a refresh token is used once, and the new one is saved before use", async () => {
  answers([200, given]);
  expect(await ask(storeOf())).toEqual({ kind: "ok", value: "new" });
  expect([shown, events]).toEqual([
    ["refresh-2"],
    ["saved refresh-3 for refresh-2, usable for 29 minutes"],
  ]);
});

test("where the ledger does not know the newest, the one before is shown", async () => {
  answers([400, { error: "invalid_grant" }], [200, given]);
  expect(await ask(storeOf())).toMatchObject({ kind: "ok" });
  expect([shown, events.length]).toEqual([["refresh-2", "refresh-1"], 1]);
});

test("only where it takes neither is the connection disconnected", async () => {
  answers([400, { error: "invalid_grant" }], [400, { error: "invalid_grant" }]);
  const store = storeOf();
  expect(await ask(store)).toMatchObject({ kind: "unauthorised", why: "disconnected" });
  expect(events).toEqual(["disconnected"]);
  expect(await ask(store)).toMatchObject({ kind: "unauthorised", why: "disconnected" });
});

test.each([
  [503, "<html>", { kind: "unavailable", outcome: "not_sent" }],
  [429, "", { kind: "rate_limited", scope: "app" }],
  [200, { access_token: "new" }, { kind: "unavailable", outcome: "not_sent" }],
  [200, "not json", { kind: "unavailable", outcome: "not_sent" }],
  [
    400,
    { error: "invalid_client" },
    { kind: "unauthorised", message: expect.stringContaining("invalid_client") },
  ],
  [
    400,
    { error: "no such token: refresh-2" },
    { kind: "unauthorised", message: expect.stringContaining("status 400") },
  ],
])("an answer %s %j keeps the tokens and ends the lease", async (status, body, failure) => {
  answers([status, body]);
  const answer = await ask(storeOf());
  expect(answer).toMatchObject(failure);
  expect(events).toEqual(["released"]);
  expect(JSON.stringify(answer)).not.toMatch(/refresh-|hunter2|old/);
});

test("without the app's credentials a token in use is given, and none is refreshed", async () => {
  expect(await ask(storeOf(), null, null)).toMatchObject({ kind: "unauthorised", why: "expired" });
  const fresh = { ...storeOf(), read: async () => ({ ...stale, freshMs: 60_000 }) };
  expect(await ask(fresh, null, null)).toEqual({ kind: "ok", value: "old" });
  expect(await ask(fresh, "old", null)).toMatchObject({ kind: "unauthorised" });
  expect(shown).toEqual([]);
});

/** A store whose `save` rejects or answers so, one after the other, and then does what it does. */
function failingStore(...saves: readonly ("rejects" | "lost")[]): TokenStore {
  const store = storeOf();
  const left = [...saves];
  return {
    ...store,
    save: async (leaseId, tokens) => {
      const fault = left.shift();
      if (fault === undefined) return store.save(leaseId, tokens);
      events.push(fault);
      if (fault === "lost") return false;
      throw new Error("the database is not there");
    },
  };
}

const saved = "saved refresh-3 for refresh-2, usable for 29 minutes";

test("new tokens that cannot be saved at once are saved soon after", async () => {
  answers([200, given]);
  expect(await ask(failingStore("rejects", "rejects"))).toEqual({ kind: "ok", value: "new" });
  expect([shown, events]).toEqual([["refresh-2"], ["rejects", "rejects", saved]]);
});

test("new tokens that stay unsaved are used, and saved before the next fetch", async () => {
  answers([200, given], [200, { ...given, access_token: "newer" }]);
  let isDown = true;
  const store = storeOf();
  const save: TokenStore["save"] = (...args) =>
    isDown ? Promise.reject(new Error("the database is not there")) : store.save(...args);
  const source = createSharedTokenSource(agent, { app, tokens: { ...store, save } });
  const token = (rejected: string | null) => source.token(rejected, AbortSignal.timeout(20_000));
  expect(await token(null)).toEqual({ kind: "ok", value: "new" });
  expect(await token(null)).toEqual({ kind: "ok", value: "new" });
  // Rejected, and no other can be had: nothing is shown that would be lost as well.
  expect(await token("new")).toMatchObject({ kind: "unavailable", outcome: "not_sent" });
  expect([shown, events]).toEqual([["refresh-2"], []]);
  isDown = false;
  expect(await token("new")).toEqual({ kind: "ok", value: "newer" });
  expect(events[0]).toBe(saved);
  expect(shown).toHaveLength(2);
});

test("new tokens that are superseded give way to the saved ones", async () => {
  answers([200, given]);
  const others: SharedTokens = { generation: "2", accessToken: "others", freshMs: 60_000 };
  const store = failingStore("rejects", "lost");
  const read: TokenStore["read"] = async () => (events.includes("lost") ? others : stale);
  expect(await ask({ ...store, read })).toEqual({ kind: "ok", value: "others" });
  expect([shown, events]).toEqual([["refresh-2"], ["rejects", "lost"]]);
});

test("a call never gets its rejected token again from another's refresh", async () => {
  answers([200, given], [200, { ...given, access_token: "newer" }]);
  const source = createSharedTokenSource(agent, { app, tokens: storeOf() });
  const signal = AbortSignal.timeout(20_000);
  const tokens = await Promise.all([source.token(null, signal), source.token("new", signal)]);
  expect(tokens).toEqual([
    { kind: "ok", value: "new" },
    { kind: "ok", value: "newer" },
  ]);
});
