/**
 * The documentation is true of the tree: cited rules, links and paths exist, and the README stays
 * short.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Generated code, and recorded histories, which are data. */
const leftOut = /^(?:src\/gen|test\/histories)$/;

function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return leftOut.test(path) ? [] : filesBelow(path);
  });
}

const topPages = readdirSync(root).filter((name) => name.endsWith(".md"));
const pages = [...topPages, ...filesBelow("docs").filter((path) => path.endsWith(".md"))];
const rulePages = pages.filter(
  (path) => path.startsWith("docs/rules/") && path !== "docs/rules/README.md",
);

/** The prefixes of rule ids, from the last column of the table of pages. */
const prefixes = [...read("docs/rules/README.md").matchAll(/^\| \[.*\| ([A-Z, ]+) \|$/gm)].flatMap(
  ([, cell = ""]) => cell.split(", "),
);
const ruleId = new RegExp(`\\b(?:${prefixes.join("|")})-\\d+\\b`, "g");
const defined = rulePages.flatMap((path) =>
  [...read(path).matchAll(/^- \*\*([A-Z]+-\d+)\*\* /gm)].map(([, id]) => id),
);

/** Each citation of a rule as `path: id`. */
function citations(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => [...read(path).matchAll(ruleId)].map(([id]) => `${path}: ${id}`));
}

test("every rule has one definition and a prefix of the table in docs/rules/README.md", () => {
  expect(defined.length).toBeGreaterThan(100);
  expect(defined.filter((id, at) => defined.indexOf(id) !== at)).toEqual([]);
  expect(new Set(defined.map((id) => id?.replace(/-\d+$/, "")))).toEqual(new Set(prefixes));
});

test("every rule that code or a page cites is defined in docs/rules", () => {
  const sources = ["src", "workflows", "proto", "prisma", "tools", "test", "bench"].flatMap(
    filesBelow,
  );
  const code = sources.filter(
    (path) => /\.(?:ts|proto|prisma|sql)$/.test(path) && path !== "test/docs.test.ts",
  );
  const known = new Set(defined);
  const unknown = citations([...code, ...pages]).filter(
    (citation) => !known.has(citation.split(": ")[1]),
  );
  expect(unknown).toEqual([]);
});

test("every relative link of a page leads to a file, and every anchor to a heading", () => {
  const broken = pages.flatMap((path) =>
    [...proseOf(path).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target) && !isThere(path, target))
      .map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

/** A page without its blocks of code. */
function proseOf(path: string): string {
  return read(path).replace(/^```.*?^```$/gms, "");
}

function isThere(path: string, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const linked = file === "" ? path : join(dirname(path), file);
  if (!existsSync(join(root, linked))) return false;
  return anchor === undefined || anchorsOf(linked).includes(anchor);
}

/** The anchors that a page's headings have, by the rule of GitHub. */
function anchorsOf(path: string): readonly string[] {
  return [...proseOf(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("every path in backticks that a page names exists", () => {
  const tops = "src|workflows|proto|prisma|test|tools|bench|docs";
  const named = new RegExp(`\`((?:${tops})/[\\w./-]*)\``, "g");
  const missing = pages.flatMap((path) =>
    [...proseOf(path).matchAll(named)]
      .map(([, target = ""]) => target)
      .filter((target) => !existsSync(join(root, target)))
      .map((target) => `${path}: ${target}`),
  );
  expect(missing).toEqual([]);
});

test("every page and section that code, alerts or the chart name exists", () => {
  // Tests of the tools name pages that do not exist, as examples.
  const naming = ["src", "workflows", "proto", "prisma", "deploy", "tools", "test"]
    .flatMap(filesBelow)
    .filter((path) => /\.(?:ts|proto|prisma|sql|ya?ml|sh|tpl|txt|json)$/.test(path))
    .filter((path) => !/^test\/(?:docs-site|tidy)\//.test(path));
  const named = naming.flatMap((path) =>
    [...read(path).matchAll(/\b(docs\/[\w/-]+\.md(?:#[\w-]+)?)/g)].map(([, target = ""]) => ({
      path,
      target,
    })),
  );
  const missing = named.filter(({ target }) => !isThere("README.md", target));
  expect(named.length).toBeGreaterThan(50);
  expect(missing).toEqual([]);
});

test("a page for operators is read in ten minutes", () => {
  const wordsInTenMinutes = 2200;
  const manual = pages.filter((path) => path.startsWith("docs/operations"));
  const words = manual.map((path) => ({ path, words: read(path).split(/\s+/).length }));
  expect(words.length).toBeGreaterThan(3);
  expect(words.filter((page) => page.words > wordsInTenMinutes)).toEqual([]);
});

test("the README has at most 150 lines", () => {
  expect(read("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(150);
});

test("every block of a page that arms a fault of the demo ledger disarms it", () => {
  const blocks = pages.flatMap((path) =>
    [...read(path).matchAll(/^```sh$(.*?)^```$/gms)].map(([, block = ""]) => ({ path, block })),
  );
  const arming = blocks.filter(({ block }) => /\/demo\/faults\b.* -d /.test(block));
  expect(arming.length).toBeGreaterThan(0);
  const isDisarmed = (block: string) =>
    block.search(/-X DELETE \S*\/demo\/faults\b/) > block.lastIndexOf('"kind":');
  expect(arming.filter(({ block }) => !isDisarmed(block)).map(({ path }) => path)).toEqual([]);
});
