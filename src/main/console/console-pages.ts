/**
 * The console's files, from memory. Assets have a hash in their names and never change. Every other
 * path below `/console` answers the index, whose pages have their paths in the browser.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { contentTypeOf } from "../../transport/http/published-file.ts";
import type { HttpAnswer } from "../../transport/http/system-endpoints.ts";
import type { Exchange } from "../../transport/rest/exchange.ts";
import { type HeaderFields, respond } from "../../transport/rest/respond.ts";

/** The encodings in which a file may lie beside itself, the smallest first. */
const encodings = { br: ".br", gzip: ".gz" } as const;

const isVariant = (name: string) => Object.values(encodings).some((end) => name.endsWith(end));

interface ConsoleFile {
  readonly contentType: string;
  readonly isAsset: boolean;
  readonly plain: Buffer;
  readonly br: Buffer | null;
  readonly gzip: Buffer | null;
}

const notBuilt =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Console</title></head>' +
  "<body><h1>The console is not built</h1><p>Run <code>npm run build</code>, " +
  "then start the service again.</p></body></html>";

/** Reads the files. Returns the answer to `GET` of each path that is `/console` or below it. */
export function consolePages(folder: string): HttpAnswer {
  const files = readFiles(folder);
  const index = files.get("/console/index.html")?.plain.toString();
  return (request, response, exchange) => {
    const file = files.get(exchange.path);
    if (file !== undefined && exchange.path !== "/console/index.html") {
      const accepted = String(request.headers["accept-encoding"] ?? "");
      const { body, encoding } = variantOf(file, accepted);
      const caching = file.isAsset ? "public, max-age=31536000, immutable" : "no-cache";
      const headers = {
        ...safetyHeaders(exchange, null),
        Vary: "Accept-Encoding",
        "Content-Type": file.contentType,
        "Cache-Control": caching,
        ...(encoding !== null && { "Content-Encoding": encoding }),
      };
      respond(request, response, 200, headers, body);
      return;
    }
    const isMissing = exchange.path.startsWith(assetsPath);
    const nonce = randomBytes(16).toString("base64url");
    const headers = {
      ...safetyHeaders(exchange, nonce),
      "Cache-Control": "no-store",
      "Content-Type": isMissing ? "text/plain" : "text/html; charset=utf-8",
    };
    if (isMissing) respond(request, response, 404, headers, "There is no such file.");
    else if (index === undefined) respond(request, response, 404, headers, notBuilt);
    else respond(request, response, 200, headers, index.replaceAll("__NONCE__", nonce));
  };
}

const assetsPath = "/console/assets/";

function readFiles(folder: string): ReadonlyMap<string, ConsoleFile> {
  if (!existsSync(folder)) return new Map();
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !isVariant(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    paths.map((path) => {
      const address = `/console${path.slice(folder.length).replaceAll("\\", "/")}`;
      const file = {
        contentType: contentTypeOf(path),
        isAsset: address.startsWith(assetsPath),
        plain: readFileSync(path),
        br: readIfThere(path + encodings.br),
        gzip: readIfThere(path + encodings.gzip),
      };
      return [address, file];
    }),
  );
}

function readIfThere(path: string): Buffer | null {
  return existsSync(path) ? readFileSync(path) : null;
}

function variantOf({ plain, br, gzip }: ConsoleFile, accepted: string) {
  if (br !== null && /\bbr\b/.test(accepted)) return { body: br, encoding: "br" };
  if (gzip !== null && /\bgzip\b/.test(accepted)) return { body: gzip, encoding: "gzip" };
  return { body: plain, encoding: null };
}

/**
 * Holds the console to its own files and the admin API. Its styles need the nonce of the index,
 * because the components write some of them as they are shown.
 */
function safetyHeaders({ requestId }: Exchange, nonce: string | null): HeaderFields {
  const styles = nonce === null ? "'self'" : `'self' 'nonce-${nonce}'`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return {
    "Request-Id": requestId,
    "Content-Security-Policy": policy,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  };
}
