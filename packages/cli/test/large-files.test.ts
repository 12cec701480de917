/** Files of the command line of any size. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFile, readLines } from "../src/large-files.ts";

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "files-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test("a new file has its name once it is finished, and replaces none", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "new");
  const broken = await createFile(path);
  await broken.write("half");
  await broken.close();
  await expect(readFile(path)).rejects.toThrow(/ENOENT/);
  const file = await createFile(path);
  await file.write("one\n");
  await file.write("two\n");
  await file.finish();
  await file.close();
  expect(await readFile(path, "utf8")).toBe("one\ntwo\n");
  await expect(createFile(path)).rejects.toThrow(/exists already/);
});

test("lines end with a line feed alone, also across parts of a large file", async () => {
  const folder = await temporaryFolder();
  const lines = Array.from({ length: 20_000 }, (_, index) => `${index}\u2028é😀\r`);
  const path = join(folder, "large");
  await writeFile(path, lines.join("\n"));
  const read: string[] = [];
  for await (const line of readLines(path)) read.push(line);
  expect(read).toEqual(lines);
  await expect(readLines(join(folder, "none")).next()).rejects.toThrow(/cannot be read/);
});
