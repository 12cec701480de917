/**
 * vitest fixtures: a test names the parts of the system that it needs, and they start once for its
 * file, before the first test that names one.
 */
import { test } from "vitest";
import { type BillingRuns, billingRuns } from "./billing.ts";
import { sharedSystem } from "./reused-system.ts";
import { startSystem, type TestSystem } from "./system.ts";

/** Tests on a new system, whose processes they may stop and kill. */
export const systemTest = test
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures here
  .extend("system", { scope: "file" }, async ({}, { onCleanup }): Promise<TestSystem> => {
    const system = await startSystem();
    onCleanup(() => system.stop());
    return system;
  })
  .extend("runs", { scope: "file" }, async ({ system }, { onCleanup }): Promise<BillingRuns> => {
    const runs = await billingRuns(system);
    onCleanup(() => runs.close());
    return runs;
  });

/** Tests on the system that all files of a test process reuse: they leave its processes alone. */
export const reusedSystemTest = test
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures here
  .extend("system", { scope: "file" }, async ({}): Promise<TestSystem> => sharedSystem())
  .extend("runs", { scope: "file" }, async ({ system }, { onCleanup }): Promise<BillingRuns> => {
    const runs = await billingRuns(system);
    onCleanup(() => runs.close());
    return runs;
  });
