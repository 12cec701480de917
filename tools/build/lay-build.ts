/** Lays a build into a folder: the code, and the files that the code reads (`src/assets.ts`). */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stop, transform } from "esbuild";
import {
  builtNames,
  demoLedgerPageFolder,
  docsSiteFolder,
  migrationsFolder,
  openapiFile,
  workflowBundleFile,
} from "../../src/assets.ts";
import { shortenMap } from "../workflow-map.ts";
import { type BundledCode, bundlePrograms } from "./bundle.ts";
import { licenceText } from "./licences.ts";
import { queryCompiler } from "./replacements.ts";

/** The files that are copied as they are, by their names in the build. */
function copies(root: string): Readonly<Record<string, string>> {
  return {
    [builtNames.openapi]: openapiFile(),
    [builtNames.docsSite]: docsSiteFolder(),
    [builtNames.migrations]: migrationsFolder(),
    [builtNames.demoLedgerPage]: demoLedgerPageFolder(),
    // Temporal's worker reads the source map of the workflows by it, from the folder of its code.
    "mappings.wasm": join(root, "node_modules/source-map/lib/mappings.wasm"),
  };
}

/** Returns the WebAssembly that the generated client has in base64. */
function queryCompilerOf(root: string): Buffer {
  const client = readFileSync(join(root, "src/gen/prisma/internal/class.ts"), "utf8");
  const [, module = ""] = /import\("([^"]+\.wasm-base64)\.mjs"\)/.exec(client) ?? [];
  const text = readFileSync(join(root, "node_modules", `${module}.mjs`), "utf8");
  const [, base64 = ""] = /"(AGFzbQ[A-Za-z0-9+/=]+)"/.exec(text) ?? [];
  if (base64 === "") throw new Error(`${module} has no WebAssembly in base64`);
  return Buffer.from(base64, "base64");
}

/**
 * Returns the workflows without comments and spaces, and without the sources in their map. Each
 * thread of a worker holds the code, and one character beyond ASCII doubles it. Names stay: they
 * are those of the workflows.
 */
async function shortWorkflows(): Promise<string> {
  const { code } = await transform(readFileSync(workflowBundleFile(), "utf8"), {
    minifyWhitespace: true,
    legalComments: "none",
    charset: "ascii",
    sourcemap: "inline",
    sourcesContent: false,
  });
  // Else its process waits for further transformations.
  await stop();
  return shortenMap(code);
}

/**
 * Builds the repository at `root` into `folder`, which need not exist, with `further` modules by
 * their names there.
 */
export async function layBuild(
  root: string,
  folder: string,
  further: Readonly<Record<string, string>> = {},
): Promise<BundledCode> {
  const code = await bundlePrograms(root, further);
  mkdirSync(folder, { recursive: true });
  for (const { path, contents } of code.files) writeFileSync(join(folder, path), contents);
  writeFileSync(join(folder, queryCompiler), queryCompilerOf(root));
  writeFileSync(join(folder, builtNames.workflowBundle), await shortWorkflows());
  for (const [name, source] of Object.entries(copies(root)))
    cpSync(source, join(folder, name), { recursive: true });
  writeFileSync(join(folder, "licences.txt"), licenceText(root, code.metafile));
  return code;
}
