/**
 * Starts few costly steps of calls in each iteration of the event loop. A page that was read is
 * presented and written without a pause, for most of a millisecond. If many were presented in one
 * iteration, each step of another organisation's request would wait for all of them. LIMIT-3.
 */
import { createShortLivedMap } from "../../short-lived.ts";
import type { Executor } from "./client.ts";

/** Starts steps of calls. Organisations alternate. */
export interface EventLoopPace {
  /**
   * Returns null if the step may start in this iteration, so that an idle process loses no time.
   * Otherwise returns a promise that resolves in a later iteration.
   */
  next(organisationId: string): Promise<void> | null;
}

/**
 * Steps of an iteration, together about four milliseconds: a list has two. With one a process
 * answers a quarter fewer lists a second, because it then wakes PostgreSQL for each by itself.
 */
const stepsOfIteration = 8;

/** Creates the pace of a process. `defer` runs a function in the next iteration. */
export function createEventLoopPace(
  defer: (run: () => void) => unknown = (run) => setImmediate(run),
  steps = stepsOfIteration,
): EventLoopPace {
  /** By organisation, the next one first. */
  const waiting = createShortLivedMap<(() => void)[]>();
  /** In this iteration. */
  let started = 0;

  const start = (): void => {
    if (started === 0) defer(beginIteration);
    started += 1;
  };

  const beginIteration = (): void => {
    started = 0;
    for (const [organisationId, continues] of waiting) {
      waiting.delete(organisationId);
      const first = continues.shift();
      // Behind the other organisations: the loop comes to it again after them.
      if (continues.length > 0) waiting.set(organisationId, continues);
      start();
      first?.();
      if (started === steps) return;
    }
  };

  return {
    next: (organisationId) => {
      if (waiting.size === 0 && started < steps) {
        start();
        return null;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const own = waiting.get(organisationId);
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
