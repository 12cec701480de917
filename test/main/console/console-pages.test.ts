/** The console's files over HTTP: the index with its nonce, assets with their encodings. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as ask } from "node:http";
import { BlockList } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { consolePages } from "../../../src/main/console/console-pages.ts";
import { type HttpPort, startHttp } from "../../../src/transport/http/server.ts";

let folder: string;
const ports: HttpPort[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "console-"));
  await mkdir(join(folder, "assets"));
  const index = '<style nonce="__NONCE__"></style><meta content="__NONCE__">';
  await writeFile(join(folder, "index.html"), index);
  await writeFile(join(folder, "favicon.svg"), "<svg/>");
  await writeFile(join(folder, "assets/main-a1.js"), "plain");
  await writeFile(join(folder, "assets/main-a1.js.br"), "brotli");
  await writeFile(join(folder, "assets/main-a1.js.gz"), "gzip");
});
afterAll(async () => {
  await Promise.all(ports.map((port) => port.stop({ graceMs: 0 })));
  await rm(folder, { recursive: true, force: true });
});

async function serve(from: string): Promise<number> {
  const port = await startHttp({
    setting: "API_PORT",
    host: "127.0.0.1",
    port: 0,
    tls: null,
    rest: consolePages(from),
    connect: () => undefined,
    readiness: { report: () => Promise.reject(new Error("not asked")) },
    metrics: null,
    log: () => undefined,
    logFailure: () => undefined,
    trustedProxies: new BlockList(),
    onConnectionLimit: () => undefined,
  });
  ports.push(port);
  return port.port;
}

/** Node's `fetch` would decode the answer. */
async function get(port: number, path: string, accepted = "") {
  const headers = accepted === "" ? {} : { "Accept-Encoding": accepted };
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly status: number | undefined;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly text: string;
  }>();
  ask({ port, path, headers }, (answer) => {
    let text = "";
    answer.on("data", (chunk) => {
      text += String(chunk);
    });
    answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
  })
    .on("error", reject)
    .end();
  return promise;
}

test.each([
  "/console",
  "/console/",
  "/console/index.html",
  "/console/o/1/overview?tab=2",
])("%s answers the index with a nonce that no other answer has", async (path) => {
  const port = await serve(folder);
  const [one, other] = [await get(port, path), await get(port, path)];
  const policy = String(one.headers["content-security-policy"]);
  const [, nonce = "none"] = /nonce-([\w-]+)'/.exec(policy) ?? [];
  expect(one.text).toBe(`<style nonce="${nonce}"></style><meta content="${nonce}">`);
  expect(other.text).not.toContain(nonce);
  expect(one).toMatchObject({
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy":
        `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; ` +
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; " +
        "base-uri 'none'; frame-ancestors 'none'",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    },
  });
});

test.each([
  ["gzip, deflate, br", "brotli", "br"],
  ["gzip", "gzip", "gzip"],
  ["", "plain", undefined],
])("an asset is answered to %j as %s", async (accepted, text, encoding) => {
  const port = await serve(folder);
  const answer = await get(port, "/console/assets/main-a1.js", accepted);
  expect(answer).toMatchObject({
    status: 200,
    text,
    headers: {
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
      vary: "Accept-Encoding",
    },
  });
  expect(answer.headers["content-encoding"]).toBe(encoding);
});

test("a file without a hash is asked for again each time", async () => {
  const answer = await get(await serve(folder), "/console/favicon.svg");
  expect(answer.headers).toMatchObject({
    "content-type": "image/svg+xml",
    "cache-control": "no-cache",
  });
});

test("an asset of another build is 404, never the index", async () => {
  const port = await serve(folder);
  for (const path of ["/console/assets/main-b2.js", "/console/assets/../../secret"])
    expect((await get(port, path)).status, path).toBe(404);
});

test("a console that is not built says how to build it", async () => {
  const answer = await get(await serve(join(folder, "none")), "/console");
  expect(answer).toMatchObject({ status: 404, text: expect.stringContaining("npm run build") });
});
