/** Two projects: `unit` needs no server and runs in `npm run verify`; `system` runs on real PostgreSQL, Temporal and demo ledger. */
import { defineConfig } from "vitest/config";

/** How long what comes by itself is waited for where a test says nothing else: by default a second, which a busy machine may need. */
const pollTimeout = 20_000;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.system.test.ts"],
          setupFiles: ["test/support/fixed-seed.ts"],
          pool: "threads",
          // Their modules hold no state: loading them once a thread halves the time.
          isolate: false,
          // By default one core of two is left idle.
          maxWorkers: 2,
          // First: they take seconds, and the two projects have different numbers of workers.
          sequence: { groupOrder: 0 },
          // None takes more than seconds alone; a machine that does other work as well is no fault of theirs.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: pollTimeout } },
        },
      },
      {
        test: {
          name: "system",
          include: ["test/**/*.system.test.ts"],
          globalSetup: ["test/support/global-setup.ts"],
          pool: "forks",
          // Libraries are loaded once a process, not once a file: every file makes its own database, processes and ports anyway.
          isolate: false,
          // Two cores, and files that wait half of their time, for leases and pauses: twice as many use that.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
          // For what never comes: restarts, leases and the ledger's pauses take half a minute a time and several times as long beside other tests,
          // and each thing that is waited for has 100 seconds by itself, and says what it was.
          testTimeout: 420_000,
          hookTimeout: 420_000,
          expect: { poll: { timeout: pollTimeout } },
        },
      },
    ],
  },
});
