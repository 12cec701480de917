/** The sizes of the page over the wire, against the budget. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { ensureConsole } from "../../dev/src/processes/console-build.ts";

const folder = join(import.meta.dirname, "../../../dist/console");

/** In bytes, by brotli. The font comes on top. */
const budget = { first: 230_000, route: 25_000, all: 330_000 } as const;

interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
  readonly isEntry?: boolean;
  readonly isDynamicEntry?: boolean;
}

type Manifest = Readonly<Record<string, Chunk>>;

/** The files of a chunk and of everything that it imports at once. */
function filesOf(manifest: Manifest, name: string, seen = new Set<string>()): Set<string> {
  const chunk = manifest[name];
  if (chunk === undefined || seen.has(chunk.file)) return seen;
  for (const file of [chunk.file, ...(chunk.css ?? [])]) seen.add(file);
  for (const each of chunk.imports ?? []) filesOf(manifest, each, seen);
  return seen;
}

const sizeOf = (files: Iterable<string>) =>
  [...files].reduce((sum, file) => sum + statSync(join(folder, `${file}.br`)).size, 0);

test("the first view, each route and all of the console are within the budget", async () => {
  await ensureConsole(() => undefined);
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  const entries = Object.entries(manifest);
  const [entry = ""] = entries.find(([, { isEntry }]) => isEntry) ?? [];
  const shell = filesOf(manifest, entry);
  const first = [...filesOf(manifest, "src/pages/now/overview.tsx"), ...shell];
  expect(sizeOf(new Set(first))).toBeLessThan(budget.first);
  const routes = entries.filter(([, { isDynamicEntry }]) => isDynamicEntry);
  expect(routes.length).toBeGreaterThan(15);
  // A part of a page is loaded when the page is there.
  const there = (imports: readonly string[] = []) =>
    imports
      .filter((name) => manifest[name]?.isDynamicEntry)
      .flatMap((name) => [...filesOf(manifest, name)]);
  const tooLarge = routes
    .map(([name, { imports }]) => {
      const loaded = new Set([...shell, ...there(imports)]);
      const further = [...filesOf(manifest, name)].filter((file) => !loaded.has(file));
      return [name, sizeOf(further)] as const;
    })
    .filter(([, size]) => size > budget.route);
  expect(tooLarge).toEqual([]);
  const all = readdirSync(join(folder, "assets")).filter((name) => /\.(?:js|css)\.br$/.test(name));
  expect(sizeOf(all.map((name) => `assets/${basename(name, ".br")}`))).toBeLessThan(budget.all);
});
