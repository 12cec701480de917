/** Files of any size: read line by line, and written part by part. */
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { UsageError } from "./failures.ts";

/** A file that is being written. It has its name only once it is finished. */
export interface NewFile {
  write(text: string): Promise<void>;
  /** The whole file is on disk from here on. */
  finish(): Promise<void>;
  /** Closes a file that is not finished. */
  close(): Promise<void>;
}

/**
 * Yields the lines of a file. They end with a line feed alone: text may have other characters that
 * end lines elsewhere. Throws `UsageError` if it cannot be opened.
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  const file = await opened(path, "r");
  let rest = "";
  for await (const part of file.createReadStream({ encoding: "utf8" })) {
    const lines = `${rest}${part}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/**
 * Creates a file. The unfinished one of an earlier command is replaced. Throws `UsageError` if it
 * exists, or cannot be written.
 */
export async function createFile(path: string): Promise<NewFile> {
  if ((await stat(path).catch(() => null)) !== null) throw new UsageError(`${path} exists already`);
  const unfinished = `${path}.part`;
  const file = await opened(unfinished, "w");
  return {
    write: (text) => file.writeFile(text),
    finish: async () => {
      await file.sync();
      await file.close();
      await rename(unfinished, path);
    },
    close: () => file.close(),
  };
}

async function opened(path: string, flags: "r" | "w"): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${path} cannot be ${flags === "r" ? "read" : "written"}: ${reason}`);
  }
}
