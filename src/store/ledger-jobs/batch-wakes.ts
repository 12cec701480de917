/**
 * The worker's side of standing batches: wake-ups that it gets, and reports of the batches that
 * stand in it.
 */
import { listen } from "../database/listen.ts";
import type { Pool } from "../database/pool.ts";
import { outcomesChannel } from "./job-notifications.ts";
import { endedMark, notify, standingMark, wakesChannel } from "./standing-batches.ts";

/** Wake-ups for the standing batches of a worker, and its reports. */
export interface BatchWakes {
  /** Reports which organisations have a standing batch here, and which have none any more. */
  report(standing: readonly string[], ended: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Listens to wake-ups. `onWake` gets the organisation, or null if any may have been missed. */
export function listenToWakes(
  databaseUrl: string,
  pool: Pick<Pool, "query">,
  onWake: (organisationId: string | null) => void,
  onError: (error: Error) => void,
): BatchWakes {
  const listening = listen({
    databaseUrl,
    name: "wakes",
    channel: wakesChannel,
    onPart: onWake,
    onListening: () => onWake(null),
    onError,
  });
  return {
    report: async (standing, ended) => {
      const parts = [
        ...standing.map((id) => `${standingMark}${id}`),
        ...ended.map((id) => `${endedMark}${id}`),
      ];
      if (parts.length > 0) await notify(pool, outcomesChannel, parts.join());
    },
    close: () => listening.close(),
  };
}
