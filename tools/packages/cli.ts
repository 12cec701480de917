/**
 * Bundles `packages/cli` into one file before it is packed (`npm pack -w packages/cli`), with the
 * licences of the packages whose code is in it.
 */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { licenceText } from "../build/licences.ts";
import { packageFolders } from "../build/packages.ts";
import { awaitProgram } from "../run-program.ts";

const root = join(import.meta.dirname, "../..");
const dist = join(root, "packages/cli/dist");
const program = join(dist, "billing.js");

await awaitProgram(root, "node", ["tools/gen.ts"]);
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ["packages/cli/src/main.ts"],
  outfile: program,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node22",
  banner: {
    // CommonJS packages in the bundle load Node's modules by `require`.
    js:
      '#!/usr/bin/env node\nimport { createRequire as requireFrom } from "node:module";' +
      "const require = requireFrom(import.meta.url);",
  },
  // Names stay: error messages show those of errors.
  keepNames: true,
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
  metafile: true,
});
chmodSync(program, 0o755);
const bundled = packageFolders(Object.keys(metafile.inputs));
writeFileSync(join(dist, "licences.txt"), licenceText(root, bundled));
