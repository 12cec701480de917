/**
 * The API or the worker inside the test's own process. It speaks HTTP, PostgreSQL and Temporal like
 * the separate processes, and its libraries are loaded once for all files of the process. One
 * worker runs here at a time, because Temporal's runtime is one for each process.
 */
import { join } from "node:path";
import type { LedgerKinds } from "../../src/ledger/port/ledger-kind.ts";
import type { Running } from "../../src/main/run.ts";
import type { TestProcess } from "./process.ts";
import { until } from "./until.ts";

/** The module of the parts in a build. */
export const builtParts = "service-parts";

type Parts = typeof import("./service-parts.ts");

/**
 * The built parts have separate modules, so that a test's imports share no state with them. Kinds
 * of ledger that only tests have need the modules of the sources, whose errors they throw.
 */
function loadParts(kinds: LedgerKinds | undefined): Promise<Parts> {
  const built = process.env.TEST_PROGRAMS;
  return built && kinds === undefined
    ? import(join(built, `${builtParts}.js`))
    : import("./service-parts.ts");
}

/** What differs from a separate process. */
interface HereSettings {
  /** Kinds of ledger that only tests have. */
  readonly kinds: LedgerKinds | undefined;
  readonly isReady: (output: string) => Promise<boolean>;
}

/** Returns a process that runs here, with these settings. It can be stopped, but not killed. */
export function processHere(
  part: "api" | "worker",
  base: NodeJS.ProcessEnv,
  { kinds, isReady }: HereSettings,
): TestProcess {
  let running: Running | null = null;
  let ended: Promise<void> = Promise.resolve();
  let output = "";
  const write = (line: string) => {
    output += line;
  };
  return {
    start: async (env = {}) => {
      output = "";
      const { createLog, ledgers, readConfig, startApi, startWorker } = await loadParts(kinds);
      const ownKinds = kinds ?? ledgers;
      const config = readConfig({ ...base, ...env }, ownKinds, part);
      const log = createLog(part, config.logLevel, { write });
      const start = part === "api" ? startApi : startWorker;
      const own = await start(config, log, ownKinds);
      running = own;
      // Otherwise a later wait would fail without the reason.
      ended = own.done.catch((error: unknown) => {
        if (running === own) running = null;
        console.error(`the ${part} ended:`, error);
      });
      log.info({ port: own.port }, "started");
      await until(
        () => `the ${part} is ready: ${output}`,
        () => isReady(output).catch(() => false),
      );
    },
    kill: () => Promise.reject(new Error("a process that runs here cannot be killed")),
    stop: async () => {
      const own = running;
      running = null;
      await own?.stop();
    },
    exited: () => ended,
    isRunning: () => running !== null,
    output: () => output,
  };
}

/**
 * A process that runs here unless it starts with a crash point, or the test wants it separate: what
 * is killed must be a separate process.
 */
export function hereOr(separate: TestProcess, here: TestProcess): TestProcess {
  let current = here;
  return {
    start: async (env = {}, isSeparate = env.BILLING_CRASH_AT !== undefined) => {
      current = isSeparate ? separate : here;
      await current.start(env);
    },
    kill: () => current.kill(),
    stop: () => current.stop(),
    exited: () => current.exited(),
    isRunning: () => current.isRunning(),
    output: () => current.output(),
  };
}
