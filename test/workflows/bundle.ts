/** The workflow bundle of the workers, as `npm run gen` generated it. */
import { readFileSync } from "node:fs";

/** Its code. */
export const bundle = readFileSync(
  new URL("../../src/gen/workflow-bundle.js", import.meta.url),
  "utf8",
);
