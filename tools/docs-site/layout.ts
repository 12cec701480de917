/** The frame of every page: its head, the bar, the menu, and the way to other pages. */
import { inOrder, type Place, type PlaceGroup, siteName } from "./contents.ts";
import { escapeHtml, type Heading, type Rendered } from "./markdown.ts";
import { type Page, relativeLink } from "./page.ts";

/** The files that every page loads. */
export const assets = {
  tokens: "/docs/tokens.css",
  style: "/docs/style.css",
  script: "/docs/page.js",
  font: "/docs/inter.woff2",
  icon: "/docs/icon.svg",
} as const;

/** The page in place of one that is not there. It has no address of its own. */
export const notFoundAddress = "/docs/not-found";

/** What the pages of a site share. */
export interface Frame {
  readonly groups: readonly PlaceGroup[];
  readonly version: string;
}

/** Pages with fewer parts have no list of them. */
const fewestParts = 3;

/** Returns the HTML document of a rendered page. */
export function documentOf(page: Page, rendered: Rendered, { groups, version }: Frame): string {
  const { address } = page;
  const title = rendered.headings[0]?.text ?? siteName;
  const link = linksFrom(address);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title === siteName ? title : `${title} · ${siteName}`)}</title>
<link rel="preload" href="${link(assets.font)}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${link(assets.tokens)}">
<link rel="stylesheet" href="${link(assets.style)}">
<link rel="icon" href="${link(assets.icon)}" type="image/svg+xml">
${address === notFoundAddress ? "" : markdownLink(link(`${address}.md`))}\
<script type="module" src="${link(assets.script)}"></script>
</head>
<body class="${kindOf(page)}">
<a class="skip" href="#content">Skip to the content</a>
<header>
<button class="open" type="button" popovertarget="menu" aria-label="Menu"></button>
<a class="brand" href="${link("/docs")}"><img src="${link(assets.icon)}" alt="" \
width="24" height="24">${siteName}</a>
<search></search>
<span class="version">Version ${escapeHtml(version)}</span>
</header>
<nav id="menu" popover aria-label="Documentation">
${groups.map((group) => groupHtml(group, address)).join("\n")}
</nav>
<main id="content" tabindex="-1">
${placeHtml(groups, address)}${bodyHtml(rendered)}${turnHtml(groups, address)}</main>
</body>
</html>
`;
}

function markdownLink(href: string): string {
  return `<link rel="alternate" type="text/markdown" href="${href}">\n`;
}

function linksFrom(address: string): (to: string) => string {
  return (to) => escapeHtml(relativeLink(address, to));
}

function kindOf({ address, beside }: Page): string {
  if (address === "/docs") return "home";
  return address.startsWith("/docs/reference") ? `reference${beside ? " columns" : ""}` : "guide";
}

function groupHtml({ title, places }: PlaceGroup, address: string): string {
  return `<p>${escapeHtml(title)}</p>\n${listHtml(places, address)}`;
}

/** The pages below a page are shown in it and in them. */
function listHtml(places: readonly Place[], address: string): string {
  const items = places.map((place) => {
    const { page, name, below } = place;
    const isOpen = pathTo(address, [place]) !== null;
    const current = page.address === address ? "page" : "true";
    const mark = isOpen ? ` aria-current="${current}"` : "";
    const inner = isOpen && below.length > 0 ? `\n${listHtml(below, address)}` : "";
    const href = linksFrom(address)(page.address);
    return `<li><a href="${href}"${mark}>${escapeHtml(name)}</a>${inner}</li>`;
  });
  return `<ul>\n${items.join("\n")}\n</ul>`;
}

/** The places above a page and its own, or null if it is not among these and below them. */
function pathTo(address: string, places: readonly Place[]): readonly Place[] | null {
  for (const place of places) {
    if (place.page.address === address) return [place];
    const further = pathTo(address, place.below);
    if (further !== null) return [place, ...further];
  }
  return null;
}

/** The group and the pages above this one. */
function placeHtml(groups: readonly PlaceGroup[], address: string): string {
  const link = linksFrom(address);
  return groups
    .map(({ title, places }) => {
      const path = pathTo(address, places);
      if (path === null) return "";
      const above = path
        .slice(0, -1)
        .map(
          ({ page, name }) => `<li><a href="${link(page.address)}">${escapeHtml(name)}</a></li>`,
        );
      const list = [`<li>${escapeHtml(title)}</li>`, ...above].join("");
      return `<nav class="place" aria-label="Place"><ol>${list}</ol></nav>\n`;
    })
    .join("");
}

/** The list of the page's parts stands after its title, or beside the text. */
function bodyHtml({ html, beside, headings }: Rendered): string {
  if (beside !== "")
    return `<div class="text">\n${html}</div>\n<div class="beside">\n${beside}</div>\n`;
  const parts = headings.filter(({ level }) => level === 2);
  return parts.length < fewestParts
    ? html
    : html.replace("</h1>", () => `</h1>\n${partsHtml(parts)}`);
}

function partsHtml(parts: readonly Heading[]): string {
  const items = parts.map(
    ({ id, text }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="parts" aria-label="On this page"><p>On this page</p>
<ul>\n${items.join("\n")}\n</ul></nav>`;
}

function turnHtml(groups: readonly PlaceGroup[], address: string): string {
  const order = inOrder(groups);
  const at = order.findIndex(({ page }) => page.address === address);
  const turns = [
    ["prev", "Previous", at > 0 ? order[at - 1] : undefined],
    ["next", "Next", at < 0 ? undefined : order[at + 1]],
  ] as const;
  const links = turns.flatMap(([rel, word, place]) => {
    if (place === undefined) return [];
    const href = linksFrom(address)(place.page.address);
    return [`<a rel="${rel}" href="${href}"><span>${word}</span> ${escapeHtml(place.name)}</a>`];
  });
  return links.length === 0
    ? ""
    : `<nav class="turn" aria-label="Further pages">${links.join("\n")}</nav>\n`;
}
