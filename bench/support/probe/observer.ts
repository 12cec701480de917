/**
 * Who observes the system of a measurement while it runs. `npm run bench -- profile NAME` sets
 * one before it runs the measurement, which knows nothing of it.
 */
import type pg from "pg";
import type { Probes } from "./probes.ts";

/** What an observer sees. */
export interface Observed {
  /** The role of the service's statements, or null if all are of one role. */
  readonly role: string | null;
  readonly pool: pg.Pool;
  /** Null if the measurement works in the bench's own process. */
  readonly probes: Probes | null;
  /** The log of PostgreSQL, with the slow plans. */
  readonly postgresLog: string;
}

/** Called after the start of what is measured, and before its stop. */
export interface Observer {
  /** Statements that take longer are logged with their plan. */
  readonly slowMs: number;
  /** Settings of PostgreSQL in addition to those of its counting. */
  readonly settings?: Readonly<Record<string, string>>;
  begin(observed: Observed): Promise<void>;
  end(observed: Observed): Promise<void>;
}

let current: Observer | null = null;

/** Sets the observer of all systems and databases that this process starts from now on. */
export function observe(observer: Observer): void {
  current = observer;
}

/** Returns the observer, or null if nothing is observed. */
export function observerOfRun(): Observer | null {
  return current;
}

/** Observes without a report: the measurement itself reads probes and statements. */
export const readingObserver: Observer = {
  slowMs: 100,
  begin: async () => undefined,
  end: async () => undefined,
};
