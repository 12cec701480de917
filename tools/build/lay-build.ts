/** Lays a build into a folder: the code, and the files that the code reads (`src/assets.ts`). */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  builtNames,
  demoLedgerPageFolder,
  docsSiteFolder,
  migrationsFolder,
  openapiFile,
  workflowBundleFile,
} from "../../src/assets.ts";
import { type BundledCode, bundlePrograms } from "./bundle.ts";
import { licenceText } from "./licences.ts";
import { packageFolders } from "./packages.ts";

/** The files that are copied as they are, by their names in the build. */
function copies(root: string): Readonly<Record<string, string>> {
  return {
    [builtNames.openapi]: openapiFile(),
    [builtNames.workflowBundle]: workflowBundleFile(),
    [builtNames.docsSite]: docsSiteFolder(),
    [builtNames.migrations]: migrationsFolder(),
    [builtNames.demoLedgerPage]: demoLedgerPageFolder(),
    // Temporal's worker reads the source map of the workflows by it, from the folder of its code.
    "mappings.wasm": join(root, "node_modules/source-map/lib/mappings.wasm"),
  };
}

/** The folders of the packages whose code is in the programs and in the bundle of the workflows. */
export function bundledPackages({ metafile }: BundledCode): readonly string[] {
  // Modules of that bundle have the paths of their files as names.
  const ofWorkflows = readFileSync(workflowBundleFile(), "utf8").match(/node_modules\/[^"\s]+/g);
  return packageFolders([...Object.keys(metafile.inputs), ...(ofWorkflows ?? [])]);
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
  for (const [name, source] of Object.entries(copies(root)))
    cpSync(source, join(folder, name), { recursive: true });
  writeFileSync(join(folder, "licences.txt"), licenceText(root, bundledPackages(code)));
  return code;
}
