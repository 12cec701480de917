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
  quietRuntime();
  const options = { workflowBundle: { code }, sinks: unsentSpans, dataConverter };
  const replays = Worker.runReplayHistories(options, [
    { workflowId: "replayed", history: history as object },
  ]);
  const failures: (string | null)[] = [];
  // To its end: an iteration broken off never lets its worker stop.
  for await (const { error } of replays)
    failures.push(error === undefined ? null : `${error.name}: ${error.message}`);
  const [failure = "nothing was replayed"] = failures;
  return failure;
}
