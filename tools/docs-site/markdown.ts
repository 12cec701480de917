/**
 * Renders a page's Markdown as HTML without scripts and inline styles. HTML in the Markdown is
 * shown as text.
 */
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
  /** The first is the title. */
  readonly headings: readonly Heading[];
}

const parser = new MarkdownIt({ html: false, linkify: false, typographer: false });

/** Escapes a text for HTML and for an attribute in double quotes. */
export const escapeHtml: (text: string) => string = parser.utils.escapeHtml;

/** Renders a page. `served` has the targets of its links. */
export function renderMarkdown(page: Page, served: Served): Rendered {
  const tokens = parser.parse(page.markdown, {});
  const headings: Heading[] = [];
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
  return { html: parser.renderer.render(tokens, parser.options, {}), headings };
}

parser.renderer.rules.table_open = (tokens, index) => {
  const label = escapeHtml(`Table: ${tokens[index]?.meta?.under}`);
  return `<div class="wide" role="group" aria-label="${label}" tabindex="0"><table>\n`;
};
parser.renderer.rules.table_close = () => "</table></div>\n";

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
    if (token.type === "image") {
      const image = linkFrom(page, String(token.attrGet("src")), served, "html");
      if (image === null) throw new Error(`${page.address}: the site has no such image`);
      token.attrSet("src", image);
    }
    // A link to what the API does not serve is shown as its text. Links do not nest.
    if (isDead && (token.type === "link_open" || token.type === "link_close")) {
      isDead = token.type === "link_open";
      Object.assign(token, { type: "text", content: "", nesting: 0 });
    }
  }
}
