/** Replays a recorded history against workflow code, without a server. */
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";

/** A failed replay is the test's own business: it is told by the result. */
const quiet = new DefaultLogger("ERROR", () => undefined);

/** Why the code does not replay the history (as JSON or as the server gives it); null where it does. */
export async function replayFailure(code: string, history: unknown): Promise<string | null> {
  quietRuntime();
  const replays = Worker.runReplayHistories({ workflowBundle: { code } }, [
    { workflowId: "replayed", history: history as object },
  ]);
  const failures: (string | null)[] = [];
  // To its end: an iteration broken off never lets its worker stop.
  for await (const { error } of replays) failures.push(error === undefined ? null : `${error.name}: ${error.message}`);
  const [failure = "nothing was replayed"] = failures;
  return failure;
}

let isInstalled = false;

/** Once in a process: the runtime is shared. */
function quietRuntime(): void {
  if (isInstalled) return;
  Runtime.install({ shutdownSignals: [], logger: quiet, telemetryOptions: { logging: { filter: "OFF" } } });
  isInstalled = true;
}
