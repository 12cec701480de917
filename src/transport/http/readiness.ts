/**
 * Whether this process can answer requests. One check a second serves all probes: `/readyz` of both
 * ports and gRPC's health protocol answer from its last result. Probes therefore cost the database
 * nothing.
 */
import { setTimeout as wait } from "node:timers/promises";

/** One dependency of the process. */
export interface HealthCheck {
  /**
   * Without a required dependency no request can be answered. Without another one, accepted work
   * waits and the process still serves (INVARIANT-9).
   */
  readonly required: boolean;
  /**
   * Resolves to null if the dependency is available, or to a public sentence about what is wrong.
   * Rejects otherwise.
   */
  readonly check: () => Promise<string | null>;
}

/** The result of one run of the checks. */
export interface ReadinessReport {
  /** `stopping`: the process is shutting down and still answers. */
  readonly status: "ready" | "not_ready" | "stopping";
  /** By name (`database`, `temporal`). */
  readonly checks: Readonly<Record<string, "ok" | "failed">>;
  /** The public reason of each failed check, by its name. Absent if there is none. */
  readonly reasons?: Readonly<Record<string, string>>;
}

/** The readiness of the process. */
export type Readiness = ReturnType<typeof createReadiness>;

/** The checks and their times. Tests choose other times. */
export interface ReadinessSettings {
  readonly checks: Readonly<Record<string, HealthCheck>>;
  readonly everyMs?: number;
  readonly checkMs?: number;
  /** Called with the first report and with each report that differs from the previous one. */
  readonly onChange?: (report: ReadinessReport) => void;
}

/** Load balancers probe every few seconds, so a result of the last second is recent enough. */
const defaultEveryMs = 1_000;

/** A check that has not answered by then has failed. Probes themselves wait 1 to 5 s. */
const defaultCheckMs = 2_000;

/** Starts the checks. Each check runs once at a time. */
export function createReadiness(settings: ReadinessSettings) {
  const { everyMs = defaultEveryMs, checkMs = defaultCheckMs, onChange } = settings;
  const closing = new AbortController();
  const listeners = new Set<() => void>();
  const first = Promise.withResolvers<void>();
  const checks = Object.entries(settings.checks).map(([name, { required, check }]) => {
    return { name, required, run: bounded(check, checkMs) };
  });
  let isDraining = false;
  let last: ReadinessReport = { status: "not_ready", checks: {} };
  let known = "";

  const publish = (report: ReadinessReport): void => {
    last = isDraining ? { ...report, status: "stopping" } : report;
    const text = JSON.stringify(last);
    if (text === known) return;
    known = text;
    onChange?.(last);
    for (const listener of listeners) listener();
  };
  const check = async (): Promise<void> => {
    const results = await Promise.all(
      checks.map(async ({ name, required, run }) => ({ name, required, ...(await run()) })),
    );
    const reasons = results.flatMap(({ name, reason }) =>
      reason === null ? [] : [[name, reason] as const],
    );
    publish({
      status: results.every(({ ok, required }) => ok || !required) ? "ready" : "not_ready",
      checks: Object.fromEntries(results.map(({ name, ok }) => [name, ok ? "ok" : "failed"])),
      ...(reasons.length === 0 ? {} : { reasons: Object.fromEntries(reasons) }),
    });
    first.resolve();
  };
  const repeated = (async () => {
    while (!closing.signal.aborted) {
      await check();
      await wait(everyMs, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
    }
  })();

  const report = async () => {
    await first.promise;
    return last;
  };
  return {
    /**
     * Returns the last report, at most `everyMs` and `checkMs` old. Waits for the first one. Never
     * rejects.
     */
    report,
    /** Whether the last report says `ready`. Never rejects. */
    isServing: async () => (await report()).status === "ready",
    /** Calls `listener` after each change of the report, until the returned function is called. */
    subscribe: (listener: () => void): (() => void) => {
      // Each subscription has its own function, because one listener may subscribe twice.
      const registered = () => listener();
      listeners.add(registered);
      return () => listeners.delete(registered);
    },
    /** Reports `stopping` from now on. */
    drain: () => {
      isDraining = true;
      publish(last);
    },
    /** Ends the checks. Resolves when none is running. */
    close: () => {
      closing.abort();
      return repeated;
    },
  };
}

interface Result {
  readonly ok: boolean;
  readonly reason: string | null;
}

/**
 * Returns the check with a time limit. A call during a running check waits for that check and
 * starts no other.
 */
function bounded(check: HealthCheck["check"], checkMs: number): () => Promise<Result> {
  let underWay: Promise<Result> | null = null;
  return async () => {
    underWay ??= check()
      .then(
        (reason) => ({ ok: reason === null, reason }),
        // The cause is for the log of that part. It may hold what clients must not see.
        () => ({ ok: false, reason: null }),
      )
      .finally(() => {
        underWay = null;
      });
    const { promise, resolve } = Promise.withResolvers<Result>();
    // An answer that arrived while this process was busy is read before the timeout counts.
    const giveUp = () => setImmediate(resolve, { ok: false, reason: null });
    const timer = setTimeout(giveUp, checkMs).unref();
    underWay.then(resolve);
    const result = await promise;
    clearTimeout(timer);
    return result;
  };
}
