/** Which requests by cookie come from the console's own page. ADMIN-18. */
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../../src/domain/refusal.ts";
import { hashApiKey } from "../../../../src/transport/rpc/gate/api-key.ts";
import {
  consoleOriginOf,
  loopbackHosts,
  readSessionHash,
  requireOwnPage,
  sessionCookie,
} from "../../../../src/transport/rpc/gate/browser-requests.ts";
import type { HeaderValue } from "../../../../src/transport/rpc/gate/gate.ts";

const site = { isTls: false, hosts: new Set([...loopbackHosts, "console.example.com"]) };
const value = "A".repeat(43);

const headers = (sent: Readonly<Record<string, HeaderValue>>) => (name: string) => sent[name];

function refusalOf(sent: Readonly<Record<string, HeaderValue>>): string | null {
  try {
    requireOwnPage(site, headers(sent));
    return null;
  } catch (error) {
    return error instanceof Refusal ? error.code : String(error);
  }
}

const local = { host: "localhost:8081" };

describe("a request by cookie", () => {
  test.each([
    { host: "localhost:8081", "sec-fetch-site": "same-origin" },
    { host: "127.0.0.1:9000", "sec-fetch-site": "same-origin" },
    { host: "[::1]:8081", "sec-fetch-site": "same-origin" },
    { host: "LOCALHOST", "sec-fetch-site": "same-origin" },
    { host: "console.example.com", "sec-fetch-site": "same-origin" },
    { ":authority": "console.example.com", "sec-fetch-site": "same-origin" },
    { host: "localhost:8081", origin: "http://localhost:8081" },
    { host: "[::1]:8081", origin: "http://[::1]:8081" },
    { host: "console.example.com", origin: "https://console.example.com" },
  ])("is of the console's page with %j", (sent) => {
    expect(refusalOf(sent)).toBeNull();
  });

  test.each([
    {},
    local,
    { ...local, "sec-fetch-site": "same-site" },
    { ...local, "sec-fetch-site": "cross-site" },
    { ...local, "sec-fetch-site": "none" },
    { ...local, "sec-fetch-site": ["same-origin", "same-origin"] },
    { ...local, "sec-fetch-site": "cross-site", origin: "http://localhost:8081" },
    { ...local, origin: "http://localhost:3000" },
    { ...local, origin: "http://evil.example" },
    { ...local, origin: "null" },
    { ...local, origin: "" },
    { host: "evil.example:8081", "sec-fetch-site": "same-origin" },
    { host: "evil.example", origin: "http://evil.example" },
    { host: "localhost.evil.example", "sec-fetch-site": "same-origin" },
    { host: "localhost:8081@evil.example", "sec-fetch-site": "same-origin" },
    { host: ["localhost", "localhost"], "sec-fetch-site": "same-origin" },
    { host: "", "sec-fetch-site": "same-origin" },
  ])("is refused with %j", (sent) => {
    expect(refusalOf(sent)).toBe("untrusted_origin");
  });
});

describe("the session's cookie", () => {
  test.each([
    [{ isTls: false }, "localhost:8081", "billing", ""],
    [{ isTls: true }, "localhost:8081", "__Host-billing", "; Secure"],
    [{ isTls: false }, "console.example.com", "__Host-billing", "; Secure"],
  ])("%j at %s has the name %s", (tls, host, name, flag) => {
    const read = headers({ host, cookie: `other=1; ${name}=${value}` });
    const rest = `Path=/; HttpOnly; SameSite=Strict${flag}`;
    expect(sessionCookie({ ...site, ...tls }, read, value)).toBe(`${name}=${value}; ${rest}`);
    expect(sessionCookie({ ...site, ...tls }, read, null)).toBe(`${name}=; ${rest}; Max-Age=0`);
    expect(readSessionHash({ ...site, ...tls }, read)).toEqual(hashApiKey(value));
  });

  test("is found in the parts of a header that HTTP/2 splits", () => {
    const read = headers({ ...local, cookie: ["a=1", `billing=${value}`] });
    expect(readSessionHash(site, read)).toEqual(hashApiKey(value));
  });

  test.each([
    null,
    "",
    "billing=",
    "billing=short",
    `billing=${value}x`,
    `__Host-billing=${value}`,
    `xbilling=${value}`,
    `billing=${value}; billing=${"B".repeat(43)}`,
  ])("is none in %j", (cookie) => {
    expect(readSessionHash(site, headers({ ...local, cookie }))).toBeNull();
  });

  test("has the console's address only from an allowed host", () => {
    const origin = (text: string) => consoleOriginOf(site, headers({ origin: text }));
    expect(origin("https://console.example.com:8443")).toBe("https://console.example.com:8443");
    expect(origin("https://evil.example")).toBeNull();
    expect(origin("null")).toBeNull();
  });
});
