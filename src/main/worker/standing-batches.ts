/** The worker's standing posting batches, and the connection on which callers wake them. */
import type { Config } from "../../config.ts";
import type { Pool } from "../../store/database/pool.ts";
import { listenToWakes } from "../../store/ledger-jobs/batch-wakes.ts";
import {
  createStandingBatches,
  type StandingBatches,
} from "../../worker/activities/posting/standing-batches.ts";
import type { Log } from "../telemetry/log.ts";

/**
 * Opens the places of this worker. `stop` makes the batches end, `close` ends the connection.
 * `onWake` is called for each wake-up.
 */
export function openStandingBatches(
  { database }: Config,
  log: Log,
  pool: Pool,
  onWake: () => void,
): StandingBatches & { close(): Promise<void> } {
  const standing = createStandingBatches((...lists) => wakes.report(...lists));
  const wake: StandingBatches["wake"] = (organisationId) => {
    onWake();
    standing.wake(organisationId);
  };
  const wakes = listenToWakes(database.url, pool, wake, (err) =>
    log.warn({ err }, "wake-ups: connection lost"),
  );
  return { ...standing, close: () => wakes.close() };
}
