/**
 * Runs one generator at a time. A lock file holds its owner's process id, so that a second
 * generator waits and a dead process's lock is taken over.
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
 * Runs `work` while holding the lock at `path`. Waits as long as another living process holds it.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    while (!taken(mine, path)) {
      const owner = readOwner(path);
      if (owner !== null && !isAlive(owner) && readOwner(path) === owner)
        rmSync(path, { force: true });
      else await pause(retryMs);
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

function readOwner(path: string): number | null {
  try {
    return Number(readFileSync(path, "utf8"));
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
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
