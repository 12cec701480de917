/**
 * Lingering batches: a posting batch that has posted what waited stays for some seconds, and is
 * woken by PostgreSQL's NOTIFY. If only its workflow lingered, a creation would take twice as long
 * and twice the processor time, for three workflow tasks. If callers signalled the workflow besides
 * each notification, no report would be needed, but a creation would cost half as much again.
 *
 * Nothing depends on a notification: the batch reads the database as well, and a wake-up that finds
 * no lingering batch goes through Temporal (POSTING-3).
 */
import { sql } from "../database/sql/sql.ts";
import { type Command, command, type Executor } from "../database/sql/statement.ts";

/** The channel of wake-ups. Its payload is an organisation's id. */
export const wakesChannel = "ledger_wakes";

/** In the channel of outcomes, marks an organisation with a lingering batch. */
export const lingeringMark = "@";

/** Marks an organisation whose lingering batch has ended. */
export const endedMark = "!";

/** How often a worker reports its lingering batches. */
export const reportEveryMs = 500;

/** How long a report holds. It covers reports that come late. */
export const reportHoldsMs = 3 * reportEveryMs;

/** Reports that are remembered. Older ones go first. */
const maxRemembered = 4_096;

/** What this process knows of lingering batches, and how it wakes them. */
export interface LingeringBatches {
  /** Whether a batch of the organisation stands, as far as is known here. */
  lingers(organisationId: string): boolean;
  /** The instant of the last report by `performance.now()`. Null if there is none. */
  reportedAtMs(organisationId: string): number | null;
  /** Wakes the organisation's lingering batches, of all processes. */
  wake(organisationId: string): Promise<unknown>;
}

/** The known lingering batches, which reads the parts of the channel of outcomes. */
export interface KnownBatches extends LingeringBatches {
  /** Returns whether the part was a report. */
  read(part: string): boolean;
}

/** Creates the knowledge of a process. It is empty at first. */
export function createKnownBatches(pool: Executor): KnownBatches {
  const reported = new Map<string, number>();
  return {
    read: (part) => {
      const organisationId = part.slice(1);
      reported.delete(organisationId);
      if (part.startsWith(endedMark)) return true;
      if (!part.startsWith(lingeringMark)) return false;
      reported.set(organisationId, performance.now());
      if (reported.size <= maxRemembered) return true;
      const [oldest] = reported.keys();
      if (oldest !== undefined) reported.delete(oldest);
      return true;
    },
    lingers: (organisationId) => {
      const atMs = reported.get(organisationId);
      return atMs !== undefined && performance.now() - atMs < reportHoldsMs;
    },
    reportedAtMs: (organisationId) => reported.get(organisationId) ?? null,
    wake: (organisationId) => notify(pool, wakesChannel, organisationId),
  };
}

/** Notifies a channel, in a transaction by itself. */
export const notify: Command<[channel: string, payload: string]> = command({
  name: "notify",
  planned: "once",
  text: sql`SELECT FROM pg_notify($1, $2)`,
});
