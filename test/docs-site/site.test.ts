/**
 * The documentation site as `npm run gen` writes it: every page is there, every link leads to
 * something that the API serves, and the reference has all of the contract.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { refusals } from "../../src/domain/refusal.ts";
import { placesOf } from "../../tools/docs-site/contents.ts";
import { leftOut, publishedMarkdown } from "../../tools/docs-site/left-out.ts";
import { renderMarkdown } from "../../tools/docs-site/markdown.ts";
import type { OpenApi } from "../../tools/docs-site/openapi.ts";
import { addressOf, markdownCopy } from "../../tools/docs-site/page.ts";
import { siteFiles } from "../../tools/docs-site/site.ts";
import { errorPage } from "../../tools/openapi/errors.ts";
import { document as published } from "../contract/answer-check.ts";

const root = join(import.meta.dirname, "../..");
const document = published as unknown as OpenApi;
const filesFor = (reader: "platforms" | "operators") =>
  new Map(
    siteFiles(root, document, reader).map(({ path, content }) => [`/${path}`, String(content)]),
  );
const pagesOf = (site: ReadonlyMap<string, string>) =>
  [...site]
    .filter(([path]) => path.endsWith(".html"))
    .map(([path, html]) => ({ address: path.replace(/\.html$/, ""), html }));
/** Operators have all pages. */
const files = filesFor("operators");
const publicFiles = filesFor("platforms");
const pages = pagesOf(files);
const notFound = "/docs/not-found";
const htmlOf = (address: string): string => files.get(`${address}.html`) ?? "";
const markdownOf = (address: string): string => files.get(`${address}.md`) ?? "";
const wholeFiles = Object.keys(leftOut).filter((path) => !path.includes("#"));
const idsOf = (html: string): readonly string[] =>
  [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id);

const site = "http://site.example";

const openapi = /^\/v1\/openapi\.(?:json|yaml)$/;

/** Whether the API serves the target of a link, and the target has the anchor. */
function leadsSomewhere(link: string, address: string, all: typeof files): boolean {
  const { origin, pathname, hash } = new URL(link.replaceAll("&amp;", "&"), site + address);
  if (origin !== site) return link.startsWith("https://");
  if (openapi.test(pathname)) return all === publicFiles;
  const html = all.get(`${pathname}.html`) ?? "";
  if (!all.has(pathname) && html === "") return false;
  return hash === "" || idsOf(html).includes(decodeURIComponent(hash.slice(1)));
}

describe("pages", () => {
  test("each Markdown file below docs is a page unless it is left out", () => {
    const sources = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".md"))
      .filter((path) => publishedMarkdown(`docs/${path}`, "", wholeFiles) !== null)
      .map((path) => `/docs/${path.replace(/(?:\/README)?\.md$/, "")}`);
    expect(sources.length).toBeGreaterThan(90);
    const all = new Set([...sources, "/docs", "/docs/start", "/docs/typescript-client"]);
    const isGuide = (address: string) =>
      !address.startsWith("/docs/reference") && address !== notFound;
    const guides = pages.filter(({ address }) => isGuide(address));
    expect(new Set(guides.map(({ address }) => address))).toEqual(all);
    expect([...all].filter((address) => markdownOf(address) === "")).toEqual([]);
  });

  test("nothing that is left out is published", () => {
    for (const path of Object.keys(leftOut)) {
      const [source = "", slug] = path.split("#");
      const address = addressOf(source) ?? "";
      if (slug === undefined)
        expect([...files.keys()].filter((one) => one.startsWith(address))).toEqual([]);
      else expect(idsOf(htmlOf(address))).not.toContain(slug);
    }
    expect(idsOf(htmlOf("/docs/start"))).toContain("call-it");
  });

  test("each error code has a page at the address that the OpenAPI document links", () => {
    const codes = Object.keys(refusals) as (keyof typeof refusals)[];
    expect(codes.filter((code) => !htmlOf(errorPage(code)).includes(`>${code}</h1>`))).toEqual([]);
  });

  test("each link of a page leads to a page, a file or an anchor, or to another site", () => {
    const brokenOf = (all: typeof files) =>
      pagesOf(all).flatMap(({ address, html }) =>
        [...html.matchAll(/\s(?:href|src|srcset)="([^"]*)"/g)]
          .map(([, link = ""]) => link)
          .filter((link) => !leadsSomewhere(link, address, all))
          .map((link) => `${address}: ${link}`),
      );
    expect(brokenOf(files)).toEqual([]);
    expect(brokenOf(publicFiles)).toEqual([]);
    expect(htmlOf("/docs/guide")).toContain('href="rules"');
    expect(htmlOf("/docs/errors")).toContain('href="errors/rate_limited"');
    expect(htmlOf("/docs/guide")).toContain('href="start#call-it"');
  });

  test("a page loads nothing from another host, and has no script and style in it", () => {
    const inline = /<(?:style|iframe|object|embed|form|base)\b|<[^>]*\s(?:on\w+|style)=/i;
    for (const { address, html } of pages) {
      expect([address, inline.exec(html)?.[0]]).toEqual([address, undefined]);
      const scripts = [...html.matchAll(/<script\b.*/g)].map(([script]) => script);
      expect(scripts).toHaveLength(1);
      expect(scripts[0]).toMatch(
        /^<script type="module" src="[./]*(?:docs\/)?page\.js"><\/script>$/,
      );
      const loaded = [...html.matchAll(/<(?:img|link|script)\b[^>]*\s(?:src|href)="([^"]*)"/g)];
      expect(loaded.length).toBeGreaterThan(0);
      expect(loaded.filter(([, link = ""]) => /^(?:[a-z]+:|\/)/.test(link))).toEqual([]);
    }
  });

  test("a page has one title, no skipped level of headings and unique anchors", () => {
    for (const { address, html } of pages) {
      const levels = [...html.matchAll(/<h([1-6])\b/g)].map(([, level]) => Number(level));
      expect([address, levels.filter((level) => level === 1).length, levels[0]]).toEqual([
        address,
        1,
        1,
      ]);
      const skips = levels.filter((level, at) => level > (levels[at - 1] ?? level) + 1);
      expect([address, skips]).toEqual([address, []]);
      expect([address, new Set(idsOf(html)).size]).toEqual([address, idsOf(html).length]);
    }
  });

  test("no file names a path of this machine", () => {
    expect([...files].filter(([, text]) => text.includes(root)).map(([path]) => path)).toEqual([]);
  });

  test("the site of the public port has no page and no word of a page for operators", () => {
    const kept = ["/docs/start", "/docs/rules/units", "/docs/errors/insufficient_scope"];
    for (const address of kept) expect(publicFiles.has(`${address}.html`)).toBe(true);
    const forOperators = [
      "console",
      "ledger",
      "operations/run",
      "configuration",
      "rules/admin",
      "errors/insufficient_role",
    ];
    for (const name of forOperators) {
      expect(files.has(`/docs/${name}.html`)).toBe(true);
      for (const form of ["html", "md"])
        expect(publicFiles.has(`/docs/${name}.${form}`)).toBe(false);
    }
    for (const path of ["/llms.txt", "/docs/search-index.json", "/docs/start.html"])
      expect(publicFiles.get(path)).not.toMatch(/CONSOLE_HOSTS|operations\/run/);
  });

  test("a page shows its place, and the pages before and after it", () => {
    const html = publicFiles.get("/docs/errors/rate_limited.html") ?? "";
    expect(html).toContain(
      '<ol><li>For platforms</li><li><a href="../errors">Errors</a></li></ol>',
    );
    expect(html).toContain('<a href="../errors" aria-current="true">Errors</a>');
    expect(html).toContain('<a href="rate_limited" aria-current="page">rate_limited</a>');
    expect(html).toMatch(/<a rel="prev" href="\w+"><span>Previous<\/span> proration_unavailable</);
    expect(html).toMatch(/<a rel="next" href="\w+"><span>Next<\/span> renewal_invoice_not/);
  });

  test("the page of a rejected usage event's code has the result with it", () => {
    const text = markdownOf("/docs/errors/meter_not_on_plan");
    expect(text).toMatch(/"status": "rejected",\n {2}"error": \{\n {4}"code": "meter_not_on_plan"/);
    expect(text).toContain("(../reference/usage-events/report-usage.md), in `results`");
  });

  test("the search finds each page, and the sections of guides by the names in them", () => {
    const index: readonly string[][] = JSON.parse(files.get("/docs/search-index.json") ?? "");
    const known = new Set(index.map(([address]) => `/docs/${address}`));
    const missing = pages.filter(({ address }) => !known.has(address));
    expect(missing.map(({ address }) => address)).toEqual(["/docs", notFound]);
    expect(index.filter(([address = ""]) => !leadsSomewhere(address, "/docs/", files))).toEqual([]);
    const named = (word: string) =>
      index.filter(([, , , names = ""]) => names.split(" ").includes(word)).map(([at]) => at);
    expect(named("CONSOLE_HOSTS")).toContain("console#reach-it-from-elsewhere");
    expect(named("UNITS-2")).toContain("rules/units");
    expect(named("proration_behaviour")).toContain("reference/subscriptions/change-units");
  });

  test("a section that is left out and has another title now is an error that names it", () => {
    expect(publishedMarkdown("a.md", "# A\n\n## B c\n\nd\n## E\n", ["a.md#b-c"])).toBe(
      "# A\n\n## E\n",
    );
    expect(() => publishedMarkdown("a.md", "# A\n\n## E\n", ["a.md#b-c"])).toThrow("b-c");
  });

  test("a page that the contents do not list is an error that names it", () => {
    const page = { address: "/docs/forgotten", source: null, markdown: "# Forgotten\n" };
    expect(() => placesOf([page], "platforms")).toThrow("/docs/forgotten");
  });
});

describe("Markdown", () => {
  const page = (markdown: string) => ({ address: "/docs/one", source: "docs/one.md", markdown });
  const served = new Map([["/docs/rules", "page"] as const]);
  const render = (markdown: string) => renderMarkdown(page(markdown), served).html;

  test("HTML in a page is shown as text, and a script as a link's target is no link", () => {
    expect(render("<img src=x onerror=run()>")).toBe("<p>&lt;img src=x onerror=run()&gt;</p>\n");
    expect(render("[x](javascript:run())")).not.toContain("<a");
  });

  test("a link to a file that the API does not serve is shown as its text", () => {
    const text = "[rules](rules/README.md#x), [code](../src/main.ts) and [these](rules/README.md)";
    expect(render(text)).toBe(
      '<p><a href="rules#x">rules</a>, code and <a href="rules">these</a></p>\n',
    );
    expect(markdownCopy(page(text), served)).toBe(
      "[rules](rules.md#x), code and [these](rules.md)",
    );
  });

  test("an image that the site does not have is an error", () => {
    expect(() => render("![x](images/none.png)")).toThrow("/docs/one");
  });

  test("a picture has its size, and a twin for dark colours if there is one", () => {
    const html = htmlOf("/docs");
    expect(html).toContain('<source srcset="docs/images/console/overview-dark.png" media=');
    expect(html).toContain('overview.png" alt="The console: ');
    expect(html).toContain('width="1280" height="800"></picture>');
    expect(htmlOf("/docs/console").match(/<source /g)).toHaveLength(1);
  });

  test("a column without a name has no header", () => {
    expect(render("| | a |\n|-|-|\n| b | c |\n")).toContain("<td></td>\n<th>a</th>");
  });

  test("code is coloured without a style, and blocks with titles are a choice", () => {
    expect(render("```sh\necho 'a < b'\n```\n")).toContain(
      '<span class="hljs-string">&#x27;a &lt; b&#x27;</span>',
    );
    const choice = render("```sh curl\na\n```\n\n```py Python\nb\n```\n\n```sh\nc\n```\n");
    expect(choice.match(/<input type="radio" name="tabs-1"/g)).toHaveLength(2);
    expect(choice.match(/<div class="panel">/g)).toHaveLength(2);
    expect(choice.match(/<pre /g)).toHaveLength(3);
  });

  test("blocks of code are copied as they are", () => {
    const block = "```ts\nconst x = list[0](../a);\n```\n";
    expect(markdownCopy(page(block), served)).toBe(block);
  });

  test("equal headings have different anchors", () => {
    const { headings } = renderMarkdown(page("# A\n\n## `b` c\n\n## `b` c\n"), served);
    expect(headings.map(({ id }) => id)).toEqual(["a", "b-c", "b-c-1"]);
  });
});

describe("reference", () => {
  test("each operation has a page with its request, parameters, members, codes and samples", () => {
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([verb, operation]) => ({ path, verb, operation })),
    );
    expect(operations.length).toBeGreaterThan(20);
    const generated = [...files.keys()].filter((path) => path.startsWith("/docs/reference/"));
    for (const { path, verb, operation } of operations) {
      const start = `# ${operation.summary}\n\n\`${verb.toUpperCase()} ${path}\`\n`;
      const [address = ""] = generated.filter((one) => files.get(one)?.startsWith(start));
      const own = files.get(address) ?? "";
      expect(own).toContain(start);
      for (const { name } of operation.parameters ?? []) expect(own).toContain(`**\`${name}\`**`);
      const ref = operation.requestBody?.content["application/json"].schema.$ref?.split("/").at(-1);
      const { properties = {} } = document.components.schemas[ref ?? ""] ?? {};
      for (const name of Object.keys(properties)) expect(own).toContain(`**\`${name}\`**`);
      const descriptions = Object.values(operation.responses).map((one) => one.description);
      const codes = descriptions.flatMap((one) => [...one.matchAll(/^\[`(\w+)`\]/gm)]);
      expect(codes.length).toBeGreaterThan(3);
      for (const [, code] of codes) {
        expect(own).toContain(`[\`${code}\`](../../errors/${code}.md)`);
        const answered = markdownOf(`/docs/errors/${code}`);
        expect(answered).toMatch(new RegExp(`"code": "${code}"`));
        if (!answered.includes("Every operation."))
          expect(answered).toContain(`[${operation.summary}](${address.replace("/docs", "..")})`);
      }
      for (const { source = "" } of operation["x-codeSamples"] ?? []) expect(own).toContain(source);
      expect(files.get(address.replace(/md$/, "html"))).toMatch(
        /<fieldset class="tabs">.*>curl<.*>TypeScript<.*>Python<.*>Go</s,
      );
    }
  });

  test("each object and each event has a page", () => {
    for (const [name, { properties = {} }] of Object.entries(document.components.schemas)) {
      const link = new RegExp(`^- \\[${name}\\]\\(objects/(.*)\\.md\\)$`, "m");
      const [, slug] = link.exec(markdownOf("/docs/reference/objects")) ?? [];
      const own = markdownOf(`/docs/reference/objects/${slug}`);
      expect(own).toContain(`# ${name}\n`);
      for (const member of Object.keys(properties)) expect(own).toContain(`**\`${member}\`**`);
    }
    for (const type of Object.keys(document.webhooks))
      expect(markdownOf(`/docs/reference/webhooks/${type.replaceAll(/[._]/g, "-")}`)).toContain(
        `"type": "${type}"`,
      );
  });

  test("a member has its type, its bounds and whether it is required", () => {
    const text = (name: string) => markdownOf(`/docs/reference/${name}`);
    expect(text("subscriptions/change-units")).toContain(
      "- **`units`** *integer, 0 to 1000000000, required*\\\n  The new total",
    );
    expect(text("plans/list-plans")).toContain(
      "- **`limit`** *in the query, integer, 1 to 100, `25` if left out*\\\n",
    );
    expect(text("objects/created-subscription")).toContain(
      "- **`invoice`** *[Invoice](invoice.md) or null, required*\\\n",
    );
  });
});

describe("for programs", () => {
  test("the links of Markdown lead to Markdown, to files or to other sites", () => {
    const texts = [...files].filter(([path]) => /\.(?:md|txt)$/.test(path));
    const broken = texts.flatMap(([path, text]) =>
      [...text.replace(/^```.*?^```$/gms, "").matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, link = ""]) => new URL(link, site + path))
        .filter(({ origin, pathname }) => {
          return origin === site && !openapi.test(pathname) && !files.has(pathname);
        })
        .map(({ pathname }) => `${path}: ${pathname}`),
    );
    expect(broken).toEqual([]);
    expect(files.get("/docs/guide.md")).toContain("](rules.md)");
  });

  test("llms.txt has a title, a summary and lists of links with their subjects", () => {
    const text = files.get("/llms.txt") ?? "";
    expect(text).toMatch(/^# [^\n]+\n\n> [^\n]+\n\n## /);
    const lines = text
      .split("\n")
      .slice(4)
      .filter((line) => line !== "");
    expect(lines.length).toBeGreaterThan(25);
    for (const line of lines) expect(line).toMatch(/^(?:## \S.*|- \[[^\]]+\]\([^)]+\): \S.*)$/);
    expect(text).toContain("- [Guide](docs/guide.md): ");
  });
});
