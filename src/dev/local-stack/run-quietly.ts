/** Runs a program that may take minutes or hang: with a limit, and a reason to give up. */
import { spawn } from "node:child_process";

/** How to run it. `giveUp` is asked twice a second and answers why to give up. */
export interface QuietRun {
  readonly what: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly limitMs: number;
  readonly giveUp?: () => Promise<string | undefined>;
}

/** Short against every limit in use. */
const lookMs = 500;

/** An error that wraps errors repeats itself and names its cause last. */
const mostOfLine = 160;

/** What the program printed; throws an Error with its error line when it fails, takes too long or is given up. It ends with this process. */
export async function runQuietly(file: string, args: readonly string[], run: QuietRun): Promise<string> {
  const child = spawn(file, args, { env: run.env, cwd: run.cwd, stdio: ["ignore", "pipe", "pipe"] });
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
    reason ??= elapsed > run.limitMs ? `it took longer than ${run.limitMs / 1000} s` : await run.giveUp?.();
    if (reason !== undefined) endChild();
  }, lookMs);
  try {
    const code = await new Promise<number | null>((done, fail) => child.once("error", fail).once("close", done));
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
  return line.length <= mostOfLine ? line : `… ${line.slice(-mostOfLine)}`;
}
