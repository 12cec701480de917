/** `npm ci --omit=dev` installs every package that the API, the worker and the commands import. */
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { importsOf } from "../../tools/tidy/layers.ts";
import { readSource } from "../../tools/tidy/source.ts";

const root = join(import.meta.dirname, "../..");
const entries = [
  "src/server.ts",
  "src/worker.ts",
  "src/admin/cli/main.ts",
  "src/main/commands/config.ts",
  "src/main/commands/schedules.ts",
  "tools/db-migrate.ts",
  "tools/operator.ts",
];
const { dependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
) as Record<string, Record<string, string>>;

/** Every package that these files import for more than types, by the first file that does. */
function importedPackages(files: readonly string[]): ReadonlyMap<string, string> {
  const packages = new Map<string, string>();
  const seen = new Set<string>();
  const waiting = [...files];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path) || !existsSync(join(root, path))) continue;
    seen.add(path);
    for (const { specifier, typeOnly } of importsOf(
      readSource(path, readFileSync(join(root, path), "utf8")),
    )) {
      if (typeOnly || isBuiltin(specifier)) continue;
      if (specifier.startsWith(".")) waiting.push(posix.join(posix.dirname(path), specifier));
      else {
        const depth = specifier.startsWith("@") ? 2 : 1;
        const name = specifier.split("/").slice(0, depth).join("/");
        if (!packages.has(name)) packages.set(name, path);
      }
    }
  }
  expect(seen.size).toBeGreaterThan(200);
  return packages;
}

test("every imported package is a dependency that production installs", () => {
  const installed = { ...dependencies, ...optionalDependencies };
  const missing = [...importedPackages(entries)].filter(([name]) => !(name in installed));
  expect(missing).toEqual([]);
});

test("every dependency is imported by what runs in production", () => {
  const imported = importedPackages(entries);
  // The workflow bundle has this one inside.
  const own = Object.keys(dependencies ?? {}).filter((name) => name !== "@temporalio/workflow");
  expect(own.filter((name) => !imported.has(name))).toEqual([]);
});
