/**
 * Processes that compute without a pause, one for each processor. They show what the operating
 * system alone makes of other requests while the machine is busy with something else.
 */
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";

/** Starts the processes. The returned function ends them. */
export function keepProcessorsBusy(): () => void {
  const children = Array.from({ length: availableParallelism() }, () =>
    // Linux shares processors among sessions first. In the session of the load they would take its
    // time rather than the service's.
    fork(import.meta.filename, ["compute"], { stdio: "inherit", detached: true }),
  );
  return () => {
    for (const child of children) child.kill();
  };
}

if (process.argv[2] === "compute" && process.send !== undefined) {
  // Also ends if the measuring process is lost, which a loop without a pause would not notice.
  const parent = process.ppid;
  while (process.ppid === parent) {
    const untilMs = performance.now() + 100;
    while (performance.now() < untilMs);
  }
}
