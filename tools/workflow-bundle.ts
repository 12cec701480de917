/**
 * Bundles the workflows into the one file that the worker loads, at build time. So a worker starts
 * without a bundler, and a workflow with a forbidden import fails before it is deployed.
 */
import { join } from "node:path";
import { bundleWorkflowCode } from "@temporalio/worker";

/**
 * Carry a trace through workflows. They are always in the bundle, so that traces can be switched on
 * while workflows run. Without a worker that exports traces their spans go nowhere.
 */
const tracingInterceptors = join(import.meta.dirname, "workflow-tracing.ts");

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
  return code;
}
