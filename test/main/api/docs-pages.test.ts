/** The documentation site on the public port: paths, headers and entity tags. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { docsSite } from "../../../src/main/api/docs-pages.ts";
import { restHandler } from "../../../src/transport/rest/handler.ts";
import { gatewayParts, startPort, type TestPort } from "../../transport/http/port-fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "docs-pages-"));
const contents: Readonly<Record<string, readonly [path: string, type: string, text: string]>> = {
  "docs.html": ["/docs", "text/html; charset=utf-8", "<!doctype html><title>All</title>"],
  "docs/guide.html": ["/docs/guide", "text/html; charset=utf-8", "<!doctype html><p>Größe</p>"],
  "docs/guide.md": ["/docs/guide.md", "text/markdown; charset=utf-8", "# Guide\n"],
  "docs/style.css": ["/docs/style.css", "text/css; charset=utf-8", "a { color: red }\n"],
  "docs/page.js": ["/docs/page.js", "text/javascript; charset=utf-8", "search();\n"],
  "docs/index.json": ["/docs/index.json", "application/json", "[]"],
  "docs/icon.svg": ["/docs/icon.svg", "image/svg+xml", "<svg/>"],
  "llms.txt": ["/llms.txt", "text/plain; charset=utf-8", "# Billing\n"],
};
let port: TestPort;

beforeAll(async () => {
  mkdirSync(join(folder, "docs"));
  for (const [name, [, , text]] of Object.entries(contents))
    writeFileSync(join(folder, name), text);
  const links = '<link href="style.css"><a href="#content">Skip</a><a href="../docs">All</a>';
  writeFileSync(join(folder, "docs/not-found.html"), links);
  const { pages, withBrowsers } = docsSite(folder);
  const rest = withBrowsers(restHandler(gatewayParts(() => ({}))));
  port = await startPort(() => ({}), { pages, rest });
});

afterAll(async () => {
  await port?.stop({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

test.each(Object.values(contents))("%s answers %s without a key", async (path, type, text) => {
  const answer = await fetch(port.base + path);
  expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
    200,
    type,
    text,
  ]);
  expect(answer.headers.get("cache-control")).toBe("public, no-cache");
  expect(answer.headers.has("ratelimit-limit")).toBe(false);
});

test("a page is not sent again while its entity tag is the same", async () => {
  const ask = (path: string, tag = "") =>
    fetch(port.base + path, { headers: { "if-none-match": tag } });
  const etag = (await ask("/docs/guide")).headers.get("etag") ?? "";
  const other = (await ask("/docs")).headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[\w-]{27}"$/);
  expect(other).not.toBe(etag);
  const known = await ask("/docs/guide", `${other}, W/${etag}`);
  expect([known.status, await known.text(), known.headers.get("etag")]).toEqual([304, "", etag]);
  expect((await ask("/docs/guide", other)).status).toBe(200);
});

test("a page forbids scripts and styles in it, frames and other hosts", async () => {
  const { headers } = await fetch(`${port.base}/docs/guide`);
  expect(headers.get("content-security-policy")?.split("; ")).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});

const browser = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };

test("a browser is led from / and /docs/ to /docs, also below a prefix of a proxy", async () => {
  const leads = async (path: string) => {
    const answer = await fetch(port.base + path, { ...browser, redirect: "manual" });
    return [answer.status, answer.headers.get("location")];
  };
  expect(await leads("/")).toEqual([303, "docs"]);
  expect(await leads("/docs/")).toEqual([303, "../docs"]);
  expect((await fetch(`${port.base}/docs/`, browser)).url).toBe(`${port.base}/docs`);
});

test.each([
  ["/docs/none", ""],
  ["/docs/guide/deep/none", "../../"],
])("a browser sees a page at %s, whose links lead out", async (path, up) => {
  const answer = await fetch(port.base + path, browser);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([
    404,
    "text/html; charset=utf-8",
  ]);
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await answer.text()).toBe(
    `<link href="${up}style.css"><a href="#content">Skip</a><a href="${up}../docs">All</a>`,
  );
});

test("a browser is answered JSON at paths of the API", async () => {
  const answer = await fetch(`${port.base}/v1/none`, browser);
  expect(await answer.text()).toContain('"code":"unknown_endpoint"');
});

test("the icon is also where browsers look for it", async () => {
  expect(await (await fetch(`${port.base}/favicon.ico`)).text()).toBe("<svg/>");
});

test.each([
  "/",
  "/docs/",
  "/docs/none",
  "/docs/not-found",
  "/docs/guide.html",
  "/docs/guide/",
  "/docs//guide",
  "/Docs",
  "/llms",
])("%s is an unknown endpoint", async (path) => {
  const answer = await fetch(port.base + path);
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain('"code":"unknown_endpoint"');
});

test("POST and HEAD of a page are unknown endpoints", async () => {
  for (const method of ["POST", "HEAD"])
    expect((await fetch(`${port.base}/docs`, { method })).status).toBe(404);
});
