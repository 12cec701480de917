/** The worker's lingering posting batches, and the connection on which callers wake them. */
import type { Config } from "../../config.ts";
import type { Pool } from "../../store/database/pool.ts";
import { listenToWakes } from "../../store/ledger-jobs/batch-wakes.ts";
import {
  createLingeringPlaces,
  type LingeringPlace,
  type LingeringPlaces,
} from "../../worker/activities/posting/lingering-places.ts";
import type { Log } from "../telemetry/log.ts";

/**
 * Opens the places of this worker. `stop` makes the batches end, `close` ends the connection.
 * `whileLingering` runs each wait of a batch.
 */
export function openLingeringPlaces(
  { database }: Config,
  log: Log,
  pool: Pool,
  whileLingering: LingeringPlace["linger"],
): LingeringPlaces & { close(): Promise<void> } {
  const lingering = createLingeringPlaces((...lists) => wakes.report(...lists), whileLingering);
  const wakes = listenToWakes(database.url, pool, lingering.wake, (err) =>
    log.warn({ err }, "wake-ups: connection lost"),
  );
  return { ...lingering, close: () => wakes.close() };
}
