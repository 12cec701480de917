/**
 * Tells callers that wait when an operation has been settled, by PostgreSQL's LISTEN and NOTIFY: one connection a process
 * serves all its callers. A lost connection loses nothing: what is waited for is asked again once it is back.
 */
import pg from "pg";
import { statementName } from "../database/page.ts";

/** How an operation stands. `waiting`: the ledger has not decided; `reason` and `message` then say what went wrong last. */
export interface JobOutcome {
  readonly id: string;
  readonly state: "waiting" | "done" | "refused" | "abandoned";
  readonly reason: string | null;
  readonly message: string | null;
}

/** Waits for outcomes. */
export interface Outcomes {
  /**
   * Begins to watch operations: before they are committed, so that no outcome is missed. `settled` resolves once all are
   * decided, or put off past `untilMs` (epoch), or at `untilMs`; it gives what is known then.
   */
  watch(jobIds: readonly string[]): Watch;
  close(): Promise<void>;
}

/** Operations being watched. `settled` or `stop` ends it. */
export interface Watch {
  settled(organisationId: string, untilMs: number): Promise<readonly JobOutcome[]>;
  stop(): void;
}

/**
 * The channel. The payload is operation ids, comma-separated, those that are done with `doneMark` before them: at most 200
 * (four groups of 50) of 37 characters, under the 8,000 bytes allowed.
 */
export const outcomesChannel = "job_outcomes";

/** Says of an operation that it is done, so that its waiter need not ask: most are, and each question is a round trip. */
export const doneMark = "+";

/** How long until a lost connection is tried again: long enough not to hammer a server that restarts. */
const reconnectMs = 500;

/** How long a connection may take to come about. */
const connectTimeoutMs = 3_000;

/** How often waiting callers look for themselves: covers what was told while the connection was lost. */
const lookMs = 2_000;

/** Outcomes over one connection of its own (LISTEN needs a session) and `pool` for look-ups. */
export function createOutcomes(databaseUrl: string, pool: pg.Pool, onError: (error: Error) => void): Outcomes {
  const watchers: Watchers = new Map();
  const wake = (id: string, isDone: boolean) => {
    for (const watcher of watchers.get(id) ?? []) watcher(id, isDone);
  };
  let closed = false;
  let client: pg.Client | null = null;
  const listen = async (): Promise<void> => {
    if (closed) return;
    const next = new pg.Client({
      connectionString: databaseUrl,
      application_name: "outcomes",
      keepAlive: true,
      connectionTimeoutMillis: connectTimeoutMs,
    });
    const lost = (error?: Error) => {
      if (client !== next) return;
      client = null;
      // Connected, perhaps, and of no use (a standby refuses to LISTEN): it must not be left open.
      void next.end().catch(() => undefined);
      if (error !== undefined) onError(error);
      setTimeout(listen, reconnectMs).unref();
    };
    client = next;
    next.on("error", lost);
    next.on("end", () => lost());
    next.on("notification", ({ payload }) => {
      for (const told of (payload ?? "").split(",")) {
        const isDone = told.startsWith(doneMark);
        wake(isDone ? told.slice(doneMark.length) : told, isDone);
      }
    });
    try {
      await next.connect();
      await next.query(`LISTEN ${outcomesChannel}`);
    } catch (error) {
      lost(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    for (const id of watchers.keys()) wake(id, false);
  };
  void listen();
  return {
    watch: (jobIds) => startWatch(pool, watchers, jobIds),
    close: async () => {
      closed = true;
      const last = client;
      client = null;
      await last?.end();
    },
  };
}

/** Those who are told of an operation, by its id. */
type Watchers = Map<string, Set<(id: string, isDone: boolean) => void>>;

function startWatch(pool: pg.Pool, watchers: Watchers, jobIds: readonly string[]): Watch {
  // A wake-up before anybody sleeps is remembered.
  let woken = false;
  let resume: (() => void) | null = null;
  const open = new Set(jobIds);
  const watcher = (id: string, isDone: boolean) => {
    woken = true;
    if (isDone) open.delete(id);
    resume?.();
  };
  for (const id of jobIds) watchers.set(id, (watchers.get(id) ?? new Set()).add(watcher));
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
  const settled: Watch["settled"] = async (organisationId, untilMs) => {
    try {
      for (;;) {
        await sleep(Math.max(0, Math.min(lookMs, untilMs - Date.now())));
        woken = false;
        if (open.size === 0) return jobIds.map((id) => ({ id, state: "done", reason: null, message: null }));
        const { outcomes, decided } = await readOutcomes(pool, organisationId, jobIds, untilMs);
        if (decided || Date.now() >= untilMs) return outcomes;
      }
    } finally {
      stop();
    }
  };
  return { settled, stop };
}

interface OutcomeRow {
  id: string;
  state: string;
  reason: string | null;
  message: string | null;
  put_off: boolean;
}

const readText = `SELECT id, state, reason, message, (state = 'ready' AND not_before > $3) AS put_off
  FROM ledger_jobs WHERE organisation_id = $1 AND id = ANY ($2::uuid[])`;

/** `decided`: none of them can change before `untilMs`. */
async function readOutcomes(
  pool: pg.Pool,
  organisationId: string,
  jobIds: readonly string[],
  untilMs: number,
): Promise<{ outcomes: readonly JobOutcome[]; decided: boolean }> {
  const { rows } = await pool.query<OutcomeRow>({
    name: statementName(readText),
    text: readText,
    values: [organisationId, jobIds, new Date(untilMs)],
  });
  const outcomes = rows.map(
    ({ id, state, reason, message }): JobOutcome => ({
      id,
      state: state === "done" || state === "refused" || state === "abandoned" ? state : "waiting",
      reason,
      message,
    }),
  );
  const open = rows.filter(({ put_off }, index) => outcomes[index]?.state === "waiting" && !put_off);
  return { outcomes, decided: open.length === 0 };
}
