/** The worker's standing posting batches, and the connection on which callers wake them. */
import type { Config } from "../../config.ts";
import type { Pool } from "../../store/database/pool.ts";
import { listenToWakes } from "../../store/ledger-jobs/batch-wakes.ts";
import {
  createStandingBatches,
  type StandingBatches,
  type StandingPlace,
} from "../../worker/activities/posting/standing-batches.ts";
import type { Log } from "../telemetry/log.ts";

/**
 * Opens the places of this worker. `stop` makes the batches end, `close` ends the connection.
 * `whileStanding` runs each stand of a batch.
 */
export function openStandingBatches(
  { database }: Config,
  log: Log,
  pool: Pool,
  whileStanding: StandingPlace["stand"],
): StandingBatches & { close(): Promise<void> } {
  const standing = createStandingBatches((...lists) => wakes.report(...lists), whileStanding);
  const wakes = listenToWakes(database.url, pool, standing.wake, (err) =>
    log.warn({ err }, "wake-ups: connection lost"),
  );
  return { ...standing, close: () => wakes.close() };
}
