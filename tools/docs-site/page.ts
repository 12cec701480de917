/** The pages of the documentation site at `/docs`: their addresses, and the links between them. */
import { posix } from "node:path";

/** A page before it is rendered. */
export interface Page {
  /** Its path at the API: `/docs/errors/rate_limited`. */
  readonly address: string;
  /** Its file in the repository, from which its links lead. Null for a generated page. */
  readonly source: string | null;
  readonly markdown: string;
  /** Its name in the menu, if the title is too long for it. */
  readonly name?: string;
  /** What stands beside the text if there is room, or else below it. */
  readonly beside?: string;
}

/** The size of a picture. */
export interface Picture {
  readonly width: number;
  readonly height: number;
}

/**
 * What the API serves, by address: a page has HTML and Markdown, a picture and any other file are
 * as they are.
 */
export type Served = ReadonlyMap<string, "page" | "file" | Picture>;

/** Pages outside `docs/` that platforms need. */
const furtherPages: Readonly<Record<string, string>> = {
  "README.md": "/docs/start",
  "packages/client/README.md": "/docs/typescript-client",
};

/** The files of {@link furtherPages}. */
export const furtherSources: readonly string[] = Object.keys(furtherPages);

/**
 * Returns the address of a file of the repository, or null if the site does not have it. A README
 * is the page of its folder.
 */
export function addressOf(source: string): string | null {
  const further = furtherPages[source];
  if (further !== undefined) return further;
  if (!source.startsWith("docs/")) return null;
  return `/${source.replace(/(?:\/README)?\.md$/, "")}`;
}

/**
 * Returns the link from a page to a target of its text, or null if the API does not serve the
 * target. Links are relative, so that they work behind a proxy that adds a prefix.
 */
export function linkFrom(
  page: Pick<Page, "address" | "source">,
  target: string,
  served: Served,
  form: "html" | "markdown",
): string | null {
  if (/^[a-z]+:/.test(target) || target.startsWith("#")) return target;
  const [path = "", anchor] = target.split("#");
  const address = path.startsWith("/")
    ? path
    : addressOf(posix.join(posix.dirname(page.source ?? ""), path));
  const kind = address === null ? undefined : served.get(address);
  if (address === null || kind === undefined) return null;
  const file = kind === "page" && form === "markdown" ? `${address}.md` : address;
  return relativeLink(page.address, file) + (anchor === undefined ? "" : `#${anchor}`);
}

/** Returns the relative link from one address to another. */
export function relativeLink(from: string, to: string): string {
  const folder = posix.relative(posix.dirname(from), posix.dirname(to));
  return posix.join(folder, posix.basename(to));
}

/** Returns the anchor of a heading, by the rule of GitHub. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** Returns the title of a page. */
export function titleOf({ markdown }: Page): string {
  return markdown.slice("# ".length, markdown.indexOf("\n"));
}

/**
 * Returns a page's Markdown with links that lead to the Markdown of other pages. A link to what the
 * API does not serve becomes its text.
 */
export function markdownCopy(page: Page, served: Served): string {
  return [page.markdown, ...(page.beside === undefined ? [] : [page.beside])]
    .join("\n")
    .split(/(^```.*?^```$)/ms)
    .map((part) => (part.startsWith("```") ? part : withLinks(part, page, served)))
    .join("");
}

function withLinks(text: string, page: Page, served: Served): string {
  return text.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (_whole, mark, words, target) => {
    const link = linkFrom(page, target, served, "markdown");
    return link === null ? words : `${mark}[${words}](${link})`;
  });
}
