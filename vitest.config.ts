/**
 * Four projects: `unit` needs no server and runs in `npm run verify`. `system` runs on real
 * PostgreSQL, Temporal and demo ledger, or starts processes many times. `tools` tests no part of
 * the service. `ledger` runs on Tryton, a real accounting system.
 */
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import type { TestSequencerConstructor } from "vitest/node";
import { SlowFilesSpread } from "./test/support/slow-files-spread.ts";
import { allow, stepLimitMs } from "./test/support/slowness.ts";

/** Where modules are kept that processes of tests compiled, or stripped of their types. */
const compiledFolder = join(import.meta.dirname, "node_modules/.cache/compiled");

/** The limit of `expect.poll`, whose default is a second. */
const pollTimeout = allow(4_000);

const unitTests = ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"];
const systemTests = unitTests.map((pattern) => pattern.replace(".test.ts", ".system.test.ts"));

/**
 * What tests only tools: the build, the image and chart, the generated site and clients, the local
 * start, and the demo ledger on its own.
 */
const toolTests = [
  "packages/*/test/**/*.system.test.ts",
  "test/additions.system.test.ts",
  "test/contract/proto-breaking.system.test.ts",
  "test/{bench,build,deploy,docs-site,tools}/**/*.test.ts",
  "test/packages/{generated-clients,grpc-clients,examples}.system.test.ts",
];

/** Tests of the adapter that need Tryton, a Python program: installed once from its registry. */
const trytonTests = "test/ledger/tryton/*.system.test.ts";

/** The settings of tests that need servers. */
const onServers = {
  globalSetup: ["test/support/global-setup.ts"],
  pool: "forks" as const,
  // Libraries are loaded once a process, not once a file: every file creates its own database,
  // processes and ports anyway.
  isolate: false,
  // Two cores, and files that wait more than half of their time, for leases and pauses.
  maxWorkers: 5,
  testTimeout: stepLimitMs,
  hookTimeout: stepLimitMs,
  expect: { poll: { timeout: pollTimeout } },
};

export default defineConfig({
  test: {
    // A function can be constructed too.
    sequence: { sequencer: SlowFilesSpread as unknown as TestSequencerConstructor },
    projects: [
      {
        test: {
          name: "unit",
          include: unitTests,
          exclude: [...systemTests, ...toolTests],
          setupFiles: ["test/support/fixed-seed.ts"],
          pool: "threads",
          // Their modules have no state: loading them once a thread halves the time.
          isolate: false,
          // For the processes that they start from the sources, as in the other project.
          env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compiledFolder },
          // By default one core of two is left idle.
          maxWorkers: 2,
          // First: they take seconds, and the projects have different numbers of workers.
          sequence: { groupOrder: 0 },
          // None takes more than seconds on a quiet machine.
          testTimeout: allow(24_000),
          hookTimeout: allow(24_000),
          expect: { poll: { timeout: pollTimeout, interval: 5 } },
        },
      },
      {
        test: {
          ...onServers,
          name: "system",
          include: systemTests,
          exclude: [...toolTests, trytonTests],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...onServers,
          name: "tools",
          include: toolTests,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...onServers,
          name: "ledger",
          globalSetup: [...onServers.globalSetup, "test/ledger/tryton/start-tryton.ts"],
          include: ["test/ledger/conformance/*.system.test.ts", trytonTests],
          env: { LEDGER_PLACES: "tryton" },
          // One Tryton for all files: each has a database of its own.
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
