/**
 * The places of a worker's lingering batches. A posting batch with a place stays after its last
 * document for some seconds, and goes on as soon as a caller wakes it (POSTING-3).
 */
import type { BatchWakes } from "../../../store/ledger-jobs/batch-wakes.ts";
import { reportEveryMs, reportHoldsMs } from "../../../store/ledger-jobs/lingering-batches.ts";

/**
 * The most lingering batches of a process. Each occupies one of its hundred activities. Without a
 * place a batch ends with its work, and Temporal wakes the next.
 */
const maxLingering = 50;

/** How long a batch lingers without a new document. */
export const lingeringIdleMs = 10_000;

/**
 * Until when an idle batch is reported. The last report no longer holds when the batch ends, so
 * that no wake-up meets its end.
 */
const reportedIdleMs = lingeringIdleMs - 2 * reportHoldsMs;

/** A place. One batch of an organisation has it in a process. */
export interface LingeringPlace {
  /** Whether the process is about to end. */
  isStopping(): boolean;
  /** Reports the batch from now on: it has worked, and will linger for a while. */
  worked(): void;
  /** Drops the wake-ups until now: what they announced is read next. */
  reading(): void;
  /** Runs all waits between two groups, which are no work of the process. */
  linger<T>(wait: () => Promise<T>): Promise<T>;
  /** Waits for a wake-up, at most this long. Returns whether there was one. */
  sleep(ms: number): Promise<boolean>;
  /** Leaves the place, which is not reported any more. */
  leave(): Promise<void>;
}

/** The places of a process. */
export interface LingeringPlaces {
  /** Takes the organisation's place. Null if it is taken, or if there is none. */
  take(organisationId: string): LingeringPlace | null;
  /** Wakes the organisation's batch, or every batch for null. */
  wake(organisationId: string | null): void;
  /** Makes all batches leave, and grants no further place. */
  stop(): void;
}

interface Lingering {
  isWoken: boolean;
  resume: () => void;
  /** When it worked last, by `performance.now()`. Null: not yet. */
  workedAtMs: number | null;
}

/**
 * Creates the places. A report that fails is lost: wake-ups then go through Temporal.
 * `whileLingering` runs each wait of a batch.
 */
export function createLingeringPlaces(
  report: BatchWakes["report"],
  whileLingering: LingeringPlace["linger"] = (wait) => wait(),
): LingeringPlaces {
  const lingering = new Map<string, Lingering>();
  let isStopping = false;
  let timer: NodeJS.Timeout | null = null;

  const isReported = ({ workedAtMs }: Lingering) =>
    workedAtMs !== null && performance.now() - workedAtMs < reportedIdleMs;
  const reportAll = () => {
    const ids = [...lingering].filter(([, one]) => isReported(one)).map(([id]) => id);
    void report(ids, []).catch(() => undefined);
  };
  const wakeOne = (one: Lingering) => {
    one.isWoken = true;
    one.resume();
  };

  return {
    take: (organisationId) => {
      if (isStopping || lingering.size === maxLingering || lingering.has(organisationId))
        return null;
      const place: Lingering = { isWoken: false, resume: () => undefined, workedAtMs: null };
      lingering.set(organisationId, place);
      timer ??= setInterval(reportAll, reportEveryMs).unref();
      return {
        isStopping: () => isStopping,
        worked: () => {
          const wasReported = isReported(place);
          place.workedAtMs = performance.now();
          if (!wasReported) void report([organisationId], []).catch(() => undefined);
        },
        reading: () => {
          place.isWoken = false;
        },
        linger: whileLingering,
        sleep: async (ms) => {
          const { promise, resolve } = Promise.withResolvers<void>();
          place.resume = resolve;
          const alarm = setTimeout(resolve, ms);
          if (!place.isWoken && !isStopping) await promise;
          clearTimeout(alarm);
          return place.isWoken;
        },
        leave: async () => {
          lingering.delete(organisationId);
          if (lingering.size === 0 && timer !== null) {
            clearInterval(timer);
            timer = null;
          }
          if (isReported(place)) await report([], [organisationId]).catch(() => undefined);
        },
      };
    },
    wake: (organisationId) => {
      if (organisationId === null) for (const one of lingering.values()) wakeOne(one);
      else {
        const one = lingering.get(organisationId);
        if (one !== undefined) wakeOne(one);
      }
    },
    stop: () => {
      isStopping = true;
      for (const one of lingering.values()) wakeOne(one);
    },
  };
}
