/** The log of a child process: a file with its previous part next to it, both of a bounded size. */
import { copyFile, type FileHandle, open, rename, stat, truncate } from "node:fs/promises";

/** Some 30,000 requests. An editor still opens it at once. */
export const maxLogBytes = 10 * 1_048_576;

/** A busy child writes less than a megabyte in this time. */
const checkMs = 1_000;

/**
 * Opens a new file for the output of a child, and keeps the file of the run before: a person may
 * read the log of a failed run after starting the next one.
 */
export async function openChildLog(file: string): Promise<FileHandle> {
  await rename(file, previousOf(file)).catch(ignoreMissing);
  // Each write is at the end of the file, also after it was emptied.
  return open(file, "ax", 0o600);
}

/**
 * Empties the file whenever it is larger than `maxLogBytes`, and keeps what was in it as the
 * previous file. Returns the function that ends this.
 */
export function rotateChildLog(file: string): () => void {
  let rotation = Promise.resolve();
  const timer = setInterval(() => {
    rotation = rotation.then(() => rotateIfLarge(file)).catch(() => undefined);
  }, checkMs).unref();
  return () => clearInterval(timer);
}

/** Rotates the file if it is too large. A line that is written at this moment may be lost. */
export async function rotateIfLarge(file: string): Promise<void> {
  if ((await stat(file)).size <= maxLogBytes) return;
  await copyFile(file, previousOf(file));
  await truncate(file);
}

function previousOf(file: string): string {
  return `${file}.previous`;
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
