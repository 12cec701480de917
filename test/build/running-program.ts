/** A program of a build that runs as a process of a test. */
import { type SpawnOptions, spawn } from "node:child_process";
import { until } from "../support/until.ts";

/** A program that was started. */
export interface RunningProgram {
  /** Whether it has ended. */
  hasEnded(): boolean;
  /** Everything that it wrote. */
  output(): string;
  /** Sends SIGTERM and returns the code or the signal by which it ended. */
  stop(): Promise<string>;
}

/** Starts a file by this Node, or `command` if it is named. It is not ready yet. */
export async function startProgram(
  file: string,
  options: SpawnOptions & { readonly command?: readonly string[] },
): Promise<RunningProgram> {
  const { command = [process.execPath, file], ...rest } = options;
  const [name = "", ...args] = command;
  const child = spawn(name, args, { ...rest, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      output += String(chunk);
    });
  let hasEnded = false;
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? String(code)));
  }).finally(() => {
    hasEnded = true;
  });
  return {
    hasEnded: () => hasEnded,
    output: () => output,
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** Waits until the program has written a text. Throws with its output if it ends before. */
export async function untilOutput(program: RunningProgram, text: string): Promise<void> {
  await until(
    () => `it writes ${text}: ${program.output()}`,
    async () => {
      if (program.hasEnded()) throw new Error(`it has ended: ${program.output()}`);
      return program.output().includes(text);
    },
  );
}
