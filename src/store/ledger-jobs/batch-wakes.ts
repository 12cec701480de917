/**
 * The worker's side of lingering batches: wake-ups that it gets, and reports of the batches that
 * linger in it.
 */
import { listen } from "../database/listen.ts";
import type { Executor } from "../database/sql/statement.ts";
import { outcomesChannel } from "./job-notifications.ts";
import { endedMark, lingeringMark, notify, wakesChannel } from "./lingering-batches.ts";

/** Wake-ups for the lingering batches of a worker, and its reports. */
export interface BatchWakes {
  /** Reports which organisations have a lingering batch here, and which have none any more. */
  report(lingering: readonly string[], ended: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Listens to wake-ups. `onWake` gets the organisation, or null if any may have been missed. */
export function listenToWakes(
  databaseUrl: string,
  pool: Executor,
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
    report: async (lingering, ended) => {
      const parts = [
        ...lingering.map((id) => `${lingeringMark}${id}`),
        ...ended.map((id) => `${endedMark}${id}`),
      ];
      if (parts.length > 0) await notify(pool, outcomesChannel, parts.join());
    },
    close: () => listening.close(),
  };
}
