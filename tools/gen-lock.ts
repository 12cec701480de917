/**
 * Runs one generator at a time. A lock file names its owner, so that a second generator waits and
 * the lock of a process that is gone is taken over.
 */
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/**
 * The pause between two tries of a waiting generator, in milliseconds: short compared with the
 * seconds of a step.
 */
const retryMs = 50;

/**
 * Runs `work` while holding the lock at `path`. Waits as long as another living process holds it,
 * and says so once.
 */
export async function withLock<T>(
  path: string,
  say: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, nameOf(process.pid) ?? "");
  try {
    let isSaid = false;
    while (!taken(mine, path)) {
      const owner = textAt(path);
      if (owner === null) continue;
      const pid = Number.parseInt(owner, 10);
      if (nameOf(pid) !== owner) {
        if (textAt(path) === owner) rmSync(path, { force: true });
        continue;
      }
      if (!isSaid) say(`waits for process ${pid}, which is at it`);
      isSaid = true;
      await pause(retryMs);
    }
    try {
      return await work();
    } finally {
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * A hard link appears with its content at once, so no reader ever sees a lock without its owner.
 */
function taken(mine: string, path: string): boolean {
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
}

/**
 * Names a living process: by its id, and where there is `/proc` by its start too, because an id is
 * used again. Null for one that is gone, also if nobody has noticed its end.
 */
function nameOf(pid: number): string | null {
  if (!(pid > 0)) return null;
  if (textAt("/proc/self/stat") === null) return isAlive(pid) ? String(pid) : null;
  // What follows the name of its program, which is in parentheses.
  const fields = textAt(`/proc/${pid}/stat`)?.split(") ").at(-1)?.split(" ") ?? [];
  const [state = "X"] = fields;
  return state === "X" || state === "Z" ? null : `${pid} ${fields[19]}`;
}

function textAt(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    // A process may end while it is read.
    if (isErrno(error, "ENOENT") || isErrno(error, "ESRCH")) return null;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, "EPERM");
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
