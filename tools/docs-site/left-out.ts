/**
 * What the site leaves out of the repository's documentation. Its pages need no key. They are
 * for platforms, which call the service, and for operators, who run it and may have no repository.
 * The design and the work on the code are for contributors.
 */
import type { Reader } from "./contents.ts";
import { slugOf } from "./page.ts";

/** The folders, files and sections that are left out, with their reasons. */
export const leftOut: Readonly<Record<string, string>> = {
  "README.md#test-it": "the tests of the repository",
  "README.md#layout": "the folders of the code",
  "README.md#documentation": "the page /docs has the list",
  "README.md#licence": "the licence of the code, not of the interface",
  "docs/adr/": "decisions about the design",
  "docs/architecture.md": "the design: layers, and where to add things",
  "docs/glossary.md": "the words of the code, by folder",
  "docs/ledger.md#add-a-ledger": "how to write an adapter",
  "docs/workflows.md#changing-a-workflow": "how to change the code of a workflow",
};

/** What the site for platforms leaves out in addition. */
const ofAdminApi = "docs/errors/README.md#admin-api";

/**
 * Returns what a reader's site leaves out. Codes that only the admin API answers are for operators,
 * and their pages say so.
 */
export function leftOutFor(reader: Reader, source: string, markdown: string): readonly string[] {
  const all = Object.keys(leftOut);
  if (reader === "operators") return all;
  const isOfAdminApi = source.startsWith("docs/errors/") && markdown.includes("Of the admin API.");
  return [...all, ofAdminApi, ...(isOfAdminApi ? [source] : [])];
}

/**
 * Returns the Markdown of a file without the sections that are left out, or null if the whole file
 * is. Throws if the file has no such section.
 */
export function publishedMarkdown(
  source: string,
  markdown: string,
  unpublished: readonly string[],
): string | null {
  if (unpublished.some((path) => path === source || isFolderOf(path, source))) return null;
  const slugs = unpublished
    .filter((path) => path.startsWith(`${source}#`))
    .map((path) => path.slice(source.length + 1));
  const sections = markdown.split(/^(?=## )/m).map((text) => ({ text, slug: sectionSlug(text) }));
  const renamed = slugs.find((slug) => !sections.some((section) => section.slug === slug));
  if (renamed !== undefined) throw new Error(`${source} has no section ${renamed}`);
  return sections
    .filter(({ slug }) => !slugs.includes(slug))
    .map(({ text }) => text)
    .join("");
}

function isFolderOf(path: string, source: string): boolean {
  return path.endsWith("/") && source.startsWith(path);
}

function sectionSlug(section: string): string {
  return slugOf(/^## (.*)/.exec(section)?.[1] ?? "");
}
