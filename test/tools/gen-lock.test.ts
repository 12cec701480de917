/** The lock of a generator: whose process is gone has none, and who waits for another says so. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { withLock } from "../../tools/gen-lock.ts";

/** Returns the path of a lock that nobody has. */
function freeLock(): string {
  const folder = mkdtempSync(join(tmpdir(), "gen-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "lock");
}

test.for([
  ["of a process that has ended", "2147483646 1"],
  ["of an id that another process has by now", `${process.pid} 1`],
  ["that is empty", ""],
])("a lock %s is taken over without a word", async ([, owner = ""]) => {
  const lock = freeLock();
  writeFileSync(lock, owner);
  const said: string[] = [];
  const say = (line: string) => said.push(line);
  expect(await withLock(lock, say, async () => "done")).toBe("done");
  expect(said).toEqual([]);
  expect(existsSync(lock)).toBe(false);
});

test("whoever waits for a living process says so once, and goes on after it", async () => {
  const lock = freeLock();
  const holder = fork(join(import.meta.dirname, "hold-lock.ts"), [lock]);
  await once(holder, "message");
  const said: string[] = [];
  const waiting = withLock(
    lock,
    (line) => {
      said.push(line);
      holder.send("end");
    },
    async () => "done",
  );
  expect(await waiting).toBe("done");
  expect(said).toEqual([`waits for process ${holder.pid}, which is at it`]);
});
