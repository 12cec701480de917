/**
 * A site of the documentation at `/docs`, and `/llms.txt`, as `npm run gen` rendered it. Its pages
 * load nothing from other hosts, and the headers hold them to it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { contentTypeOf, publishedFile } from "../../transport/http/published-file.ts";
import type { HttpAnswer } from "../../transport/http/system-endpoints.ts";
import type { HttpRequest } from "../../transport/rest/exchange.ts";
import { respond } from "../../transport/rest/respond.ts";

const headers = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
};

/** A site, and what browsers are answered at other addresses. */
export interface DocsSite {
  /** The answers by path. The path of a page has no extension. */
  readonly pages: ReadonlyMap<string, HttpAnswer>;
  /**
   * Returns the answer to all other paths: browsers come from `/` and `/docs/` to `/docs`, and see
   * a page where there is none. Everything else is for `rest`.
   */
  withBrowsers(rest: HttpAnswer): HttpAnswer;
}

/** Reads the site in `folder`. */
export function docsSite(folder: string): DocsSite {
  const files = new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => {
        const file = join(parentPath, name);
        const address = file.slice(folder.length).replaceAll(sep, "/");
        const contentType = contentTypeOf(name);
        return [address.replace(/\.html$/, ""), { contentType, body: readFileSync(file) }] as const;
      }),
  );
  const notFound = String(files.get(notFoundAddress)?.body);
  files.delete(notFoundAddress);
  const icon = files.get("/docs/icon.svg");
  if (icon !== undefined) files.set("/favicon.ico", icon);
  return {
    pages: new Map(
      [...files].map(([address, { body, contentType }]) => {
        // Without the pause of a question the text of each page is in its type at once.
        const caching = contentType === "font/woff2" ? { caching: "public, max-age=604800" } : {};
        return [address, publishedFile({ body, contentType, headers, ...caching })];
      }),
    ),
    withBrowsers: (rest) => (request, response, exchange) => {
      const { path, requestId } = exchange;
      const home = homes[path];
      const isAnswered = home !== undefined || path.startsWith("/docs/");
      if (request.method !== "GET" || !isAnswered || !isBrowser(request))
        return rest(request, response, exchange);
      exchange.protocol = null;
      const common = { "Request-Id": requestId, "X-Content-Type-Options": "nosniff" };
      if (home !== undefined)
        return respond(request, response, 303, { ...common, Location: home }, "");
      const page = { ...common, ...headers, "Content-Type": "text/html; charset=utf-8" };
      respond(request, response, 404, page, deepened(notFound, path));
    },
  };
}

const notFoundAddress = "/docs/not-found";

/** The first page, relative to these paths, so that a prefix of a proxy stays. */
const homes: Readonly<Record<string, string>> = { "/": "docs", "/docs/": "../docs" };

/** Makes the links of a page of `/docs/` lead to the same from a path below it. */
function deepened(html: string, path: string): string {
  const up = "../".repeat(path.split("/").length - notFoundAddress.split("/").length);
  return html.replaceAll(/ (href|src)="(?=[\w.])/g, ` $1="${up}`);
}

/** Whether a person asks. Programs are answered as the API answers. */
export function isBrowser({ headers: { accept = "" } }: HttpRequest): boolean {
  return accept.includes("text/html");
}
