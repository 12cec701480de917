/**
 * Wake-ups of posting batches that linger, by PostgreSQL's NOTIFY: one takes less than a
 * millisecond, and a workflow task 25. Nothing depends on it: the batch reads the database as well,
 * and each wake-up is also a signal to the workflow (POSTING-3).
 */
import { listen } from "../database/listen.ts";
import { sql } from "../database/sql/sql.ts";
import { command, type Executor } from "../database/sql/statement.ts";

/** The channel. Its payload is an organisation's id. */
const channel = "ledger_wakes";

/** Listens to wake-ups. `onWake` gets the organisation, or null if any may have been missed. */
export function listenToWakes(
  databaseUrl: string,
  onWake: (organisationId: string | null) => void,
  onError: (error: Error) => void,
) {
  return listen({
    databaseUrl,
    name: "wakes",
    channel,
    onPart: onWake,
    onListening: () => onWake(null),
    onError,
  });
}

const notifyChannel = command({
  name: "notify",
  planned: "once",
  text: sql`SELECT FROM pg_notify($1, $2)`,
});

/** Wakes the organisation's lingering batches, of all processes. */
export async function wakeBatches(pool: Executor, organisationId: string): Promise<void> {
  await notifyChannel(pool, channel, organisationId);
}
