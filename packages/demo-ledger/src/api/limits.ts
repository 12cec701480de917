/**
 * Xero's call limits: a minute, a day and concurrent calls for an organisation, a minute for an app
 * (XERO-7). They are counted in memory, so a restart opens new windows. Documents do not depend on
 * them.
 */
import { type DemoAnswer, limitAnswer } from "./answers.ts";

/** How many calls are admitted. */
export interface DemoLimits {
  readonly minute: number;
  readonly day: number;
  readonly concurrent: number;
  readonly appMinute: number;
}

/** Xero's production limits. */
export const xeroLimits: DemoLimits = { minute: 60, day: 5_000, concurrent: 5, appMinute: 10_000 };

/**
 * Limits far above Xero's, because a demo should show billing, not waiting. Tests and measurements
 * set Xero's.
 */
export const generousLimits: DemoLimits = {
  minute: 60_000,
  day: 50_000_000,
  concurrent: 50,
  appMinute: 600_000,
};

/** An admitted call: its headers, and the function to call when it ends. */
interface Admitted {
  readonly kind: "admitted";
  readonly headers: Readonly<Record<string, string>>;
  readonly leave: () => void;
}

/** Calls since the start: admitted and rejected. */
export interface CallCounts {
  readonly taken: number;
  readonly turnedAway: number;
}

/** Admits or rejects calls, and counts them. */
export interface LimitBook {
  /** Returns the calls of an organisation. */
  counts(tenantId: string): CallCounts;
  enter(
    tenantId: string,
    clientId: string,
  ): Admitted | { readonly kind: "turned_away"; readonly answer: DemoAnswer };
}

interface Window {
  startedAt: number;
  used: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/**
 * Creates the counters for all organisations. Windows are fixed and start with the first call, as
 * Xero's do.
 */
export function createLimitBook(limits: DemoLimits): LimitBook {
  const windows = new Map<string, Window>();
  const running = new Map<string, number>();
  const counts = new Map<string, CallCounts>();

  const countsOf = (tenantId: string): CallCounts =>
    counts.get(tenantId) ?? { taken: 0, turnedAway: 0 };
  const rejectForRate = (tenantId: string, problem: string, retryAfterSeconds: number) => {
    const { taken, turnedAway } = countsOf(tenantId);
    counts.set(tenantId, { taken, turnedAway: turnedAway + 1 });
    return { kind: "turned_away", answer: limitAnswer(problem, retryAfterSeconds) } as const;
  };
  const windowOf = (key: string, lengthMs: number): Window => {
    const now = performance.now();
    const known = windows.get(key);
    if (known && now - known.startedAt < lengthMs) return known;
    const opened = { startedAt: now, used: 0 };
    windows.set(key, opened);
    return opened;
  };

  return {
    counts: countsOf,
    enter(tenantId, clientId) {
      const counted = [
        {
          problem: "minute",
          most: limits.minute,
          lengthMs: minuteMs,
          window: windowOf(`minute ${tenantId}`, minuteMs),
        },
        {
          problem: "day",
          most: limits.day,
          lengthMs: dayMs,
          window: windowOf(`day ${tenantId}`, dayMs),
        },
        {
          problem: "appminute",
          most: limits.appMinute,
          lengthMs: minuteMs,
          window: windowOf(`app ${clientId}`, minuteMs),
        },
      ] as const;
      const hit = counted.find(({ most, window }) => window.used >= most);
      if (hit) {
        const waitMs = hit.window.startedAt + hit.lengthMs - performance.now();
        return rejectForRate(tenantId, hit.problem, Math.max(1, Math.ceil(waitMs / 1_000)));
      }
      const atOnce = running.get(tenantId) ?? 0;
      if (atOnce >= limits.concurrent) return rejectForRate(tenantId, "concurrent", 1);
      running.set(tenantId, atOnce + 1);
      for (const { window } of counted) window.used += 1;
      const { taken, turnedAway } = countsOf(tenantId);
      counts.set(tenantId, { taken: taken + 1, turnedAway });
      const [minute, day, app] = counted.map(({ most, window }) => String(most - window.used));
      return {
        kind: "admitted",
        headers: {
          "x-minlimit-remaining": minute ?? "0",
          "x-daylimit-remaining": day ?? "0",
          "x-appminlimit-remaining": app ?? "0",
        },
        leave: () => running.set(tenantId, (running.get(tenantId) ?? 1) - 1),
      };
    },
  };
}
