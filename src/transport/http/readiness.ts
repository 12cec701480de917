/**
 * Whether this process can answer requests. One check a second serves everyone who asks: `/readyz`
 * of both ports and gRPC's health protocol answer from its last result, so probes cost the database
 * nothing.
 */
import { setTimeout as wait } from "node:timers/promises";

/** One thing that the process needs. */
export interface HealthCheck {
  /**
   * Without it no request can be answered. Without the others accepted work waits, and the process
   * still serves.
   */
  readonly required: boolean;
  /**
   * Null if it is there; a sentence that says what is wrong, which everyone may read; rejects
   * otherwise.
   */
  readonly check: () => Promise<string | null>;
}

/** The result of one round of checks. */
export interface ReadinessReport {
  /** `stopping`: the process was told to end and still answers. */
  readonly status: "ready" | "not_ready" | "stopping";
  /** By name (`database`, `temporal`). */
  readonly checks: Readonly<Record<string, "ok" | "failed">>;
  /** What is wrong, by the name of the check, if that may be shown; absent if nothing is. */
  readonly reasons?: Readonly<Record<string, string>>;
}

/** The readiness of the process. */
export interface Readiness {
  /**
   * The last report, at most `everyMs` and `checkMs` old; waits for the first one. Never rejects.
   */
  readonly report: () => Promise<ReadinessReport>;
  /** Whether the last report says `ready`. Never rejects. */
  readonly isServing: () => Promise<boolean>;
  /** Calls `listener` after each change of the report, until the returned function is called. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Reports `stopping` from now on. */
  readonly drain: () => void;
  /** Ends the checks; resolves when none is under way. */
  readonly close: () => Promise<void>;
}

/** What is checked, and how often; tests choose other times. */
export interface ReadinessSettings {
  readonly checks: Readonly<Record<string, HealthCheck>>;
  readonly everyMs?: number;
  readonly checkMs?: number;
  /** Called with each report that differs from the one before, and with the first one. */
  readonly onChange?: (report: ReadinessReport) => void;
}

/** Balancers probe every few seconds: a result of the last second is as good as a new one. */
const defaultEveryMs = 1_000;

/** A check that has not answered by then has failed: probes themselves wait 1 to 5 s. */
const defaultCheckMs = 2_000;

/** Starts the checks; each is run once at a time. */
export function createReadiness(settings: ReadinessSettings): Readiness {
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
  const look = async (): Promise<void> => {
    const results = await Promise.all(
      checks.map(async ({ name, required, run }) => ({ name, required, ...(await run()) })),
    );
    const reasons = results.flatMap(({ name, reason }) => (reason === null ? [] : [[name, reason] as const]));
    publish({
      status: results.every(({ ok, required }) => ok || !required) ? "ready" : "not_ready",
      checks: Object.fromEntries(results.map(({ name, ok }) => [name, ok ? "ok" : "failed"])),
      ...(reasons.length === 0 ? {} : { reasons: Object.fromEntries(reasons) }),
    });
    first.resolve();
  };
  const looking = (async () => {
    while (!closing.signal.aborted) {
      await look();
      await wait(everyMs, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
    }
  })();

  const report = async () => {
    await first.promise;
    return last;
  };
  return {
    report,
    isServing: async () => (await report()).status === "ready",
    subscribe: (listener) => {
      // A function of its own for each subscription: one listener may subscribe twice.
      const own = () => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
    drain: () => {
      isDraining = true;
      publish(last);
    },
    close: () => {
      closing.abort();
      return looking;
    },
  };
}

interface Result {
  readonly ok: boolean;
  readonly reason: string | null;
}

/**
 * The check with a time limit. A call that finds one still under way waits for it and starts no
 * other.
 */
function bounded(check: HealthCheck["check"], checkMs: number): () => Promise<Result> {
  let underWay: Promise<Result> | null = null;
  return async () => {
    underWay ??= check()
      .then(
        (reason) => ({ ok: reason === null, reason }),
        // Why is the business of the log of that part, and may hold what strangers must not see.
        () => ({ ok: false, reason: null }),
      )
      .finally(() => {
        underWay = null;
      });
    const { promise, resolve } = Promise.withResolvers<Result>();
    // An answer that came while this process was busy is read before the verdict.
    const giveUp = () => setImmediate(resolve, { ok: false, reason: null });
    const timer = setTimeout(giveUp, checkMs).unref();
    underWay.then(resolve);
    const result = await promise;
    clearTimeout(timer);
    return result;
  };
}
