/**
 * The API or the worker inside the test's own process, composed with kinds of ledger that only
 * tests have. It speaks HTTP, PostgreSQL and Temporal like the separate processes.
 */
import { pino } from "pino";
import { readConfig } from "../../src/config.ts";
import type { LedgerKinds } from "../../src/ledger/port/ledger-kind.ts";
import type { Running } from "../../src/main/run.ts";
import type { TestProcess } from "./process.ts";

// Loaded when needed: most tests use separate processes.
const starts = {
  api: async () => (await import("../../src/main/api.ts")).startApi,
  worker: async () => (await import("../../src/main/worker.ts")).startWorker,
} as const;

/** Returns a process that runs here, with these settings. It cannot be killed. */
export function processHere(
  part: keyof typeof starts,
  base: NodeJS.ProcessEnv,
  kinds: LedgerKinds,
): TestProcess {
  let running: Running | null = null;
  const stop = async () => {
    await running?.stop();
    running = null;
  };
  return {
    start: async (env = {}) => {
      const settings = { ...base, ...env };
      const start = await starts[part]();
      running = await start(readConfig(settings, kinds), pino({ enabled: false }), kinds);
    },
    kill: () => Promise.reject(new Error("a process that runs here cannot be killed")),
    stop,
    exited: async () => running?.done,
    isRunning: () => running !== null,
    output: () => "",
  };
}
