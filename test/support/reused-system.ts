/**
 * One system for all files of a test process that never stop its processes: their organisations are
 * isolated, and the start, the database and the first, slow requests are paid for once.
 */
import { startSystem, type TestProcess, type TestSystem } from "./system.ts";

let shared: Promise<TestSystem> | null = null;

/**
 * The system, with the default settings of `startSystem` except the time limit of ledger calls.
 * Clears the faults of an earlier file and starts the ledger if it stopped. The system outlives the
 * file: its `stop` does nothing, and its processes can be neither stopped nor started.
 */
export async function sharedSystem(): Promise<TestSystem> {
  shared ??= start().catch((error) => {
    shared = null;
    throw error;
  });
  const system = await shared;
  await system.startLedger();
  await system.clearFaults();
  return system;
}

async function start(): Promise<TestSystem> {
  // As in service: here no test needs an answer to count as lost, and a busy machine must not cause
  // it.
  const system = await startSystem({ env: { LEDGER_CALL_SECONDS: "10" }, areSeparate: true });
  // So the runner ends its processes, once no file is left.
  process.once("SIGTERM", () => {
    void system.api.kill();
    void system.worker.kill();
    process.kill(process.pid, "SIGKILL");
  });
  return {
    ...system,
    api: readOnly(system.api),
    worker: readOnly(system.worker),
    stop: async () => undefined,
  };
}

function readOnly({ output, exited, isRunning }: TestProcess): TestProcess {
  const refuse = async (): Promise<never> => {
    throw new Error("other files use this process: start a system of your own");
  };
  return { start: refuse, kill: refuse, stop: refuse, exited, isRunning, output };
}
