/** What another site, another port and a guesser get of the console: nothing. ADMIN-18 */
import { once } from "node:events";
import type { OutgoingHttpHeaders } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { expect } from "vitest";
import { perFile } from "../../support/file-fixture.ts";
import { systemTest } from "../../support/fixtures.ts";
import type { SystemSettings } from "../../support/system.ts";
import { browse, callWith, errorOf, signIn } from "./browser.ts";

const get = "SessionService/GetSession";

const test = systemTest
  .extend("settings", perFile, async (): Promise<SystemSettings> => {
    return { without: ["worker"], env: { CONSOLE_HOSTS: "console.example.com" } };
  })
  .extend("key", perFile, ({ system }) => system.operator("owner", "Olga"))
  .extend("cookie", perFile, ({ system, key }) => signIn(system.adminUrl, { token: key }));

const refusals = [
  ["of another site", { "Sec-Fetch-Site": "cross-site" }],
  ["of another port of this machine", { "Sec-Fetch-Site": "same-site" }],
  ["that a person typed", { "Sec-Fetch-Site": "none" }],
  ["that does not say where it is from", { "Sec-Fetch-Site": null }],
  ["of another origin", { "Sec-Fetch-Site": null, Origin: "http://localhost:3000" }],
  ["of a sandboxed frame", { "Sec-Fetch-Site": null, Origin: "null" }],
  ["to a foreign name of this machine", { Host: "rebound.example:8081" }],
  ["to a foreign name with its origin", { Host: "a.example", Origin: "http://a.example" }],
] as const;

test.for(refusals)("a request by cookie %s is refused", async ([, headers], { system, cookie }) => {
  // Under other names than this machine's it would have the prefix.
  const both = `${cookie}; __Host-${cookie}`;
  const answer = await callWith(system.adminUrl, both)(get, {}, headers);
  expect([answer.status, errorOf(answer)]).toEqual([403, "untrusted_origin"]);
});

test.for(refusals)("a sign-in %s is refused", async ([, headers], { system, key }) => {
  const body = { token: key };
  const address = `${system.adminUrl}/console/session`;
  const answer = await browse(address, { method: "POST", body, headers });
  expect([answer.status, errorOf(answer)]).toEqual([403, "untrusted_origin"]);
  expect(answer.headers["set-cookie"]).toBeUndefined();
  const out = await browse(address, { method: "DELETE", headers });
  expect(out.status).toBe(403);
});

test("a request by cookie without Connect's header is refused, also as GET", async ({
  system,
  cookie,
}) => {
  const headers = { "Connect-Protocol-Version": null };
  const answer = await callWith(system.adminUrl, cookie)(get, {}, headers);
  expect([answer.status, errorOf(answer)]).toEqual([403, "untrusted_origin"]);
  const query = "?connect=v1&encoding=json&message=%7B%7D";
  const read = await browse(`${system.adminUrl}/billing.admin.v1.${get}${query}`, {
    headers: { cookie, ...headers },
  });
  expect(errorOf(read)).toBe("untrusted_origin");
});

test("an origin that is the host stands for a browser that does not say from where", async ({
  system,
  cookie,
}) => {
  const headers = { "Sec-Fetch-Site": null, Origin: system.adminUrl };
  expect((await callWith(system.adminUrl, cookie)(get, {}, headers)).status).toBe(200);
});

test("under an allowed host the cookie has its prefix and needs https", async ({ system, key }) => {
  const headers = { Host: "console.example.com" };
  const body = { token: key };
  const address = `${system.adminUrl}/console/session`;
  const answer = await browse(address, { method: "POST", body, headers });
  const [set = ""] = answer.headers["set-cookie"] ?? [];
  expect(set).toMatch(/^__Host-billing=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
  const call = callWith(system.adminUrl, set.split(";")[0] ?? "");
  expect((await call(get, {}, headers)).status).toBe(200);
  expect((await call(get)).status).toBe(401);
});

test("a token goes before the cookie, and needs nothing of a browser", async ({
  system,
  key,
  cookie,
}) => {
  const bare = { "Sec-Fetch-Site": null, "Connect-Protocol-Version": null, Host: "a.example" };
  const call = callWith(system.adminUrl, cookie);
  const withToken = await call(get, {}, { ...bare, Authorization: `Bearer ${key}` });
  expect([withToken.status, withToken.json.session]).toEqual([200, undefined]);
  const invented = await call(get, {}, { Authorization: "Bearer op_invented" });
  expect([invented.status, errorOf(invented)]).toEqual([401, "invalid_operator_token"]);
  expect(invented.headers["www-authenticate"]).toBe("Bearer");
});

test("over HTTP/2, which splits cookies and has no Host, the same holds", async ({
  system,
  cookie,
}) => {
  const session = connectHttp2(system.adminUrl);
  const statusOf = async (headers: OutgoingHttpHeaders) => {
    const stream = session.request({
      ":method": "POST",
      ":path": `/billing.admin.v1.${get}`,
      "content-type": "application/json",
      "connect-protocol-version": "1",
      cookie: ["theme=dark", cookie],
      ...headers,
    });
    stream.end("{}");
    const [answer] = await once(stream, "response");
    stream.resume();
    return answer[":status"];
  };
  try {
    expect(await statusOf({ "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await statusOf({ "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await statusOf({ origin: system.adminUrl })).toBe(200);
    expect(await statusOf({ origin: "http://a.example" })).toBe(403);
  } finally {
    session.close();
  }
});

test("no other value in the cookie is let in", async ({ system, key, cookie }) => {
  const values = [`billing=${"A".repeat(43)}`, `billing=${key}`, `${cookie}; ${cookie}`, ""];
  for (const value of values) {
    const answer = await callWith(system.adminUrl, value)(get);
    expect([value, errorOf(answer)]).toEqual([value, "invalid_operator_token"]);
  }
});

test("the public port takes no cookie and has no console", async ({ system, cookie }) => {
  const read = await browse(`${system.baseUrl}/v1/organisation`, { headers: { cookie } });
  expect([read.status, errorOf(read)]).toEqual([401, "invalid_api_key"]);
  const service = await callWith(system.baseUrl, cookie)(get);
  expect(service.status).toBe(404);
  for (const path of ["/console", "/console/session", "/"])
    expect((await browse(system.baseUrl + path, { headers: { cookie } })).status).toBe(404);
});

test("a browser at the root of the port is led to the console, a program is not", async ({
  system,
}) => {
  const browser = await browse(`${system.adminUrl}/`, { headers: { Accept: "text/html,*/*" } });
  expect([browser.status, browser.headers.location]).toEqual([303, "/console"]);
  expect((await browse(`${system.adminUrl}/`)).status).toBe(404);
  const page = await browse(`${system.adminUrl}/console`);
  expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(page.headers["content-security-policy"]).toContain("script-src 'self'; style-src 'self'");
});

test("a guesser waits after twenty refused sign-ins, and so do all of its tries", async ({
  system,
  key,
  cookie,
}) => {
  const guess = () =>
    browse(`${system.adminUrl}/console/session`, {
      method: "POST",
      body: { code: "B".repeat(43) },
    });
  const guesses = await Promise.all(Array.from({ length: 30 }, guess));
  const limited = guesses.filter(({ status }) => status === 429);
  expect(limited.length).toBeGreaterThanOrEqual(10);
  expect(Number(limited[0]?.headers["retry-after"])).toBeGreaterThan(0);
  // A session and a token go on.
  expect((await callWith(system.adminUrl, cookie)(get)).status).toBe(200);
  const headers = { Authorization: `Bearer ${key}` };
  expect((await callWith(system.adminUrl, "")(get, {}, headers)).status).toBe(200);
});

test("CONSOLE=off serves neither console nor sign-in, and takes no cookie", async ({
  system,
  key,
  cookie,
}) => {
  await system.api.stop();
  await system.api.start({ CONSOLE: "off" });
  expect((await browse(`${system.adminUrl}/console`)).status).toBe(404);
  expect((await browse(`${system.adminUrl}/docs`)).status).toBe(200);
  const address = `${system.adminUrl}/console/session`;
  expect((await browse(address, { method: "POST", body: { token: key } })).status).toBe(404);
  const answer = await callWith(system.adminUrl, cookie)(get);
  expect([answer.status, errorOf(answer)]).toEqual([401, "invalid_operator_token"]);
  expect(answer.headers["www-authenticate"]).toBe("Bearer");
});
