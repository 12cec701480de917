/** The fixtures of tests of the rules of every request, over two API processes. */
import { allScopes } from "../../packages/dev/src/demo/first-data.ts";
import { startApiProcess } from "../faults/processes.ts";
import { perFile, started, stopInTime } from "../support/file-fixture.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { aloneTest } from "./fixtures.ts";

/**
 * A request that waits three seconds for a connection is answered `temporarily_unavailable`. With
 * this pool none of 130 concurrent requests waits that long, however slow the machine is. The rate
 * limit is the default.
 */
const env = { DATABASE_POOL_SIZE: "30", RATE_LIMIT_PER_MINUTE: "" };

/** Tests on two API processes. `newKey` adds a key of `own`, by default with every scope. */
export const requestsTest = aloneTest
  .extend(
    "settings",
    perFile,
    started(() => ({ env: { ...env, LEDGER_CALL_SECONDS: "20" } })),
  )
  .extend("second", perFile, async ({ system }, { onCleanup }) => {
    const second = await startApiProcess(system, env);
    onCleanup(() => stopInTime(() => second.stop()));
    return second;
  })
  .extend(
    "newKey",
    perFile,
    ({ system, own }) =>
      (scopes: readonly string[] = allScopes) =>
        addApiKey(system.pool, own.organisationId, scopes),
  );
