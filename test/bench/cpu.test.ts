/** Which processes a measurement counts. Needs /proc. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { childProcesses } from "../../bench/support/cpu.ts";

test.runIf(process.platform === "linux")(
  "the child processes are those that were started here and still run",
  async () => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"]);
    await once(child, "spawn");
    const whileRunning = childProcesses();
    child.stdin.end();
    await once(child, "close");
    expect(whileRunning).toContain(child.pid);
    expect(childProcesses()).not.toContain(child.pid);
  },
);
