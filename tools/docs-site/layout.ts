/** The frame of every page: its head, the menu, and the list of its parts. */
import { escapeHtml, type Heading, type Rendered } from "./markdown.ts";
import { type Page, relativeLink } from "./page.ts";

/** The name of the site. */
export const siteName = "Subscription billing";

/** The address of the style sheet. */
export const styleAddress = "/docs/style.css";

/** The pages of the menu. A page below one of them belongs to it. */
const menu: readonly (readonly [name: string, address: string])[] = [
  ["Start", "/docs/start"],
  ["Guide", "/docs/guide"],
  ["Reference", "/docs/reference"],
  ["Webhooks", "/docs/webhooks"],
  ["Errors", "/docs/errors"],
  ["Rules", "/docs/rules"],
  ["All pages", "/docs"],
];

/** Pages with fewer parts have no list of them. */
const fewestParts = 3;

/** Returns the HTML document of a rendered page. */
export function documentOf({ address }: Page, { html, headings }: Rendered): string {
  const title = headings[0]?.text ?? siteName;
  const link = (to: string): string => escapeHtml(relativeLink(address, to));
  const items = menu.map(
    ([name, to]) => `<li><a href="${link(to)}"${current(address, to)}>${name}</a></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title === siteName ? title : `${title} · ${siteName}`)}</title>
<link rel="stylesheet" href="${link(styleAddress)}">
<link rel="alternate" type="text/markdown" href="${link(`${address}.md`)}">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<nav aria-label="Documentation"><ul>
${items.join("\n")}
</ul></nav>
</header>
<main id="content" tabindex="-1">
${withParts(html, headings)}</main>
</body>
</html>
`;
}

function current(address: string, to: string): string {
  if (address === to) return ' aria-current="page"';
  return to !== "/docs" && address.startsWith(`${to}/`) ? ' aria-current="true"' : "";
}

/** Adds the list of the page's parts below its title. */
function withParts(html: string, headings: readonly Heading[]): string {
  const parts = headings.filter(({ level }) => level === 2);
  if (parts.length < fewestParts) return html;
  const items = parts.map(
    ({ id, text }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`,
  );
  const list = `<ul>\n${items.join("\n")}\n</ul>`;
  const nav = `<nav class="parts" aria-label="On this page">${list}</nav>`;
  return html.replace("</h1>", () => `</h1>\n${nav}`);
}
