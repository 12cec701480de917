/**
 * Bundles the workflows into the one file that the worker loads: made at build time, so that a worker starts without a
 * bundler and a workflow that imports what it may not fails before it is deployed.
 */
import { join } from "node:path";
import { bundleWorkflowCode } from "@temporalio/worker";

/** The code of the bundle of `workflows/index.ts` below `root`. Throws where it cannot be bundled. */
export async function bundleWorkflows(root: string): Promise<string> {
  const errors: string[] = [];
  const quiet = () => undefined;
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(root, "workflows/index.ts"),
    logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: quiet, error: (text) => errors.push(text) },
  }).catch((error: unknown) => {
    throw new Error(errors.join("\n"), { cause: error });
  });
  return code;
}
