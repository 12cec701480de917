/** Runs a process from start to end: settings, log, signals and the exit code. */
import { flushCompileCache } from "node:module";
import { setTimeout as wait } from "node:timers/promises";
import { type Config, type ConfiguredPart, readConfig, SettingError } from "../config.ts";
import { ledgers } from "../ledger/index.ts";
import { assertNodeVersion } from "./node-version.ts";
import { takenPorts } from "./settings/free-ports.ts";
import { unknownSettings } from "./settings/unknown-settings.ts";
import { onStopSignal } from "./stop-signals.ts";
import { createLog, type Log } from "./telemetry/log.ts";
import { startTracing, type Tracing } from "./telemetry/tracing.ts";

/**
 * A running process. `stop` drains: it finishes open work within limits. `done` resolves or rejects
 * when the process ends.
 */
export interface Running {
  readonly port: number | null;
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

/** How long the last spans may take. The collector may be away or silent, and nobody waits. */
const lastSpansMs = 2_000;

/**
 * Runs one process until a signal or its own end, and does not return before. The exit code is 0
 * after a clean stop.
 */
export async function run(
  part: ConfiguredPart,
  start: (config: Config, log: Log, tracing: Tracing) => Promise<Running>,
): Promise<void> {
  assertNodeVersion(process.version);
  const config = await settings(part);
  const log = createLog(part, config.logLevel);
  for (const unknown of unknownSettings(process.env, ledgers)) log.warn(unknown);
  // A worker has one port, whose own error says the same.
  const taken = part === "api" ? await takenPorts(process.env, part) : [];
  if (taken.length > 0) {
    console.error(taken.join("\n"));
    process.exit(1);
  }
  const tracing = await startTracing(process.env, `billing-${part}`);
  const running = await start(config, log, tracing).catch((error: unknown) => {
    // A taken port or a wrong setting is for the operator to correct, so it is shown without a
    // stack. Any other error has its stack.
    console.error(error instanceof SettingError ? error.message : error);
    process.exit(1);
  });
  log.info({ port: running.port }, "started");
  // With NODE_COMPILE_CACHE set, the next start is faster, even after a killed process.
  flushCompileCache();
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= running.stop();
    return stopping;
  };
  const unstopped = Promise.withResolvers<never>();
  onStopSignal(() => void stop().catch(unstopped.reject));
  try {
    await Promise.race([running.done, unstopped.promise]);
    await stop();
  } catch (err) {
    log.fatal({ err }, "ended by an error");
    process.exitCode = 1;
  }
  await sendLastSpans(tracing, log);
  log.info("stopped");
  // A library's handle that is still open must not keep a stopped process alive.
  process.exit();
}

/** Traces are optional: what cannot be sent is a warning. */
async function sendLastSpans(tracing: Tracing, log: Log): Promise<void> {
  const late = wait(lastSpansMs).then(() => {
    throw new Error(`the collector of traces has not answered for ${lastSpansMs} ms`);
  });
  await Promise.race([tracing.stop(), late]).catch((err) =>
    log.warn({ err }, "the last spans were not sent"),
  );
}

/**
 * Reads the settings. Wrong settings are for the operator to correct, so only their lines are
 * shown, without a stack: with those of taken ports, and of misspelt settings, which may be the
 * missing ones.
 */
async function settings(part: ConfiguredPart): Promise<Config> {
  try {
    return readConfig(process.env, ledgers, part);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    for (const fault of await takenPorts(process.env, part)) console.error(fault);
    for (const unknown of unknownSettings(process.env, ledgers)) console.error(unknown);
    process.exit(1);
  }
}
