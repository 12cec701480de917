/**
 * Starts what was missed: finds organisations in which something waits that nobody is at (Temporal was down, a process died
 * between its commit and its wake-up, a pause is over) and wakes their ledger workflows.
 */
import type { LedgerWork } from "./ledger-work.ts";

/** Finds organisations with work that has been due for longer than `graceMs`. */
export type FindNeglected = (graceMs: number) => Promise<readonly string[]>;

/** The dispatcher of one worker process; several of them only wake twice. */
export interface Dispatcher {
  stop(): Promise<void>;
}

/** How often it looks: work that was missed waits this long and the grace time at most. */
const lookEveryMs = 2_000;

/** A workflow that was woken and still has its work is at it, or its activity is being retried: it is not woken again sooner. */
const wakeAgainMs = 20_000;

/** What has been due for less is left to the wake-up of the process that wrote it. */
const graceMs = 3_000;

/** Starts looking; `onError` is told where the database could not be asked. */
export function startDispatcher(
  findNeglected: FindNeglected,
  work: LedgerWork,
  onError: (error: unknown) => void,
): Dispatcher {
  let stopped = false;
  let wakeUp: () => void = () => undefined;
  const wokenAt = new Map<string, number>();
  const wake = async (organisationId: string): Promise<void> => {
    const now = performance.now();
    if (now - (wokenAt.get(organisationId) ?? Number.NEGATIVE_INFINITY) < wakeAgainMs) return;
    if (await work.wake(organisationId)) wokenAt.set(organisationId, now);
  };
  const look = async (): Promise<void> => {
    while (!stopped) {
      try {
        const neglected = new Set(await findNeglected(graceMs));
        for (const organisationId of wokenAt.keys()) if (!neglected.has(organisationId)) wokenAt.delete(organisationId);
        for (const organisationId of neglected) {
          // With Temporal out of reach each one takes seconds: a stop must not wait for all of them.
          if (stopped) return;
          await wake(organisationId);
        }
      } catch (error) {
        onError(error);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, lookEveryMs);
        wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const looking = look();
  return {
    stop: async () => {
      stopped = true;
      wakeUp();
      await looking;
    },
  };
}
