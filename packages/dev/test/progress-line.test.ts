/** A long wait is one line that counts on a terminal, and two lines on any other output. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { countingOn } from "../src/progress-line.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The lines that a terminal shows in the end. */
function shown(written: string): string[] {
  return written.split("\n").map((line) => line.split("\r\u001B[K").at(-1) ?? "");
}

function output(isTTY: boolean) {
  let written = "";
  const write = (text: string): void => {
    written += text;
  };
  const stream = { isTTY, write };
  return { stream, written: () => written };
}

test("a terminal shows one line, before the wait, that counts the seconds", async () => {
  const { stream, written } = output(true);
  const lines = countingOn(stream);
  const wait = lines.begin("gen: messages");
  expect(shown(written())).toEqual(["gen: messages …"]);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(shown(written())).toEqual(["gen: messages … 3 s"]);
  await vi.advanceTimersByTimeAsync(15_500);
  wait.end();
  expect(shown(written())).toEqual(["gen: messages (18.5 s)", ""]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(shown(written())).toEqual(["gen: messages (18.5 s)", ""]);
});

test("a log line during the wait gets its own line above the counting one", async () => {
  const { stream, written } = output(true);
  const lines = countingOn(stream);
  const wait = lines.begin("building");
  await vi.advanceTimersByTimeAsync(2_000);
  lines.log("PostgreSQL is up");
  expect(shown(written())).toEqual(["PostgreSQL is up", "building … 2 s"]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(shown(written())).toEqual(["PostgreSQL is up", "building … 3 s"]);
  wait.drop();
  expect(shown(written())).toEqual(["PostgreSQL is up", ""]);
});

test("any other output gets one line before the wait and one after it", async () => {
  const { stream, written } = output(false);
  const lines = countingOn(stream);
  const wait = lines.begin("building");
  await vi.advanceTimersByTimeAsync(240_000);
  lines.log("PostgreSQL is up");
  wait.end();
  lines.begin("downloading").drop();
  expect(written()).toBe("building …\nPostgreSQL is up\nbuilding (240.0 s)\ndownloading …\n");
});
