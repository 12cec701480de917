/** The index of the search: each page and each of its sections, with the names in them. */
import { inOrder, type Place, type PlaceGroup } from "./contents.ts";
import type { Rendered } from "./markdown.ts";
import type { Page } from "./page.ts";

/** A section: its address below `/docs`, its title, what it is part of, and names in its text. */
type Section = readonly [address: string, title: string, above: string, names: string];

/** Returns the index of the rendered pages as JSON. `page.js` reads it. */
export function searchIndex(
  groups: readonly PlaceGroup[],
  rendered: ReadonlyMap<Page, Rendered>,
): string {
  const sections = groups.flatMap((group) =>
    inOrder([group]).flatMap((place) =>
      sectionsOf(place, rendered.get(place.page)?.html ?? "", group.title),
    ),
  );
  return JSON.stringify(sections);
}

/** The sections of generated pages and of error codes have the same titles on each, so they are one. */
function sectionsOf({ page, name }: Place, html: string, group: string): readonly Section[] {
  const address = page.address.slice("/docs/".length);
  const isWhole = page.source === null || address.startsWith("errors/");
  const parts = isWhole ? [html] : html.split(/(?=<h[1-3] id=)/);
  return parts.flatMap((part, index) => {
    const [, id, title] = /^<h\d id="([^"]*)"[^>]*>(.*?)<\/h/.exec(part) ?? [];
    if (title === undefined) return [];
    return index === 0
      ? [[address, textOf(title), group, namesIn(part)] as const]
      : [[`${address}#${id}`, textOf(title), name, namesIn(part)] as const];
  });
}

/** Words in code and ids of rules are what people look for: fields, settings, codes. */
function namesIn(html: string): string {
  const prose = html.replaceAll(/<pre.*?<\/pre>/gs, "");
  const marked = prose.match(/<code>.*?<\/code>|<strong>[A-Z]+-\d+<\/strong>/g) ?? [];
  const words = marked.flatMap((text) => textOf(text).match(/[\p{L}\p{N}_-]{3,}/gu) ?? []);
  return [...new Set(words)].join(" ");
}

function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
