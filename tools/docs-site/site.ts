/** All files of the documentation site, by address. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assertListed, contentsPage, llmsText } from "./contents.ts";
import { documentOf, styleAddress } from "./layout.ts";
import { publishedMarkdown } from "./left-out.ts";
import { renderMarkdown } from "./markdown.ts";
import type { OpenApi } from "./openapi.ts";
import { addressOf, furtherSources, markdownCopy, type Page, type Served } from "./page.ts";
import { referencePages } from "./reference.ts";

/** A file of the site: the path below its folder, and its content. */
export interface SiteFile {
  readonly path: string;
  readonly content: string | Buffer;
}

/** Addresses of the site that are no pages, and an address of the API to which pages link. */
const files = [styleAddress, "/llms.txt", "/v1/openapi.json"];

/**
 * Returns the site of the repository at `root`: the guides, the reference of the OpenAPI document
 * and the contents, each as HTML and as Markdown. Throws if the contents do not list a page.
 */
export function siteFiles(root: string, document: OpenApi): readonly SiteFile[] {
  const paths = readdirSync(join(root, "docs"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
    .sort();
  const images = paths.filter((path) => path.endsWith(".png"));
  const sources = [...furtherSources, ...paths.filter((path) => path.endsWith(".md"))];
  const guides = sources.flatMap((source) => guidePages(root, source));
  const reference = referencePages(document);
  assertListed([...guides, ...reference]);
  const pages = [contentsPage(reference), ...guides, ...reference];
  const served: Served = new Map([
    ...pages.map(({ address }) => [address, "page"] as const),
    ...[...files, ...images.map((path) => `/${path}`)].map((address) => [address, "file"] as const),
  ]);
  return [
    ...pages.flatMap((page) => pageFiles(page, served)),
    ...images.map((path) => ({ path, content: readFileSync(join(root, path)) })),
    {
      path: styleAddress.slice(1),
      content: readFileSync(join(import.meta.dirname, "style.css"), "utf8"),
    },
    { path: "llms.txt", content: llmsText(reference) },
  ];
}

/** Returns the page of a file, or none if it is left out. */
function guidePages(root: string, source: string): readonly Page[] {
  const markdown = publishedMarkdown(source, readFileSync(join(root, source), "utf8"));
  return markdown === null ? [] : [{ address: addressOf(source) ?? "", source, markdown }];
}

function pageFiles(page: Page, served: Served): readonly SiteFile[] {
  const path = page.address.slice(1);
  return [
    { path: `${path}.html`, content: documentOf(page, renderMarkdown(page, served)) },
    { path: `${path}.md`, content: markdownCopy(page, served) },
  ];
}
