/** The logs of the local start are bounded, however much a child writes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { maxLogBytes, openChildLog, rotateIfLarge } from "../src/processes/child-log.ts";

async function logFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "child-log-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "api.log");
}

/** A child whose output goes to the file. It writes each text that it is sent. */
async function writer(file: string) {
  const output = await openChildLog(file);
  const program = "process.stdin.on('data', (text) => process.stdout.write(text))";
  const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", output.fd, "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await output.close();
  return {
    write: (text: string) => void child.stdin?.write(text),
    end: () => {
      child.stdin?.end();
      return once(child, "exit");
    },
  };
}

test("a log over its size is emptied into the previous file, and the child goes on", async () => {
  const file = await logFile();
  const child = await writer(file);
  const long = "x".repeat(maxLogBytes);
  child.write(long);
  await expect.poll(async () => (await stat(file)).size).toBe(maxLogBytes);
  await rotateIfLarge(file);
  expect((await stat(file)).size).toBe(maxLogBytes);
  child.write("y\n");
  await expect.poll(async () => (await stat(file)).size).toBe(maxLogBytes + 2);
  await rotateIfLarge(file);
  expect((await stat(file)).size).toBe(0);
  expect(await readFile(`${file}.previous`, "utf8")).toBe(`${long}y\n`);
  child.write("after\n");
  await child.end();
  expect(await readFile(file, "utf8")).toBe("after\n");
});

test("the log of the run before is kept as the previous file", async () => {
  const file = await logFile();
  for (const text of ["first\n", "second\n", "third\n"]) {
    const child = await writer(file);
    child.write(text);
    await child.end();
  }
  expect(await readFile(file, "utf8")).toBe("third\n");
  expect(await readFile(`${file}.previous`, "utf8")).toBe("second\n");
});
