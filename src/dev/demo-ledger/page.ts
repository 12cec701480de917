/** The page of the books: plain files beside this one, without script or style in the page itself, so that nothing that a document says can run. */
import { readFile } from "node:fs/promises";
import type { DemoAnswer } from "./api/answers.ts";

const script = "text/javascript; charset=utf-8";
const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  "/": ["books.html", "text/html; charset=utf-8"],
  "/page/books.css": ["books.css", "text/css; charset=utf-8"],
  "/page/books.js": ["books.js", script],
  "/page/elements.js": ["elements.js", script],
  "/page/faults.js": ["faults.js", script],
  "/page/tables.js": ["tables.js", script],
};

const headers = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** A file of the page by its path, or null where the path is none of them. */
export async function pageAnswer(pathname: string): Promise<DemoAnswer | null> {
  const file = Object.hasOwn(files, pathname) ? files[pathname] : undefined;
  if (!file) return null;
  const [name, type] = file;
  const body = await readFile(new URL(`./page/${name}`, import.meta.url), "utf8");
  return { status: 200, headers: { ...headers, "content-type": type }, body };
}

/**
 * True where a browser may be shown the routes without credentials by this Host header: an address, or a name without a dot. A page of
 * somebody else's domain, pointed at this machine, comes by its own name.
 */
export function isOwnHost(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname) || !hostname.includes(".");
}
