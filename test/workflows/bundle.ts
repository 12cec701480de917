/** The workflow bundle that workers run, as `npm run gen` made it. */
import { readFileSync } from "node:fs";

/** Its code. */
export const bundle = readFileSync(
  new URL("../../src/gen/workflow-bundle.js", import.meta.url),
  "utf8",
);
