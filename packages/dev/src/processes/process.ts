/**
 * Processes of this machine by their number: whether one is alive, its command line, and its end
 * within a limit. A process is ended only if one of our pid files names it and its command line
 * confirms it.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * The pause between two checks of a wait: short against every start and stop, long against the cost
 * of a check.
 */
const pollMs = 20;

/** A lookup that hangs must not hang the start. /proc or `ps` answers within milliseconds. */
const psLimitMs = 5_000;

/** Returns true while a process with this number exists, of any owner. A zombie counts as gone. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return (await commandOf(pid)) !== "";
}

/**
 * Returns the command line of a process, its arguments joined by spaces. It is "" for a process
 * that is gone or a zombie.
 */
export async function commandOf(pid: number): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
  } catch {
    // No /proc (macOS), or no such process: `ps` distinguishes the two.
  }
  try {
    const { stdout } = await run("ps", ["-o", "command=", "-p", String(pid)], {
      timeout: psLimitMs,
    });
    return stdout.trim();
  } catch {
    return "";
  }
}

/** Waits until `condition` holds, at most `limitMs`. Returns false if it did not hold in time. */
export async function waitUntil(
  condition: () => Promise<boolean> | boolean,
  limitMs: number,
): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() >= end) return false;
    await wait(pollMs);
  }
  return true;
}

/** One step of ending a process: a signal, and the time before the next one. */
interface EndStep {
  readonly signal: NodeJS.Signals;
  readonly limitMs: number;
}

/** Ends the process by these signals, and finally by SIGKILL. Returns once it is gone. */
export async function endProcess(pid: number, steps: readonly EndStep[]): Promise<void> {
  for (const { signal, limitMs } of [
    ...steps,
    { signal: "SIGKILL", limitMs: 5_000 } satisfies EndStep,
  ]) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return;
      throw error;
    }
    if (await waitUntil(async () => !(await isAlive(pid)), limitMs)) return;
  }
  throw new Error(`The process ${pid} could not be ended. End it by hand and start again.`);
}
