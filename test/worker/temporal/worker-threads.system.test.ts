/** The threads of a worker, which runs within this process. */
import { expect } from "vitest";
import { systemTest } from "../../support/fixtures.ts";

let threads = 0;

process.on("worker", () => {
  threads += 1;
});

systemTest("a worker runs the workflows of all its task queues in one thread", ({ system }) => {
  expect(system.worker.isRunning()).toBe(true);
  expect(threads).toBe(1);
});
