/**
 * The files that the code reads besides its own, by absolute path. From the sources they lie where
 * they are written or generated. `npm run build` lays all of them next to the code (`tools/build`).
 * The file belongs to no layer, so every layer may import it.
 */
import { join } from "node:path";

const here = import.meta.dirname;

/** Whether this code was built. Only the sources are TypeScript. */
const isBuilt = !import.meta.filename.endsWith(".ts");

/** The names of the files and folders in a build, below the folder of its code. */
export const builtNames = {
  openapi: "openapi.json",
  docsSite: "docs-site",
  workflowBundle: "workflow-bundle.js",
  migrations: "migrations",
  demoLedgerPage: "demo-ledger-page",
  console: "console",
} as const;

/** Returns the OpenAPI document of the public API. */
export const openapiFile = (): string => lookUp("openapi", "gen/openapi.json");

/** Returns the folder of the documentation sites: one for platforms and one for operators. */
export const docsSiteFolder = (): string => lookUp("docsSite", "gen/docs-site");

/** Returns the bundle of the workflows. */
export const workflowBundleFile = (): string => lookUp("workflowBundle", "gen/workflow-bundle.js");

/** Returns the folder of this project's migrations. */
export const migrationsFolder = (): string => lookUp("migrations", "../prisma/migrations");

/** Returns the folder of the demo ledger's page. */
export const demoLedgerPageFolder = (): string =>
  lookUp("demoLedgerPage", "../packages/demo-ledger/src/page");

/** Returns the folder of the built console. It exists only after `npm run build`. */
export const consoleFolder = (): string => lookUp("console", "../dist/console");

function lookUp(name: keyof typeof builtNames, source: string): string {
  return join(here, isBuilt ? builtNames[name] : source);
}
