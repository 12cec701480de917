/** The SDK's workers of one process run their workflows in one thread. */
import { readFileSync } from "node:fs";
import type { Worker as Thread } from "node:worker_threads";
import { DefaultLogger, Worker } from "@temporalio/worker";
import { expect, onTestFinished, test } from "vitest";
import { workflowBundleFile } from "../../../src/assets.ts";
import { inOneThread } from "../../../src/worker/temporal/one-workflow-thread.ts";

interface Creator {
  destroy(): Promise<void>;
}

/** The protected method of the SDK's worker, as its `create` calls it. */
interface CreatesCreators {
  createWorkflowCreator(bundle: object, options: object, logger: object): Promise<Creator>;
}

const bundle = {
  code: readFileSync(workflowBundleFile(), "utf8"),
  sourceMap: { version: 3, sources: [], names: [], mappings: "", file: "bundle.js" },
  filename: "bundle.js",
};

const options = {
  activities: new Map(),
  workflowThreadPoolSize: 1,
  isolateExecutionTimeoutMs: 60_000,
  reuseV8Context: true,
};

const logger = new DefaultLogger("ERROR");

/** Counts the threads that start, and those that end, until the test ends. */
function countThreads(): { readonly started: number; readonly ended: number } {
  const counts = { started: 0, ended: 0 };
  const count = (thread: Thread) => {
    counts.started += 1;
    thread.on("exit", () => {
      counts.ended += 1;
    });
  };
  process.on("worker", count);
  onTestFinished(() => void process.off("worker", count));
  return counts;
}

const create = (worker: unknown): Promise<Creator> =>
  (worker as CreatesCreators).createWorkflowCreator(bundle, options, logger);

test("the workflows of two workers run in one thread, which ends with the last", async () => {
  const worker = inOneThread(Worker);
  const threads = countThreads();
  const [first, second] = await Promise.all([create(worker), create(worker)]);
  expect(threads.started).toBe(1);
  await first.destroy();
  expect(threads.ended).toBe(0);
  await second.destroy();
  expect(threads.ended).toBe(1);
});

test("a worker that comes after the end of the others has a new thread", async () => {
  const worker = inOneThread(Worker);
  const threads = countThreads();
  await (await create(worker)).destroy();
  await (await create(worker)).destroy();
  expect(threads).toEqual({ started: 2, ended: 2 });
});

test("the class that shares a thread still creates the SDK's workers", () => {
  expect(inOneThread(Worker).prototype).toBe(Worker.prototype);
});
