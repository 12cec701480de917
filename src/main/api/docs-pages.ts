/**
 * The reference and the guides at `/docs`, and `/llms.txt`, as `npm run gen` rendered them. They
 * need no script and load nothing from other hosts, and the headers hold them to it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { entityTagOf, publishedFile } from "../../transport/http/published-file.ts";
import type { HttpAnswer } from "../../transport/http/system-endpoints.ts";

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".png": "image/png",
};

const headers = [
  "Content-Security-Policy",
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  "Referrer-Policy",
  "no-referrer",
];

/**
 * Reads the files of the site in `folder`. Returns the answers by path. The path of a page has no
 * extension.
 */
export function docsPages(folder: string): ReadonlyMap<string, HttpAnswer> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    files
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => {
        const file = join(parentPath, name);
        const body = readFileSync(file);
        const contentType = contentTypes[extname(name)] ?? "application/octet-stream";
        const address = file
          .slice(folder.length)
          .replaceAll(sep, "/")
          .replace(/\.html$/, "");
        return [
          address,
          publishedFile({ body, etag: entityTagOf(body), contentType, headers }),
        ] as const;
      }),
  );
}
