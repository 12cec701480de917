/** Runs programs as child processes: start, watch, drain and end. */
import { spawn } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { openChildLog, rotateChildLog } from "./child-log.ts";
import { endProcess, isAlive } from "./process.ts";

/**
 * The program to run. `script` is the absolute path of one of this repository, which the same Node
 * runs, or the command line of another. `env` is the whole environment. `drainMs` is the time to
 * finish its work after SIGTERM.
 */
interface ChildSettings {
  readonly name: string;
  readonly script: string | readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly drainMs: number;
}

/**
 * A running child. `exited` resolves with how it ended. `stop` drains it, ends it after its limit,
 * and returns once it is gone.
 */
export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<string>;
  /** Returns the last lines of its output. */
  lastWords(): Promise<string>;
  stop(): Promise<void>;
}

/** Bounds of V8's heap, as in the image: see deploy/entrypoint.sh. */
export const heapOptions = [
  "--max-semi-space-size=16",
  "--no-allocation-site-pretenuring",
  "--heap-growing-percent=50",
];

/** Enough lines to hold an error with its stack. */
const lastLines = 20;

/**
 * Starts the program. Its output goes to a new `logFile` of a bounded size, and the previous file
 * is kept next to it.
 * Resolves when the process exists, not when it is ready.
 */
export async function startChild({
  name,
  script,
  env,
  logFile,
  drainMs,
}: ChildSettings): Promise<Child> {
  await mkdir(dirname(logFile), { recursive: true });
  const output = await openChildLog(logFile);
  // Detached: Ctrl-C reaches the whole foreground group at once, but these must end in order.
  const [program, ...args] =
    typeof script === "string" ? [process.execPath, ...heapOptions, script] : script;
  const child = spawn(program, args, {
    env,
    detached: true,
    stdio: ["ignore", output.fd, output.fd],
  });
  const exited = new Promise<string>((done) => {
    child.once("error", (error) => done(error.message));
    child.once("exit", (code, signal) =>
      done(signal === null ? `status ${code}` : `signal ${signal}`),
    );
  });
  await output.close();
  void exited.then(rotateChildLog(logFile));
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${name} could not be started: ${await exited}`);
  return {
    name,
    pid,
    exited,
    lastWords: () => tail(logFile),
    async stop() {
      if (await isAlive(pid)) await endProcess(pid, [{ signal: "SIGTERM", limitMs: drainMs }]);
      await exited;
    },
  };
}

async function tail(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-lastLines).join("\n");
}
