/** Counts in the progress of workflows have commas between thousands. */
import { expect, test } from "vitest";
import { counted } from "../../workflows/run-end.ts";

test.each([0, 7, 999, 1_000, 12_345, 999_999, 1_000_000, 1_234_567_890])("%i", (count) => {
  expect(counted(count)).toBe(count.toLocaleString("en"));
});
