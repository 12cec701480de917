/**
 * Notifies waiting callers when a job has an outcome, by PostgreSQL's LISTEN and NOTIFY. One
 * connection in a process serves all its callers. A lost connection loses nothing: the jobs are
 * read again once it is back.
 */
import { columns } from "../../gen/columns.ts";
import { listen } from "../database/listen.ts";
import type { Pool } from "../database/pool.ts";
import { bool, pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";

/**
 * A job's state. `waiting`: the ledger has not decided. Then `reason` and `message` describe the
 * last failure.
 */
export interface JobOutcome {
  readonly id: string;
  readonly state: "waiting" | "done" | "refused" | "abandoned";
  readonly reason: string | null;
  readonly message: string | null;
}

/** Awaits the outcomes of jobs. */
export type Outcomes = ReturnType<typeof createOutcomes>;

/**
 * The channel. Its payload is comma-separated job ids: at most 200 (four groups of 50) of 37
 * characters, under the limit of 8,000 bytes.
 */
export const outcomesChannel = "job_outcomes";

/** How often waiting callers read by themselves. It covers notifications lost with a connection. */
const readAgainMs = 2_000;

/**
 * Awaits outcomes over a separate connection (LISTEN needs a session) and reads them over `pool`.
 */
export function createOutcomes(databaseUrl: string, pool: Pool, onError: (error: Error) => void) {
  /** The callbacks to notify, by job id. */
  const watchers = new Map<string, Set<() => void>>();
  const notify = (id: string) => {
    for (const watcher of watchers.get(id) ?? []) watcher();
  };
  const listening = listen({
    databaseUrl,
    name: "outcomes",
    channel: outcomesChannel,
    // Processes of the previous version write a plus before the id of a job that is done.
    onPart: (part) => notify(part.replace("+", "")),
    onListening: () => {
      for (const id of watchers.keys()) notify(id);
    },
    onError,
  });
  const watch = (jobIds: readonly string[], watcher: () => void) => {
    for (const id of jobIds) watchers.set(id, (watchers.get(id) ?? new Set()).add(watcher));
    return () => {
      for (const id of jobIds) {
        const set = watchers.get(id);
        set?.delete(watcher);
        if (set?.size === 0) watchers.delete(id);
      }
    };
  };
  return {
    /**
     * Returns what is known of the jobs at `untilMs` (epoch), or earlier once all of them are
     * decided or rescheduled past it.
     */
    await: async (organisationId: string, jobIds: readonly string[], untilMs: number) => {
      let notified = Promise.withResolvers<void>();
      const stop = watch(jobIds, () => notified.resolve());
      try {
        for (;;) {
          // A notification during the read counts.
          notified = Promise.withResolvers<void>();
          const { outcomes, decided } = await readOutcomes(pool, organisationId, jobIds, untilMs);
          const leftMs = untilMs - Date.now();
          if (decided || leftMs <= 0) return outcomes;
          const timer = setTimeout(notified.resolve, Math.min(readAgainMs, leftMs));
          await notified.promise;
          clearTimeout(timer);
        }
      } finally {
        stop();
      }
    },
    close: () => listening.close(),
  };
}

const readJobs = query({
  name: "read_job_outcomes",
  text: sql`
    SELECT
      id, state, reason, message,
      (state = 'ready' AND not_before > $3) AS rescheduled
    FROM ledger_jobs
    WHERE organisation_id = $1 AND id = ANY ($2::uuid[])
  `,
  row: { ...pick(columns.ledgerJob, "id", "state", "reason", "message"), rescheduled: bool },
});

/** `decided`: no job can change before `untilMs`. */
async function readOutcomes(
  pool: Pool,
  organisationId: string,
  jobIds: readonly string[],
  untilMs: number,
): Promise<{ outcomes: readonly JobOutcome[]; decided: boolean }> {
  const rows = await readJobs(pool, organisationId, jobIds, new Date(untilMs));
  const outcomes = rows.map(
    ({ id, state, reason, message }): JobOutcome => ({
      id,
      state: state === "done" || state === "refused" || state === "abandoned" ? state : "waiting",
      reason,
      message,
    }),
  );
  const open = rows.filter(
    ({ rescheduled }, index) => outcomes[index]?.state === "waiting" && !rescheduled,
  );
  return { outcomes, decided: open.length === 0 };
}
