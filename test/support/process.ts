/** Processes of the service that tests end in either way and start again. */
import { type ChildProcess, spawn } from "node:child_process";
import { isAbsolute, join } from "node:path";
import { programs } from "../../tools/build/programs.ts";
import { until } from "./until.ts";

/** A process that can be ended in either way and started again, with other settings if wanted. */
export interface TestProcess {
  /** Starts it, as a separate process if wanted: otherwise it may run in the test's own. */
  start(env?: NodeJS.ProcessEnv, isSeparate?: boolean): Promise<void>;
  /** SIGKILL; returns once it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; returns once it is gone. */
  stop(): Promise<void>;
  /** Resolves when the running process ends by itself. */
  exited(): Promise<void>;
  /** Whether it was started and has not ended. */
  isRunning(): boolean;
  /** Everything that it wrote since its last start. */
  output(): string;
}

/** Characters that are shown of the output of a process that ended by itself. */
const lastWords = 4_000;

/**
 * Returns the program of a file of `src/`: the one that the global set-up built, which starts in
 * half of the processor time, or the file itself if there is none. It is the part that needs no
 * source maps, because reading them is a sixth of a start. An absolute path is a file of other
 * sources.
 */
export function programPath(script: string): string {
  const built = process.env.TEST_PROGRAMS;
  if (isAbsolute(script)) return script;
  const [name] = Object.entries(programs).find(([, path]) => path === join("src", script)) ?? [];
  return built && name
    ? join(built, `${name}-program.js`)
    : join(import.meta.dirname, "../../src", script);
}

/** A process of `src/` that is not started yet. `isReady` reads its output or calls it. */
export function testProcess(
  script: string,
  base: NodeJS.ProcessEnv,
  isReady: (output: string) => Promise<boolean>,
): TestProcess {
  const path = programPath(script);
  let child: ChildProcess | null = null;
  let gone: Promise<void> = Promise.resolve();
  let output = "";
  let isStopped = false;
  const end = async (signal: NodeJS.Signals) => {
    isStopped = true;
    child?.kill(signal);
    await gone;
  };
  return {
    start: async (env = {}) => {
      output = "";
      isStopped = false;
      const own = spawn(process.execPath, [path], {
        env: { ...base, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      child = own;
      for (const stream of [own.stdout, own.stderr])
        stream.on("data", (chunk) => (output += String(chunk)));
      // Otherwise a later wait would fail without the reason.
      own.once("exit", (code) => {
        if (code !== null && child === own && !isStopped)
          console.error(`${script} ended with ${code}: ${output.slice(-lastWords)}`);
      });
      // Not its exit: its last output may come after that.
      gone = new Promise((resolve) => own.once("close", () => resolve()));
      const isUp = async () => {
        const code = own.exitCode ?? own.signalCode;
        if (code !== null) {
          await gone;
          throw new Error(`${script} ended with ${code}: ${output}`);
        }
        return isReady(output).catch(() => false);
      };
      await until(() => `${script} is ready: ${output}`, isUp);
    },
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    exited: () => gone,
    isRunning: () =>
      child !== null && !isStopped && child.exitCode === null && child.signalCode === null,
    output: () => output,
  };
}
