/**
 * Serves the demo ledger's page as plain files. The page has no inline script or style, so that no
 * text of a document can run.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { demoLedgerPageFolder } from "../../../src/assets.ts";
import type { DemoAnswer } from "./api/answers.ts";

const script = "text/javascript; charset=utf-8";
const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  "/": ["ledger-documents.html", "text/html; charset=utf-8"],
  "/page/ledger-documents.css": ["ledger-documents.css", "text/css; charset=utf-8"],
  "/page/ledger-documents.js": ["ledger-documents.js", script],
  "/page/elements.js": ["elements.js", script],
  "/page/faults.js": ["faults.js", script],
  "/page/tables.js": ["tables.js", script],
};

const headers = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Returns a file of the page by its path, or null for another path. */
export async function pageAnswer(pathname: string): Promise<DemoAnswer | null> {
  const file = Object.hasOwn(files, pathname) ? files[pathname] : undefined;
  if (!file) return null;
  const [name, type] = file;
  const body = await readFile(join(demoLedgerPageFolder(), name), "utf8");
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
