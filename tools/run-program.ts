/** Runs the programs of build steps, from `node_modules/.bin` and on the pinned Node. */
import { spawn, spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";

/** The result of a program. */
interface ProgramResult {
  readonly status: number;
  /** Its standard output as bytes, because some programs print binary data. */
  readonly stdout: Buffer;
  readonly stderr: string;
}

/**
 * The largest output of a program, in bytes. An archive or a descriptor set of the contract is
 * below 1 MB.
 */
const maxOutputBytes = 64 * 1024 * 1024;

/**
 * Runs a program of `node_modules/.bin`, or of the machine if that has none, and returns its
 * result.
 */
export function tryProgram(
  root: string,
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ProgramResult {
  const result = spawnSync(name, args, {
    cwd: root,
    env: environment(root, env),
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: maxOutputBytes,
  });
  if (result.error) throw result.error;
  return {
    status: result.status ?? 1,
    stdout: result.stdout,
    stderr: result.stderr.toString("utf8"),
  };
}

/**
 * Runs a program and returns its standard output. If the program fails, throws with its whole
 * output.
 */
export function runProgram(
  root: string,
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Buffer {
  const { status, stdout, stderr } = tryProgram(root, name, args, env);
  if (status !== 0)
    throw new Error(`${name} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** Like `runProgram`, for a program that takes long: timers of this process continue meanwhile. */
export async function awaitProgram(
  root: string,
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn(name, args, {
    cwd: root,
    env: environment(root, env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  const status = await new Promise((done, fail) => child.once("error", fail).once("close", done));
  if (status !== 0) throw new Error(`${name} ${args.join(" ")} ended with ${status}:\n${output}`);
}

function environment(root: string, env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  // In front, so that programs with `#!/usr/bin/env node` get the pinned Node, not the machine's.
  const path = `${join(root, "node_modules/.bin")}${delimiter}${process.env.PATH ?? ""}`;
  return { ...process.env, ...env, PATH: path };
}
