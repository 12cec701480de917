/**
 * Starts few costly steps of calls in each iteration of the event loop. A page that was read is
 * presented and written without a pause, for most of a millisecond. If many were presented in one
 * iteration, each step of another organisation's request would wait for all of them. LIMIT-3.
 */
import type { Executor } from "./client.ts";

/** Starts steps of calls. Organisations alternate. */
export interface EventLoopPace {
  /**
   * Returns null if the step may start in this iteration, so that an idle process loses no time.
   * Otherwise returns a promise that resolves in a later iteration.
   */
  next(organisationId: string): Promise<void> | null;
}

/** How many steps start in an iteration. */
export interface PaceLimits {
  readonly steps: number;
  /** Of one organisation, while others have steps too. */
  readonly mostOfOrganisation: number;
  /** How long after a step further ones of its organisation are expected. */
  readonly sharedMs: number;
}

/**
 * The steps of an iteration take about four milliseconds: a list has two. With one, a process
 * answers a quarter fewer lists a second, because it then wakes PostgreSQL for each by itself. A
 * request waits for about three iterations. With three steps of an organisation at full rate
 * instead of eight, others are answered in half the time, and it has a tenth fewer answers.
 */
const defaultLimits: PaceLimits = { steps: 8, mostOfOrganisation: 3, sharedMs: 1_000 };

/** What the pace needs of the process. */
export interface EventLoop {
  /** Runs a function in the next iteration. */
  readonly defer: (run: () => void) => unknown;
  readonly nowMs: () => number;
}

const processLoop: EventLoop = {
  defer: (run) => setImmediate(run),
  nowMs: () => performance.now(),
};

/** Creates the pace of a process. */
export function createEventLoopPace(
  { defer, nowMs }: EventLoop = processLoop,
  limits: PaceLimits = defaultLimits,
): EventLoopPace {
  /** By organisation, the next one first. */
  const waiting = new Map<string, (() => void)[]>();
  /** The organisation of each step of this iteration. */
  const started: string[] = [];
  let lastOrganisationId: string | null = null;
  let sharedUntilMs = Number.NEGATIVE_INFINITY;
  let mostOfOrganisation = limits.steps;

  const mayStart = (organisationId: string): boolean =>
    started.length < limits.steps &&
    (started.length < mostOfOrganisation ||
      started.filter((one) => one === organisationId).length < mostOfOrganisation);

  const start = (organisationId: string): void => {
    if (started.length === 0) defer(beginIteration);
    started.push(organisationId);
  };

  const beginIteration = (): void => {
    started.length = 0;
    mostOfOrganisation = nowMs() < sharedUntilMs ? limits.mostOfOrganisation : limits.steps;
    for (const [organisationId, continues] of waiting) {
      if (!mayStart(organisationId)) continue;
      waiting.delete(organisationId);
      const first = continues.shift();
      // Behind the other organisations: the loop comes to it again after them.
      if (continues.length > 0) waiting.set(organisationId, continues);
      start(organisationId);
      first?.();
      if (started.length === limits.steps) return;
    }
  };

  /** While several organisations have steps, two in a row are soon of different ones. */
  const observe = (organisationId: string): void => {
    if (organisationId === lastOrganisationId) return;
    if (lastOrganisationId !== null) {
      sharedUntilMs = nowMs() + limits.sharedMs;
      mostOfOrganisation = limits.mostOfOrganisation;
    }
    lastOrganisationId = organisationId;
  };

  return {
    next: (organisationId) => {
      observe(organisationId);
      const own = waiting.get(organisationId);
      if (own === undefined && mayStart(organisationId)) {
        start(organisationId);
        return null;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      if (own === undefined) waiting.set(organisationId, [resolve]);
      else own.push(resolve);
      return promise;
    },
  };
}

/** Returns an executor whose answers continue at this pace. It takes promises, no callbacks. */
export function pacedReads(
  executor: Executor,
  pace: EventLoopPace,
  organisationId: string,
): Executor {
  const send = executor.query.bind(executor) as (...args: unknown[]) => Promise<unknown>;
  const query = async (...args: unknown[]): Promise<unknown> => {
    const answer = await send(...args);
    await pace.next(organisationId);
    return answer;
  };
  return { query: query as Executor["query"] };
}
