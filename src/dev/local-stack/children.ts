/** Programs of this repository run as child processes with the same Node: started, watched, drained and ended. */
import { spawn } from "node:child_process";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { endProcess, isAlive } from "./process.ts";

/** What to run: `script` is an absolute path, `env` is the whole environment, `drainMs` how long it may finish its work after SIGTERM. */
export interface ChildSettings {
  readonly name: string;
  readonly script: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly drainMs: number;
}

/** A running child. `exited` resolves with how it ended; `stop` drains it, ends it after its limit, and returns once it is gone. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<string>;
  /** The last lines that it wrote. */
  lastWords(): Promise<string>;
  stop(): Promise<void>;
}

/** Enough lines to hold an error with its stack. */
const lastLines = 20;

/** Starts the program; its output goes to `logFile`, begun anew with the earlier one kept beside it. Resolves when the process exists, not when it is ready. */
export async function startChild({ name, script, env, logFile, drainMs }: ChildSettings): Promise<Child> {
  await mkdir(dirname(logFile), { recursive: true });
  // Someone may come for the log of a run that went wrong after having started the next.
  await rename(logFile, `${logFile}.previous`).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  const output = await open(logFile, "w", 0o600);
  // Detached: Ctrl-C reaches the whole foreground group at once, but these are to end in order.
  const child = spawn(process.execPath, [script], { env, detached: true, stdio: ["ignore", output.fd, output.fd] });
  const exited = new Promise<string>((done) => {
    child.once("error", (error) => done(error.message));
    child.once("exit", (code, signal) => done(signal === null ? `status ${code}` : `signal ${signal}`));
  });
  await output.close();
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
