/**
 * Bundles the workflows into the one file that the worker loads, at build time. So a worker starts
 * without a bundler, and a workflow with a forbidden import fails before it is deployed.
 */
import { join } from "node:path";
import { type BundleOptions, bundleWorkflowCode } from "@temporalio/worker";

/**
 * Carry a trace through workflows. They are always in the bundle, so that traces can be switched on
 * while workflows run. Without a worker that exports traces their spans go nowhere.
 */
const tracingInterceptors = join(import.meta.dirname, "workflow-tracing.ts");

/** The libraries of the interceptors. */
const preloaded = join(import.meta.dirname, "workflow-preload.ts");

/**
 * Leaves the sources out of the map: stacks name files and lines, and show no code. Leaves out a
 * file of `@opentelemetry/core` that exports the global object, which nothing reads: all that a
 * loaded library exports is frozen, so the thread's own list of destructors would be.
 */
const withoutSourcesAndGlobals: NonNullable<BundleOptions["webpackConfigHook"]> = (config) => ({
  ...config,
  devtool: "inline-nosources-source-map",
  resolve: {
    ...config.resolve,
    alias: { ...config.resolve?.alias, "../../common/globalThis$": false },
  },
});

/** The code of that file, by which a bundle that has it is refused. */
const exportedGlobals = "_globalThis = globalThis;";

/**
 * Returns the code of the bundle of `workflows/index.ts` below `root`. Throws if it cannot be
 * bundled.
 */
export async function bundleWorkflows(root: string): Promise<string> {
  const errors: string[] = [];
  const quiet = () => undefined;
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(root, "workflows/index.ts"),
    workflowInterceptorModules: [tracingInterceptors],
    preloadModules: [preloaded],
    webpackConfigHook: withoutSourcesAndGlobals,
    logger: {
      log: quiet,
      trace: quiet,
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (text) => errors.push(text),
    },
  }).catch((error: unknown) => {
    throw new Error(errors.join("\n"), { cause: error });
  });
  if (code.includes(exportedGlobals)) throw new Error("the bundle exports the global object");
  return code;
}
