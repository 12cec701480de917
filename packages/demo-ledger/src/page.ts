/**
 * Serves the demo ledger's page as plain files. The page has no inline script or style, so that no
 * text of a document can run. Its colours and type are those of the documentation.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { demoLedgerPageFolder, docsSiteFolder } from "../../../src/assets.ts";
import type { DemoAnswer } from "./api/answers.ts";

const page = demoLedgerPageFolder();
const docs = join(docsSiteFolder(), "platforms/docs");
const script = "text/javascript; charset=utf-8";
const style = "text/css; charset=utf-8";
const files: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": [join(page, "ledger-documents.html"), "text/html; charset=utf-8"],
  "/page/ledger-documents.css": [join(page, "ledger-documents.css"), style],
  "/page/ledger-documents.js": [join(page, "ledger-documents.js"), script],
  "/page/elements.js": [join(page, "elements.js"), script],
  "/page/faults.js": [join(page, "faults.js"), script],
  "/page/tables.js": [join(page, "tables.js"), script],
  "/page/tokens.css": [join(docs, "tokens.css"), style],
  "/page/inter.woff2": [join(docs, "inter.woff2"), "font/woff2"],
  "/page/icon.svg": [join(docs, "icon.svg"), "image/svg+xml"],
};

const headers = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; " +
    "connect-src 'self'; img-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** A file of the page. */
export interface PageAnswer extends Omit<DemoAnswer, "body"> {
  readonly body: Buffer;
}

/** Returns a file of the page by its path, or null for another path. */
export async function pageAnswer(pathname: string): Promise<PageAnswer | null> {
  const known = Object.hasOwn(files, pathname) ? files[pathname] : undefined;
  if (!known) return null;
  const [file, type] = known;
  const body = await readFile(file);
  return { status: 200, headers: { ...headers, "content-type": type }, body };
}

/**
 * Returns true if a browser with this Host header may see the routes without credentials: an
 * address, or a name without a dot. A page of a foreign domain that points to this machine sends
 * that domain's name.
 */
export function isOwnHost(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return (
    hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname) || !hostname.includes(".")
  );
}
