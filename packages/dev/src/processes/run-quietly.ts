/** Runs a program that may take minutes or hang, with a time limit and an abort check. */
import { spawn } from "node:child_process";

/**
 * The settings of a run. `giveUp` is called twice a second and returns the reason to abort, if any.
 */
interface QuietRun {
  readonly what: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly limitMs: number;
  readonly giveUp?: () => Promise<string | undefined>;
}

/** Short against every limit in use. */
const pollMs = 500;

/** An error that wraps errors repeats itself and names its cause last. */
const maxLineLength = 160;

/**
 * Returns the program's output. Throws an Error with its error line if it fails, exceeds the limit
 * or is aborted. The program ends with this process.
 */
export async function runQuietly(
  file: string,
  args: readonly string[],
  run: QuietRun,
): Promise<string> {
  const child = spawn(file, args, {
    env: run.env,
    cwd: run.cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const endChild = (): void => void child.kill("SIGKILL");
  process.once("exit", endChild);
  let output = "";
  let errors = "";
  child.stdout.on("data", (part) => {
    output += part;
  });
  child.stderr.on("data", (part) => {
    errors += part;
  });
  const began = performance.now();
  let reason: string | undefined;
  const timer = setInterval(async () => {
    const elapsed = performance.now() - began;
    reason ??=
      elapsed > run.limitMs ? `it took longer than ${run.limitMs / 1000} s` : await run.giveUp?.();
    if (reason !== undefined) endChild();
  }, pollMs);
  try {
    const code = await new Promise<number | null>((done, fail) =>
      child.once("error", fail).once("close", done),
    );
    if (code === 0) return output;
    throw new Error(`${run.what} failed: ${reason ?? errorLine(errors)}`);
  } finally {
    clearInterval(timer);
    process.off("exit", endChild);
  }
}

function errorLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const line = (lines.find((one) => /error/i.test(one)) ?? lines.at(-1) ?? "without a word").trim();
  return line.length <= maxLineLength ? line : `… ${line.slice(-maxLineLength)}`;
}
