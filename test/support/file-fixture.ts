/**
 * What starts at most once for a test file: before the first of its tests that names it, within
 * that test's time limit, and not at all if no such test runs.
 */
import { expect } from "vitest";
import { stepLimitMs } from "./slowness.ts";

/** The scope of these fixtures. A file uses one `test`, because each has separate parts. */
export const perFile = { scope: "file" } as const;

/** What vitest passes to a fixture after the fixtures that it names. */
export interface Cleanup {
  readonly onCleanup: (stop: () => Promise<void>) => void;
}

/** A fixture that depends on no other. `stop` runs after the file's tests, also if they failed. */
export function started<Part>(
  start: () => Part | Promise<Part>,
  stop: (part: Part) => unknown = () => undefined,
) {
  const startOnce = failOnce(async () => start());
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures here
  return async ({}, { onCleanup }: Cleanup): Promise<Part> => {
    const part = await startOnce();
    onCleanup(() => stopInTime(() => stop(part)));
    return part;
  };
}

/**
 * A start that is not repeated in a file in which it failed: vitest would repeat it for each test.
 */
export function failOnce<Input extends readonly unknown[], Part>(
  start: (...input: Input) => Promise<Part>,
): (...input: Input) => Promise<Part> {
  let failed: { readonly file: string | undefined; readonly error: unknown } | null = null;
  return async (...input) => {
    const file = expect.getState().testPath;
    if (failed !== null && failed.file === file) throw failed.error;
    try {
      return await start(...input);
    } catch (error) {
      failed = { file, error };
      throw error;
    }
  };
}

/** Stops a part within the limit of a hook: vitest sets none for the end of a fixture. */
export async function stopInTime(stop: () => unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`a part of the file was still stopping after ${stepLimitMs} ms`)),
      stepLimitMs,
    );
  });
  try {
    await Promise.race([stop(), late]);
  } finally {
    clearTimeout(timer);
  }
}
