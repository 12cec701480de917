/** The two modules that a build replaces as a whole, because what they load is not installed. */
import { join } from "node:path";
import type { Plugin } from "esbuild";

/**
 * Temporal's bundler of workflows. It loads webpack, which is for development only, and resolves
 * files of its package as soon as it is imported. A build has the workflows bundled, so the worker
 * never calls it.
 */
const noBundler = `
const unavailable = () => { throw new Error("the workflows are bundled by npm run build") };
exports.defaultWorkflowInterceptorModules = [];
exports.moduleMatches = unavailable;
exports.WorkflowCodeBundler = class { constructor() { unavailable(); } };
exports.bundleWorkflowCode = async () => unavailable();
`;

/** Returns the plugin of esbuild that replaces them. Throws at the end if one was not found. */
export function replacements(root: string): Plugin {
  const requiredDatabase = join(root, "tools/build/required-database.ts");
  return {
    name: "replacements",
    setup(build) {
      const found = new Set<string>();
      build.onLoad({ filter: /@temporalio\/worker\/lib\/workflow\/bundler\.js$/ }, () => {
        found.add("the bundler of workflows");
        return { contents: noBundler, loader: "js" };
      });
      // The commands of a build have no embedded PostgreSQL, whose programs are for development
      // only. Without DATABASE_URL they say so.
      build.onLoad({ filter: /\/dev\/src\/postgres\/database-url\.ts$/ }, () => {
        found.add("the embedded database");
        const contents = `export * from ${JSON.stringify(requiredDatabase)};`;
        return { contents, loader: "js", resolveDir: root };
      });
      build.onEnd(() => {
        if (found.size === 2) return;
        const text = `replaced only: ${[...found].join(", ")}. Correct tools/build/replacements.ts`;
        return { errors: [{ text }] };
      });
    },
  };
}
