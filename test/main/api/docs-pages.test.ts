/** The documentation site on the public port: paths, headers and entity tags. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { docsPages } from "../../../src/main/api/docs-pages.ts";
import { startPort, type TestPort } from "../../transport/http/port-fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "docs-pages-"));
const contents: Readonly<Record<string, readonly [path: string, type: string, text: string]>> = {
  "docs.html": ["/docs", "text/html; charset=utf-8", "<!doctype html><title>All</title>"],
  "docs/guide.html": ["/docs/guide", "text/html; charset=utf-8", "<!doctype html><p>Größe</p>"],
  "docs/guide.md": ["/docs/guide.md", "text/markdown; charset=utf-8", "# Guide\n"],
  "docs/style.css": ["/docs/style.css", "text/css; charset=utf-8", "a { color: red }\n"],
  "llms.txt": ["/llms.txt", "text/plain; charset=utf-8", "# Billing\n"],
};
let port: TestPort;

beforeAll(async () => {
  mkdirSync(join(folder, "docs"));
  for (const [name, [, , text]] of Object.entries(contents))
    writeFileSync(join(folder, name), text);
  port = await startPort(() => ({}), { pages: docsPages(folder) });
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

test("a page forbids scripts, inline styles, frames and other hosts", async () => {
  const { headers } = await fetch(`${port.base}/docs/guide`);
  expect(headers.get("content-security-policy")?.split("; ")).toEqual([
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});

test.each([
  "/docs/",
  "/docs/none",
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
