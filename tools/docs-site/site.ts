/** All files of the documentation site, by address. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assetFiles } from "./asset-files.ts";
import { contentsPage, inOrder, llmsText, placesOf, type Reader } from "./contents.ts";
import { withAnswers } from "./error-pages.ts";
import { documentOf, notFoundAddress } from "./layout.ts";
import { leftOutFor, publishedMarkdown } from "./left-out.ts";
import { renderMarkdown } from "./markdown.ts";
import type { OpenApi } from "./openapi.ts";
import { addressOf, furtherSources, markdownCopy, type Page, type Picture } from "./page.ts";
import { referencePages } from "./reference.ts";
import { searchIndex } from "./search-index.ts";

/** A file of the site: the path below its folder, and its content. */
export interface SiteFile {
  readonly path: string;
  readonly content: string | Buffer;
}

/** The address for programs, which is only on the public port. */
const openapi = ["/v1/openapi.json", "/v1/openapi.yaml"];

/** What the API answers a browser with status 404, at whatever address. */
const notFound: Page = {
  address: notFoundAddress,
  source: null,
  markdown:
    "# There is no such page\n\nThe menu has all pages, and `/` begins a search. " +
    "[All pages](/docs) are listed on the first one.\n",
};

/**
 * Returns a reader's site of the repository at `root`: the guides, the reference of the OpenAPI
 * document and the contents, each as HTML and as Markdown.
 */
export function siteFiles(root: string, document: OpenApi, reader: Reader): readonly SiteFile[] {
  const read = (path: string) => readFileSync(join(root, path));
  const paths = readdirSync(join(root, "docs"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
    .sort();
  const sources = [...furtherSources, ...paths.filter((path) => path.endsWith(".md"))];
  const guides = sources.flatMap((source) => guidePages(reader, source, String(read(source))));
  const groups = placesOf([...withAnswers(guides, document), ...referencePages(document)], reader);
  const contents = contentsPage(groups, reader);
  const pages = [contents, ...inOrder(groups).map(({ page }) => page)];
  const images = paths.filter((path) => path.endsWith(".png"));
  const others = ["/llms.txt", ...(reader === "platforms" ? openapi : [])];
  const served = new Map<string, "page" | "file" | Picture>([
    ...pages.map(({ address }) => [address, "page"] as const),
    ...others.map((address) => [address, "file"] as const),
    ...images.map((path) => [`/${path}`, sizeOf(read(path))] as const),
  ]);
  const { version } = JSON.parse(String(read("package.json")));
  const rendered = new Map(pages.map((page) => [page, renderMarkdown(page, served)]));
  const htmlFiles = [...rendered, [notFound, renderMarkdown(notFound, served)] as const].map(
    ([page, parts]) => ({
      path: `${page.address.slice(1)}.html`,
      content: documentOf(page, parts, { groups, version }),
    }),
  );
  return [
    ...htmlFiles,
    ...pages.map((page) => ({
      path: `${page.address.slice(1)}.md`,
      content: markdownCopy(page, served),
    })),
    // An image goes with the pages that show it.
    ...images
      .filter((path) =>
        htmlFiles.some(({ content }) => content.includes(path.slice("docs/".length))),
      )
      .map((path) => ({ path, content: read(path) })),
    ...assetFiles(root),
    { path: "docs/search-index.json", content: searchIndex(groups, rendered) },
    { path: "llms.txt", content: llmsText(groups, reader === "platforms") },
  ];
}

/** Returns the page of a file, or none if it is left out. */
function guidePages(reader: Reader, source: string, text: string): readonly Page[] {
  const markdown = publishedMarkdown(source, text, leftOutFor(reader, source, text));
  return markdown === null ? [] : [{ address: addressOf(source) ?? "", source, markdown }];
}

/** A PNG has its size in the first chunk. */
function sizeOf(png: Buffer): Picture {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}
