/**
 * The surroundings of a command: environment, files, outputs, and the person at the keyboard, if
 * any.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { UsageError } from "./failures.ts";
import { createFile, type NewFile, readLines } from "./large-files.ts";

/** The surroundings of a command. Tests replace those of the process. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a person can answer: input and error output are a terminal. */
  readonly interactive: boolean;
  /** How many columns the output has. Undefined if it is no terminal. */
  readonly columns?: number | undefined;
  /** Writes the result. */
  out(text: string): void;
  /** Resolves once the reader of the output takes more. */
  drained(): Promise<void>;
  /** Writes everything else: questions, progress, notes and errors. */
  err(text: string): void;
  /**
   * The text of a file, or of the standard input for `-`. Throws `UsageError` if it cannot be read.
   */
  read(path: string): Promise<string>;
  /** The lines of a file of any size. Throws `UsageError` if it cannot be read. */
  lines(path: string): AsyncIterable<string>;
  /** Creates a file. Throws `UsageError` if it exists or cannot be written. */
  create(path: string): Promise<NewFile>;
  /** Aborts when the person stops the command (Ctrl-C), so that it can end in order. */
  stopped(): AbortSignal;
  /** Asks a question on the error output. The answer is not shown if `hidden`. */
  ask(question: string, hidden: boolean): Promise<string>;
}

/**
 * The surroundings of this process. Paths are relative to the caller's folder, which npm passes in
 * `INIT_CWD`.
 */
export function processTerminal(): Terminal {
  const { env, stdin, stdout, stderr } = process;
  let stdinIsRead = false;
  const pathOf = (path: string) => resolve(env.INIT_CWD || process.cwd(), path);
  return {
    env,
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    columns: stdout.isTTY === true ? stdout.columns : undefined,
    out: (written) => void stdout.write(written),
    drained: async () => {
      if (stdout.writableNeedDrain) await once(stdout, "drain");
    },
    err: (written) => void stderr.write(written),
    read: async (path) => {
      if (path !== "-") return readText(pathOf(path));
      if (stdinIsRead) throw new UsageError("Only one thing can be read from the standard input");
      stdinIsRead = true;
      return text(stdin);
    },
    lines: (path) => readLines(pathOf(path)),
    create: (path) => createFile(pathOf(path)),
    stopped: () => {
      const stop = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
      return stop.signal;
    },
    ask: async (question, hidden) => {
      // Without echo the library would not show the question either.
      if (hidden) stderr.write(question);
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
      const lines = createInterface({
        input: stdin,
        output: hidden ? silent : stderr,
        terminal: true,
      });
      const stop = new AbortController();
      // Without this an end of the input (Ctrl-D, Ctrl-C) would leave the question open for ever.
      lines.once("close", () => stop.abort());
      try {
        return await lines
          .question(hidden ? "" : question, { signal: stop.signal })
          .catch(() => "");
      } finally {
        lines.close();
        if (hidden) stderr.write("\n");
      }
    },
  };
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
