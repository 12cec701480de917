/**
 * Starts the costly steps of calls one for each iteration of the event loop. A page that was read
 * is presented and written without a pause, for most of a millisecond. If many were presented in
 * one iteration, each step of another organisation's request would wait for all of them. LIMIT-3.
 */
import type { Executor } from "./client.ts";

/** Starts steps of calls. Organisations alternate. */
export interface EventLoopPace {
  /**
   * Returns null if no other step has started in this iteration, so that an idle process loses no
   * time. Otherwise returns a promise that resolves in a later iteration.
   */
  next(organisationId: string): Promise<void> | null;
}

/** Creates the pace of a process. `defer` runs a function in the next iteration. */
export function createEventLoopPace(
  defer: (run: () => void) => unknown = (run) => setImmediate(run),
): EventLoopPace {
  /** By organisation, the next one first. */
  const waiting = new Map<string, (() => void)[]>();
  let isTaken = false;

  const continueOne = (): void => {
    isTaken = false;
    for (const [organisationId, continues] of waiting) {
      waiting.delete(organisationId);
      const first = continues.shift();
      if (continues.length > 0) waiting.set(organisationId, continues);
      take();
      first?.();
      return;
    }
  };

  const take = (): void => {
    isTaken = true;
    defer(continueOne);
  };

  return {
    next: (organisationId) => {
      if (!isTaken) {
        take();
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
