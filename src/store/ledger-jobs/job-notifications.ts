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
export interface Outcomes {
  /**
   * Watches jobs. It also knows the last notifications, so that an outcome that came between the
   * commit of its job and this call is not missed. `awaitOutcomes`
   * resolves at `untilMs` (epoch) at the latest. It resolves earlier if all jobs are decided or
   * rescheduled past `untilMs`. It returns what is known then.
   */
  watch(jobIds: readonly string[]): Watch;
  close(): Promise<void>;
}

/** Watched jobs. `awaitOutcomes` or `stop` ends the watch. */
interface Watch {
  awaitOutcomes(organisationId: string, untilMs: number): Promise<readonly JobOutcome[]>;
  stop(): void;
}

/**
 * The channel. Its payload is comma-separated job ids, with `doneMark` before those that are done.
 * It has at most 200 ids (four groups of 50) of 37 characters, under the limit of 8,000 bytes.
 */
export const outcomesChannel = "job_outcomes";

/**
 * Marks a job as done, so that its caller need not read it. Most jobs are, and each read is a
 * round trip.
 */
export const doneMark = "+";

/** How often waiting callers read by themselves. It covers notifications lost with a connection. */
const readAgainMs = 2_000;

/**
 * How many of the last notifications are remembered. A caller watches its jobs as soon as their
 * commit is answered, and far fewer jobs are decided in between.
 */
const maxRemembered = 4_096;

/**
 * Awaits outcomes over a separate connection (LISTEN needs a session) and reads them over `pool`.
 */
export function createOutcomes(
  databaseUrl: string,
  pool: Pool,
  onError: (error: Error) => void,
): Outcomes {
  const watchers: Watchers = new Map();
  const last: LastNotifications = new Map();
  const wake = (id: string, isDone: boolean) => {
    for (const watcher of watchers.get(id) ?? []) watcher(id, isDone);
  };
  const listening = listen({
    databaseUrl,
    name: "outcomes",
    channel: outcomesChannel,
    onPart: (part) => {
      const isDone = part.startsWith(doneMark);
      const id = isDone ? part.slice(doneMark.length) : part;
      remember(last, id, isDone);
      wake(id, isDone);
    },
    onListening: () => {
      for (const id of watchers.keys()) wake(id, false);
    },
    onError,
  });
  return {
    watch: (jobIds) => startWatch(pool, watchers, last, jobIds),
    close: () => listening.close(),
  };
}

/** The callbacks to notify, by job id. */
type Watchers = Map<string, Set<(id: string, isDone: boolean) => void>>;

/** The last notifications by job id, oldest first: whether the job is done. */
type LastNotifications = Map<string, boolean>;

function remember(last: LastNotifications, id: string, isDone: boolean): void {
  last.delete(id);
  last.set(id, isDone);
  if (last.size <= maxRemembered) return;
  const [oldest] = last.keys();
  if (oldest !== undefined) last.delete(oldest);
}

function startWatch(
  pool: Pool,
  watchers: Watchers,
  last: LastNotifications,
  jobIds: readonly string[],
): Watch {
  // A wake-up before the first sleep is remembered.
  let woken = false;
  let resume: (() => void) | null = null;
  const open = new Set(jobIds);
  const watcher = (id: string, isDone: boolean) => {
    woken = true;
    if (isDone) open.delete(id);
    resume?.();
  };
  for (const id of jobIds) {
    watchers.set(id, (watchers.get(id) ?? new Set()).add(watcher));
    const isDone = last.get(id);
    if (isDone !== undefined) watcher(id, isDone);
  }
  const stop = () => {
    for (const id of jobIds) {
      const set = watchers.get(id);
      set?.delete(watcher);
      if (set?.size === 0) watchers.delete(id);
    }
  };
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      resume = () => {
        clearTimeout(timer);
        resolve();
      };
      if (woken) resume();
    });
  const awaitOutcomes: Watch["awaitOutcomes"] = async (organisationId, untilMs) => {
    try {
      for (;;) {
        await sleep(Math.max(0, Math.min(readAgainMs, untilMs - Date.now())));
        woken = false;
        if (open.size === 0)
          return jobIds.map((id) => ({ id, state: "done", reason: null, message: null }));
        const { outcomes, decided } = await readOutcomes(pool, organisationId, jobIds, untilMs);
        if (decided || Date.now() >= untilMs) return outcomes;
      }
    } finally {
      stop();
    }
  };
  return { awaitOutcomes, stop };
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
