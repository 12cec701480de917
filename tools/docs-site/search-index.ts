/** The index of the search: each page and each of its sections, with the names in them. */
import type { Place, PlaceGroup } from "./contents.ts";
import type { Rendered } from "./markdown.ts";
import type { Page } from "./page.ts";

/** A section: its address below `/docs`, its title, what it is part of, and names in its text. */
type Section = readonly [address: string, title: string, above: string, names: string];

/** Returns the index of the rendered pages as JSON. `page.js` reads it. */
export function searchIndex(
  groups: readonly PlaceGroup[],
  rendered: ReadonlyMap<Page, Rendered>,
): string {
  const sectionsOf = (place: Place, above: string): readonly Section[] => [
    ...sectionsOfPage(place, above, rendered.get(place.page)?.html ?? ""),
    ...place.below.flatMap((further) => sectionsOf(further, place.name)),
  ];
  return JSON.stringify(
    groups.flatMap(({ title, places }) => places.flatMap((place) => sectionsOf(place, title))),
  );
}

/** Pages of the reference and of error codes have the same sections, so each is one. */
function sectionsOfPage({ page, name }: Place, above: string, html: string): readonly Section[] {
  const address = page.address.slice("/docs/".length);
  const isWhole = page.source === null || address.startsWith("errors/");
  const parts = isWhole ? [html] : html.split(/(?=<h[1-3] id=)/);
  return parts.flatMap((part, index) => {
    const [, id, title] = /^<h\d id="([^"]*)"[^>]*>(.*?)<\/h/.exec(part) ?? [];
    if (title === undefined) return [];
    return index === 0
      ? [[address, textOf(title), above, namesIn(part)] as const]
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
