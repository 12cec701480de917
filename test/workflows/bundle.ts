/** The workflow bundle of the workers, as `npm run gen` generated it. */
import { readFileSync } from "node:fs";
import { unsentSpans } from "../../src/worker/temporal/run-worker.ts";

/** Its code. */
export const bundle = readFileSync(
  new URL("../../src/gen/workflow-bundle.js", import.meta.url),
  "utf8",
);

/** The options of a worker that runs the bundle. */
export const bundled = { workflowBundle: { code: bundle }, sinks: unsentSpans };
