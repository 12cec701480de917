/**
 * Bundles the programs with everything that they import. What must stay a package is listed in the
 * dependencies of package.json: native code, and libraries that only some installations load.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Metafile, stop } from "esbuild";
import { programs } from "./programs.ts";
import { replacements } from "./replacements.ts";

/** A file of a build, relative to its folder. */
export interface BuiltFile {
  readonly path: string;
  readonly contents: Uint8Array | string;
}

/** The bundled code. `metafile` says which files went into which. */
export interface BundledCode {
  readonly files: readonly BuiltFile[];
  readonly metafile: Metafile;
}

/**
 * The thread that runs the workflows. Temporal's worker starts it by this name, from the folder
 * of the worker's code.
 */
const workflowThread = {
  in: "node_modules/@temporalio/worker/lib/workflow/workflow-worker-thread.js",
  out: "workflow-worker-thread",
};

/** CommonJS packages in the bundle load Node's modules and the native code by `require`. */
const requireOfNode =
  'import { createRequire as requireFrom } from "node:module";' +
  "const require = requireFrom(import.meta.url);";

/** Packages that bundled ones try to load, and that are not installed. */
export const absentPackages: readonly string[] = ["pg-native"];

/**
 * Returns the code of all programs of the repository at `root`, and of further modules by their
 * names in the build. Throws if it cannot be bundled.
 */
export async function bundlePrograms(
  root: string,
  further: Readonly<Record<string, string>> = {},
): Promise<BundledCode> {
  const outdir = join(root, "dist");
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      ...Object.entries(programs).map(([name, path]) => ({ in: path, out: programFile(name) })),
      ...Object.entries(further).map(([name, path]) => ({ in: path, out: name })),
      workflowThread,
    ],
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22.18",
    external: [...externalPackages(root), ...absentPackages],
    inject: ["tools/build/node-globals.ts"],
    banner: { js: requireOfNode },
    plugins: [replacements(root)],
    // Names stay: logs and error messages show those of errors and functions.
    keepNames: true,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    sourcemap: "linked",
    // Stacks name files and lines. They show no code.
    sourcesContent: false,
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  // Else its process waits for further builds.
  await stop();
  const code = outputFiles.map(({ path, contents }) => ({
    path: path.slice(outdir.length + 1),
    contents,
  }));
  return { files: [...code, ...Object.keys(programs).map(startOf)], metafile };
}

/** Returns the packages that a build loads from `node_modules`. */
export function externalPackages(root: string): readonly string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.keys(dependencies);
}

function programFile(name: string): string {
  return `${name}-program`;
}

/** The file that starts a program. Stacks name files and lines of the sources. */
function startOf(name: string): BuiltFile {
  const contents = `#!/usr/bin/env node
process.setSourceMapsEnabled(true);
await import("./${programFile(name)}.js");
`;
  return { path: `${name}.js`, contents };
}
