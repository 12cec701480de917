/** Replays a recorded history against workflow code, without a server. */
import type { DataConverter } from "@temporalio/common";
import { Worker } from "@temporalio/worker";
import { unsentSpans } from "../../src/worker/temporal/run-worker.ts";
import { quietRuntime } from "../support/temporal-runtime.ts";

/**
 * The reason why the code does not replay the history (as JSON or as the server returns it); null
 * if it does. The converter has the keys of an encrypted history.
 */
export async function replayFailure(
  code: string,
  history: unknown,
  dataConverter: DataConverter = {},
): Promise<string | null> {
  const failures = await replayFailures(code, new Map([["replayed", history]]), dataConverter);
  return failures.get("replayed") ?? null;
}

/**
 * The same of several histories by their names. They share a worker, whose start takes longer than
 * a replay.
 */
export async function replayFailures(
  code: string,
  histories: ReadonlyMap<string, unknown>,
  dataConverter: DataConverter = {},
): Promise<ReadonlyMap<string, string | null>> {
  quietRuntime();
  const options = { workflowBundle: { code }, sinks: unsentSpans, dataConverter };
  const replays = Worker.runReplayHistories(
    options,
    [...histories].map(([workflowId, history]) => ({ workflowId, history: history as object })),
  );
  const failures = new Map<string, string | null>(
    [...histories.keys()].map((name) => [name, "nothing was replayed"]),
  );
  // To its end: an iteration broken off never lets its worker stop.
  for await (const { workflowId, error } of replays)
    failures.set(workflowId, error === undefined ? null : `${error.name}: ${error.message}`);
  return failures;
}
