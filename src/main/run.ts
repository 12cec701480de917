/** A process from its start to its end: settings, log, signals, and an exit code that says how it went. */
import { flushCompileCache } from "node:module";
import { type Config, readConfig, SettingError } from "../config.ts";
import { assertNodeVersion } from "../dev/local-stack/node-version.ts";
import { createLog, type Log } from "./log.ts";
import { startTracing } from "./tracing.ts";

/** A process in service. `stop` drains: what was begun is finished, within limits. `done` ends with it, or rejects. */
export interface Running {
  readonly port: number | null;
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

/** Runs one process until a signal or its own end. Never returns before that; the exit code is 0 after a clean stop. */
export async function run(part: string, start: (config: Config, log: Log) => Promise<Running>): Promise<void> {
  assertNodeVersion(process.version);
  const config = settings();
  const log = createLog(part, config.logLevel);
  const stopTracing = await startTracing(process.env, `billing-${part}`);
  const running = await start(config, log).catch((error: unknown) => {
    // A port that is taken is the operator's to mend, as a wrong setting is; anything else has its
    // stack.
    console.error(error instanceof SettingError ? error.message : error);
    process.exit(1);
  });
  log.info({ port: running.port }, "started");
  // Where NODE_COMPILE_CACHE names a place, the next start is faster, also after a process that was killed.
  flushCompileCache();
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= running.stop();
    return stopping;
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void stop());
  try {
    await running.done;
    await stop();
  } catch (err) {
    log.fatal({ err }, "ended by an error");
    process.exitCode = 1;
  }
  await stopTracing();
  log.info("stopped");
  // A library's handle that is still open must not keep a stopped process alive.
  process.exit();
}

/** A wrong setting is the operator's to mend: its message alone, without a stack. */
function settings(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
