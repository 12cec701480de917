/**
 * vitest fixtures: a test names the parts of the system that it needs, and they start once for its
 * file, before the first test that names one.
 */
import { Connection, Client as TemporalClient } from "@temporalio/client";
import { test } from "vitest";
import { type BillingRuns, billingRuns } from "./billing.ts";
import { freshDatabase } from "./database.ts";
import { expectExplained, lastDocument } from "./explained-documents.ts";
import { type Cleanup, failOnce, perFile, started, stopInTime } from "./file-fixture.ts";
import { testPool } from "./pool.ts";
import { sharedSystem } from "./reused-system.ts";
import { type SystemSettings, startSystem, type TestSystem } from "./system.ts";

/** Tests on an empty database, with a pool to it. */
export const databaseTest = test
  .extend(
    "database",
    perFile,
    started(freshDatabase, (database) => database.drop()),
  )
  .extend("pool", perFile, async ({ database }, { onCleanup }) => {
    const pool = testPool(database.url, 8);
    onCleanup(() => stopInTime(() => expectExplained(pool).finally(() => pool.end())));
    return pool;
  });

const startOnce = failOnce(startSystem);

interface OnSystem {
  readonly system: TestSystem;
}

/** Billing runs that a test starts. */
const runsOf = async ({ system }: OnSystem, { onCleanup }: Cleanup): Promise<BillingRuns> => {
  const runs = await billingRuns(system);
  onCleanup(() => stopInTime(() => runs.close()));
  return runs;
};

/** A client of the system's Temporal namespace. */
const clientOf = async ({ system }: OnSystem, { onCleanup }: Cleanup): Promise<TemporalClient> => {
  const { address, namespace } = system.temporal;
  const connection = await Connection.connect({ address });
  onCleanup(() => stopInTime(() => connection.close()));
  return new TemporalClient({ connection, namespace });
};

/**
 * Tests on a new system, whose API and worker they may stop, start and let die at a crash point. A
 * file that needs other settings, or always separate processes, extends `settings`.
 */
export const systemTest = test
  .extend(
    "settings",
    perFile,
    started((): SystemSettings => ({})),
  )
  .extend("system", perFile, async ({ settings }, { onCleanup }): Promise<TestSystem> => {
    const system = await startOnce(settings);
    // One clean-up: vitest takes no second one.
    onCleanup(() =>
      stopInTime(() => expectExplained(system.pool)).finally(() => stopInTime(() => system.stop())),
    );
    return system;
  })
  .extend("runs", perFile, runsOf)
  .extend("client", perFile, clientOf);

const sharedOnce = failOnce(sharedSystem);

// biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures here
const reusedSystem = async ({}, { onCleanup }: Cleanup): Promise<TestSystem> => {
  const system = await sharedOnce();
  const last = await lastDocument(system.pool);
  onCleanup(() => stopInTime(() => expectExplained(system.pool, last)));
  return system;
};

/** Tests on the system that all files of a test process reuse: they leave its processes alone. */
export const reusedSystemTest = test
  .extend("system", perFile, reusedSystem)
  .extend("runs", perFile, runsOf)
  .extend("client", perFile, clientOf);
