/**
 * Starts Tryton once for a run of the `ledger` project, over the PostgreSQL of the run. Where
 * Python or its packages cannot be had the tests are skipped, and one line says why.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { anyFreePort } from "../../../packages/dev/src/processes/ports.ts";
import { installTryton } from "../../../packages/dev/src/tryton/install.ts";
import { startTryton } from "../../../packages/dev/src/tryton/server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Why there is no Tryton, or null. */
    whyNoTryton: string | null;
    trytonPort: number;
  }
}

/** Called by vitest before the first file; what it returns is called after the last. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const { env } = process;
  const log = (line: string) => console.log(line);
  const missing = await installTryton(env, log).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  project.provide("whyNoTryton", missing);
  if (missing !== null) {
    log(`Not run against Tryton: ${missing}`);
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), "tryton-"));
  const { postgresUrl } = project.getProvidedContext();
  const port = await anyFreePort();
  project.provide("trytonPort", port);
  const logFile = join(folder, "tryton.log");
  const { child } = await startTryton({ env, postgresUrl, logFile, port, log });
  return async () => {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
