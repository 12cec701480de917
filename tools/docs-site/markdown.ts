/**
 * Renders a page's Markdown as HTML without scripts and inline styles. HTML in the Markdown is
 * shown as text.
 */
import { posix } from "node:path";
import highlighter from "highlight.js";
import MarkdownIt, { type Token } from "markdown-it";
import { linkFrom, type Page, type Served, slugOf } from "./page.ts";

/** A heading of a page, with its anchor. */
export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

/** A rendered page. */
export interface Rendered {
  readonly html: string;
  /** What stands beside the text, or nothing. */
  readonly beside: string;
  /** The first is the title. */
  readonly headings: readonly Heading[];
}

/** What a fence of a group is: its place there, the titles of all, and the page's group. */
interface Tab {
  readonly index: number;
  readonly titles: readonly string[];
  readonly name: string;
}

const parser = new MarkdownIt({ html: false, linkify: false, typographer: false });

/** Escapes a text for HTML and for an attribute in double quotes. */
export const escapeHtml: (text: string) => string = parser.utils.escapeHtml;

/** Renders a page. `served` has the targets of its links. */
export function renderMarkdown(page: Page, served: Served): Rendered {
  const headings: Heading[] = [];
  const render = (markdown: string): string => {
    const tokens = parser.parse(markdown, {});
    for (const [index, token] of tokens.entries()) {
      if (token.type === "heading_open") {
        const heading = headingOf(token, tokens[index + 1], headings);
        token.attrSet("id", heading.id);
        headings.push(heading);
      }
      // A wide table scrolls alone, and so it can be reached by the keyboard.
      if (token.type === "table_open") token.meta = { under: headings.at(-1)?.text ?? "" };
      // The first cell of a table may head nothing.
      if (token.type === "th_open" && tokens[index + 1]?.content === "")
        for (const cell of [token, tokens[index + 2]]) if (cell !== undefined) cell.tag = "td";
      resolveTargets(token.children ?? [], page, served);
    }
    groupFences(tokens);
    return parser.renderer.render(tokens, parser.options, {});
  };
  return { html: render(page.markdown), beside: render(page.beside ?? ""), headings };
}

parser.renderer.rules.table_open = (tokens, index) => {
  const label = escapeHtml(`Table: ${tokens[index]?.meta?.under}`);
  return `<div class="wide" role="group" aria-label="${label}" tabindex="0"><table>\n`;
};
parser.renderer.rules.table_close = () => "</table></div>\n";

parser.renderer.rules.fence = (tokens, index) => {
  const { info = "", content = "", meta = null } = tokens[index] ?? {};
  const [language = ""] = info.split(" ");
  const code = highlighter.getLanguage(language)
    ? highlighter.highlight(content, { language }).value
    : escapeHtml(content);
  const block =
    '<div class="code"><pre role="group" aria-label="Code" tabindex="0">' +
    `<code>${code}</code></pre></div>\n`;
  return meta === null ? block : tabHtml(meta as unknown as Tab, block);
};

/** The choice works without a script: the style sheet shows the block of the chosen one. */
function tabHtml({ index, titles, name }: Tab, block: string): string {
  const choices = titles.map((title, at) => {
    const id = `${name}-${at}`;
    const checked = at === 0 ? " checked" : "";
    const text = escapeHtml(title);
    return (
      `<input type="radio" name="${name}" id="${id}" value="${text}"${checked}>` +
      `<label for="${id}">${text}</label>`
    );
  });
  const open = `<fieldset class="tabs"><legend>Language</legend>\n${choices.join("\n")}\n`;
  const panel = `<div class="panel">${block}</div>\n`;
  return `${index === 0 ? open : ""}${panel}${index === titles.length - 1 ? "</fieldset>\n" : ""}`;
}

/** Fences with a title (```` ```py Python ````) that follow each other are a choice. */
function groupFences(tokens: readonly Token[]): void {
  let groups = 0;
  let fences: Token[] = [];
  for (const token of tokens) {
    if (token.type === "fence" && titleOf(token) !== "") {
      fences.push(token);
      continue;
    }
    if (fences.length > 0) groups += 1;
    nameTabs(fences, `tabs-${groups}`);
    fences = [];
  }
  nameTabs(fences, `tabs-${groups + 1}`);
}

function nameTabs(fences: readonly Token[], name: string): void {
  const titles = fences.map(titleOf);
  for (const [index, fence] of fences.entries()) fence.meta = { index, titles, name };
}

function titleOf({ info }: Token): string {
  return info.split(" ").slice(1).join(" ");
}

/** Equal headings get a number, as on GitHub. */
function headingOf(
  { tag }: Token,
  inline: Token | undefined,
  earlier: readonly Heading[],
): Heading {
  const text = (inline?.children ?? []).map(({ content }) => content).join("");
  const slug = slugOf(text);
  const same = earlier.filter((heading) => slugOf(heading.text) === slug).length;
  return { level: Number(tag.slice(1)), id: same === 0 ? slug : `${slug}-${same}`, text };
}

function resolveTargets(tokens: readonly Token[], page: Page, served: Served): void {
  let isDead = false;
  for (const token of tokens) {
    if (token.type === "link_open") {
      const link = linkFrom(page, String(token.attrGet("href")), served, "html");
      isDead = link === null;
      if (link !== null) token.attrSet("href", link);
    }
    if (token.type === "image") showPicture(token, page, served);
    // A link to what the API does not serve is shown as its text. Links do not nest.
    if (isDead && (token.type === "link_open" || token.type === "link_close")) {
      isDead = token.type === "link_open";
      Object.assign(token, { type: "text", content: "", nesting: 0 });
    }
  }
}

/** A picture has its size, so that nothing moves when it comes. */
function showPicture(image: Token, page: Page, served: Served): void {
  const link = linkFrom(page, String(image.attrGet("src")), served, "html");
  const size =
    link === null ? undefined : served.get(posix.join(posix.dirname(page.address), link));
  if (link === null || typeof size !== "object")
    throw new Error(`${page.address}: the site has no such image`);
  image.attrSet("src", link);
  image.attrSet("width", String(size.width));
  image.attrSet("height", String(size.height));
  const dark = link.replace(/\.png$/, "-dark.png");
  if (served.has(posix.join(posix.dirname(page.address), dark))) image.meta = { dark };
}

const renderPicture = parser.renderer.rules.image;

/** A picture may have a twin for dark colours, whose name says so. */
parser.renderer.rules.image = (tokens, index, ...further) => {
  const html = renderPicture?.(tokens, index, ...further) ?? "";
  const dark = tokens[index]?.meta?.dark;
  if (dark === undefined) return html;
  const file = escapeHtml(String(dark));
  const source = `<source srcset="${file}" media="(prefers-color-scheme: dark)">`;
  return `<picture>${source}${html}</picture>`;
};
