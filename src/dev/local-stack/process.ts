/**
 * Processes of this machine by their number: is one alive, what is it, and ending it with a limit.
 * Only what a pid file of ours names, and whose command line confirms it, is ever ended.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** How often a wait looks again: short against every start and stop, long against the cost of a look. */
const pollMs = 20;

/** A look that hangs must not hang the start: /proc or `ps` answers within milliseconds. */
const psLimitMs = 5_000;

/** True while a process with this number exists, whoever owns it; a zombie counts as gone. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return (await commandOf(pid)) !== "";
}

/** The command line of a process, its arguments joined by spaces; "" when there is none (gone, or a zombie). */
export async function commandOf(pid: number): Promise<string> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
  } catch {
    // No /proc (macOS), or no such process: `ps` tells which.
  }
  try {
    const { stdout } = await run("ps", ["-o", "command=", "-p", String(pid)], { timeout: psLimitMs });
    return stdout.trim();
  } catch {
    return "";
  }
}

/** Waits until `condition` holds, at most `limitMs`; false when it did not come to hold. */
export async function waitUntil(condition: () => Promise<boolean> | boolean, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() >= end) return false;
    await wait(pollMs);
  }
  return true;
}

/** How to end a process: signals in order, each with the time it is given before the next is sent. */
export interface Ending {
  readonly signal: NodeJS.Signals;
  readonly limitMs: number;
}

/** Ends the process by the signals given, and in the end by SIGKILL; returns once it is gone. */
export async function endProcess(pid: number, endings: readonly Ending[]): Promise<void> {
  for (const { signal, limitMs } of [...endings, { signal: "SIGKILL", limitMs: 5_000 } satisfies Ending]) {
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
